"""Images at another size, as Pillow resizes them, thousands at a time."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

WHITE = 255


def resize(images: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """images: (n, h, w) or (n, h, w, c) uint8 → (n, *size[, c]) uint8, as Pillow's BILINEAR (area-weighted when shrinking).

    Two matrix products, across then down, each rounded to whole levels as Pillow does, half a level up. All sums are of whole
    numbers that floats hold exactly, so that every processor gives the same bytes, whatever the order in which it adds.
    The products are small: shared between threads, which meet after each, they would take up to a hundred times as long
    where another process is busy.
    """
    if images.shape[1:3] == tuple(size):
        return images
    across, down = (shares(source, target) for source, target in zip(images.shape[2:0:-1], size[::-1], strict=True))
    exact: Any = np.float32 if max(across[1].max(), down[1].max()) * (2 * WHITE + 1) < 2**24 else np.float64
    planes = images.astype(exact)
    planes = planes[:, None] if images.ndim == 3 else np.moveaxis(planes, 3, 1)  # (n, c, h, w)
    with _libraries().limit(limits=1, user_api="blas"):
        planes = _average(planes @ across[0].astype(exact).T, across[1].astype(exact))
        planes = _average(down[0].astype(exact) @ planes, down[1].astype(exact)[:, None])
    resized = planes.astype(np.uint8)
    return resized[:, 0] if images.ndim == 3 else np.moveaxis(resized, 1, 3)


@lru_cache(maxsize=64)
def shares(source: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    """How much of each source pixel is in each target pixel: (target, source) whole numbers, and their sums (target,).

    A triangle as wide as one target pixel (or one source pixel, if larger), in units of 1 / (2 · target) of a source pixel.

    >>> shares(2, 3)[0].tolist(), shares(2, 3)[1].tolist()
    ([[1, 0], [1, 1], [0, 1]], [1, 2, 1])
    """
    centre = (2 * np.arange(target) + 1)[:, None] * source
    distance = np.abs((2 * np.arange(source) + 1) * target - centre)
    triangle = np.clip(2 * max(source, target) - distance, 0, None)
    triangle //= np.gcd.reduce(triangle, axis=1, keepdims=True)
    return triangle, triangle.sum(axis=1)


@cache
def _libraries() -> Any:
    """What NumPy computes with; finding it takes milliseconds, limiting it microseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _average(sums: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums over their weights, to the nearest level; halves go up. Exact: a quotient that is no whole number is at least
    1 / (2 · weight) below the next, far more than a float rounds."""
    sums += weights / 2
    sums /= weights
    return np.floor(sums, out=sums)
