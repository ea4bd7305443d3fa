"""Maps as they are compared: blurred, and resized where two records have different sizes.

The paper blurs with a Gaussian kernel of 49 × 49 px on 256 × 256 px and does not print its standard deviation; ours is what
OpenCV takes for that kernel, 7.7 px. At other sizes the kernel is as wide a share of the map.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from exemplar.errors import UserError
from exemplar.report.resizing import shares

SIDE = 256  # px of the paper's maps
KERNEL = 49  # px of its kernel there


def kernel_width(side: int) -> int:
    """px of the kernel on a map of this many px per side, an odd number.

    >>> kernel_width(256), kernel_width(48), kernel_width(105)
    (49, 9, 21)
    """
    return 2 * round((KERNEL / SIDE * side - 1) / 2) + 1


def kernel_sigma(width: int) -> float:
    """Standard deviation of a Gaussian kernel of this width in px, by OpenCV's rule.

    >>> round(kernel_sigma(49), 3)
    7.7
    """
    return 0.3 * ((width - 1) / 2 - 1) + 0.8


def blur(maps: np.ndarray, width: int | None = None) -> np.ndarray:
    """maps: (n, h, w) → float32, blurred by a Gaussian kernel of `width` px (49 of 256 unless given), mirrored at the edges."""
    h, w = maps.shape[1:]
    across, down = (blur_matrix(side, width or kernel_width(side)) for side in (w, h))
    return down @ (maps.astype(np.float32) @ across.T)


@lru_cache(maxsize=64)
def blur_matrix(side: int, width: int) -> np.ndarray:
    """(side, side) float32, rows sum to 1: what one axis is multiplied by."""
    half = width // 2
    offset = np.arange(-half, half + 1)
    kernel = np.exp(-0.5 * (offset / kernel_sigma(width)) ** 2)
    place = np.arange(side)[:, None] + offset
    period = max(2 * (side - 1), 1)
    place = np.abs(place) % period
    place = np.where(place >= side, period - place, place)  # mirrored about the outermost px
    matrix = np.zeros((side, side))
    np.add.at(matrix, (np.repeat(np.arange(side), len(offset)), place.ravel()), np.tile(kernel / kernel.sum(), side))
    return matrix.astype(np.float32)


def resize_maps(maps: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """maps: (n, h, w), any scale → (n, *size) float32, bilinear, area-weighted when shrinking; maps of that size as they
    are."""
    if maps.ndim != 3:
        raise UserError(f"maps must be (n, h, w), these are {maps.shape}")
    if maps.shape[1:] == tuple(size):
        return maps
    down, across = (_weights(source, target) for source, target in zip(maps.shape[1:], size, strict=True))
    return down @ (maps.astype(np.float32) @ across.T)


@lru_cache(maxsize=64)
def _weights(source: int, target: int) -> np.ndarray:
    """(target, source) float32, rows sum to 1."""
    parts, whole = shares(source, target)
    return (parts / whole[:, None]).astype(np.float32)
