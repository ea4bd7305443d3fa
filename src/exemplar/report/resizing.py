"""Images at another size, as Pillow resizes them, thousands at a time."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np


def resize(images: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """images: (n, h, w) or (n, h, w, c) uint8 → (n, *size[, c]) uint8, as Pillow's BILINEAR (area-weighted when shrinking).

    Two matrix products, across then down, each rounded to whole levels as Pillow does. They are small: shared between
    threads, which meet after each, they would take up to a hundred times as long where another process is busy.
    """
    if images.shape[1:3] == tuple(size):
        return images
    planes = images.astype(np.float32)
    planes = planes[:, None] if images.ndim == 3 else np.moveaxis(planes, 3, 1)  # (n, c, h, w)
    with _libraries().limit(limits=1, user_api="blas"):
        across = _rounded(planes @ weights(images.shape[2], size[1]).T)
        down = _rounded(weights(images.shape[1], size[0]) @ across).astype(np.uint8)
    return down[:, 0] if images.ndim == 3 else np.moveaxis(down, 1, 3)


@lru_cache(maxsize=64)
def weights(source: int, target: int) -> np.ndarray:
    """(target, source) float32, rows sum to 1: a triangle as wide as one target pixel (or one source pixel, if larger)."""
    scale = source / target
    half_width = max(scale, 1.0)
    centre = (np.arange(target) + 0.5) * scale
    distance = np.abs(np.arange(source) + 0.5 - centre[:, None]) / half_width
    triangle = np.clip(1 - distance, 0, None)
    return (triangle / triangle.sum(axis=1, keepdims=True)).astype(np.float32)


@cache
def _libraries() -> Any:
    """What NumPy computes with; finding it takes milliseconds, limiting it microseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _rounded(planes: np.ndarray) -> np.ndarray:
    planes += 0.5
    return np.floor(planes, out=planes)
