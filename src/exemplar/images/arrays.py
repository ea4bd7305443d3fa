"""Images as people have them in memory: NumPy arrays or torch tensors, with or without a channel, in several ranges.

What can mean one thing only is accepted, and said where it was changed; what can mean two things is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exemplar.errors import UserError

SLACK = 1e-3  # beyond a range, by rounding
HALF_LIGHT = 128  # floats that reach this are levels of 0 to 255: no other common range does
SIGNED = -0.5  # images from −1 to 1 reach below this, those from 0 to 1 that overshoot do not


def to_array(images: Any) -> np.ndarray:
    """A NumPy array of anything array-like; a torch tensor may have gradients, lie on any device and be of any float type."""
    if hasattr(images, "detach"):
        images = images.detach().cpu()
        if images.is_floating_point():
            images = images.float()  # NumPy knows no bfloat16
        return np.asarray(images.numpy())
    return np.asarray(images)


def without_channel(images: np.ndarray, ndim: int) -> np.ndarray:
    """(…, h, w) from (…, 1, h, w) or (…, h, w, 1). ndim: of the result; other arrays stay as they are."""
    if images.ndim == ndim + 1 and images.shape[-3] == 1:
        return images[..., 0, :, :]
    if images.ndim == ndim + 1 and images.shape[-1] == 1:
        return images[..., 0]
    return images


def to_levels(images: np.ndarray, said: list[str] | None = None) -> np.ndarray:
    """The same images as uint8, 0 to 255, from uint8, bool, floats from 0 to 1, from −1 to 1, or from 0 to 255.

    said: where a sentence goes if a range was changed; without it only floats from 0 to 1 are taken.
    """
    if images.dtype == np.uint8:
        return images
    if images.dtype == bool:
        return images.astype(np.uint8) * 255
    if not np.issubdtype(images.dtype, np.floating):
        raise UserError(f"images must be uint8, bool, or float in [0, 1], they are {images.dtype}")
    if not np.isfinite(images).all():
        raise UserError("images must be without NaN and infinite values, some of these hold such: drop them")
    low, high = float(images.min(initial=0)), float(images.max(initial=0))
    if low >= -SLACK and high <= 1 + SLACK:
        share = images
    elif said is not None and -1 - SLACK <= low <= SIGNED and high <= 1 + SLACK:
        share = (images + 1) / 2
        said.append("values from −1 to 1 were mapped to 0 to 1")
    elif said is not None and low >= -SLACK and HALF_LIGHT <= high <= 255 + SLACK:
        share = images / 255
        said.append("values from 0 to 255 were mapped to 0 to 1")
    else:
        raise UserError(
            f"images that are float must lie in [0, 1], these go from {low:.3g} to {high:.3g}: rescale or clip them"
        )
    return np.rint(np.clip(share, 0, 1).astype(np.float32) * 255).astype(np.uint8)
