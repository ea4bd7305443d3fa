"""What a network takes, and how images of any size are made so: drawings become ink and paper, photographs are scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeGuard

import numpy as np

from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Pixels, binarised
from exemplar.report.resizing import resize

# (n, h, w[, 3]) uint8, or float in [0, 1], which is taken in 256 levels; or a store that gives out bytes by row
Images = np.ndarray | Pixels | ConceptSet
LARGEST = 10_000  # px per side: an image of more takes gigabytes on its way through a network


@dataclass(frozen=True)
class DrawingInput:
    """How drawings reach a critic: resized (bilinear), rescaled to fill [0, 1] each, ink 1 where above the threshold."""

    size: tuple[int, int] = (50, 50)
    threshold: float = 0.5
    channels: ClassVar[int] = 1
    digest_name: ClassVar[str] = "DrawingInput"  # on the card of every shipped critic: it stays

    def __post_init__(self) -> None:
        _check_size(self.size)
        if not 0 < self.threshold < 1:
            raise UserError(f"the threshold {self.threshold} must lie between 0 and 1")

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """images: (n, h, w) uint8 → (n, 1, *size) float32, ink 1, paper 0."""
        if images.ndim != 3:
            raise UserError("drawings have one channel, these images have 3: turn them grey first")
        return binarised(resize(images, self.size), self.threshold)[:, None] / np.float32(255)


@dataclass(frozen=True)
class PhotoInput:
    """How photographs reach a network: resized (bilinear), then (pixel − mean) / scale, both in grey levels of 0 to 255.

    Grey images are taken as colour images whose channels are alike.
    """

    size: tuple[int, int]
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: tuple[float, float, float] = (255.0, 255.0, 255.0)
    channels: ClassVar[int] = 3
    digest_name: ClassVar[str] = "PhotoInput"

    def __post_init__(self) -> None:
        _check_size(self.size)
        if len(self.mean) != 3 or len(self.scale) != 3 or not np.isfinite([*self.mean, *self.scale]).all():
            raise UserError("a photograph needs three means and three scales, finite numbers, one per channel")
        if min(self.scale) <= 0:
            raise UserError(f"the scales {self.scale} must lie above 0: each channel is divided by its own")

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """images: (n, h, w[, 3]) uint8 → (n, 3, *size) float32."""
        pixels = resize(images, self.size)
        colour = pixels if pixels.ndim == 4 else np.repeat(pixels[..., None], 3, axis=3)
        scaled = (colour - np.array(self.mean, np.float32)) / np.array(self.scale, np.float32)
        return np.moveaxis(scaled, 3, 1)


Input = DrawingInput | PhotoInput


def as_bytes(images: np.ndarray) -> np.ndarray:
    """(n, h, w[, 3]) uint8 from images that are so already, or are floats in [0, 1]; anything else is the user's mistake."""
    if not isinstance(images, np.ndarray):
        raise UserError(
            f"images must be an array (n, h, w) or (n, h, w, 3), this is a {type(images).__name__}: make it a NumPy array"
        )
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] != 3) or 0 in images.shape[1:3]:
        raise UserError(f"images must be (n, h, w) or (n, h, w, 3), of at least 1 × 1 px, these are {images.shape}")
    if images.dtype == np.uint8:
        return images
    if not np.issubdtype(images.dtype, np.floating):
        raise UserError(f"images must be uint8, or floats from 0 to 1, these are {images.dtype}")
    if not (np.isfinite(images).all() and images.min(initial=0) >= 0 and images.max(initial=0) <= 1):
        raise UserError("images of floats must lie between 0 and 1, some of these do not, or are NaN: rescale them")
    return np.rint(images * 255).astype(np.uint8)


def count_images(images: Images) -> int:
    """How many there are, at least one; what is neither an array nor a store is refused."""
    if isinstance(images, np.ndarray) or not is_store(images):
        as_bytes(images[:1])  # type: ignore[index]
    if len(images) == 0:
        raise UserError("there are no images to encode: give at least one")
    return len(images)


def take_images(images: Images, rows: np.ndarray) -> np.ndarray:
    """(k, h, w[, 3]) uint8 of these rows."""
    return as_bytes(images[rows]) if isinstance(images, np.ndarray) else images.take(rows)


def is_store(images: Images) -> TypeGuard[Pixels | ConceptSet]:
    return isinstance(images, ConceptSet) or (hasattr(images, "take") and hasattr(images, "digest"))


def _check_size(size: tuple[int, int]) -> None:
    if len(size) != 2 or not all(isinstance(side, int | np.integer) and 1 <= side <= LARGEST for side in size):
        raise UserError(
            f"an input cannot have the size {size}: give height and width in px, whole numbers from 1 to {LARGEST:,}"
        )
