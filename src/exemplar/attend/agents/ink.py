"""Controls that know nothing of concepts: the ink itself, and noise. A score that cannot tell them from insight is no good."""

from __future__ import annotations

import numpy as np

from exemplar.attend.measures.blurring import blur


def mark_ink(images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every pixel matters as much as it is ink."""
    return images.astype(np.float32)


def mark_noise(images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Importance at random: white noise, smoothed as people's maps are, so that it is as coarse as theirs."""
    noise = blur(rng.standard_normal(images.shape).astype(np.float32))
    return noise - noise.min(axis=(1, 2), keepdims=True)
