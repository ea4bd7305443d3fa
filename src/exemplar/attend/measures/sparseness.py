"""How little of an image matters: Gini coefficient, entropy, and the area that holds half of the importance.

maps: (n, h, w), at least 0, none of them empty.
"""

from __future__ import annotations

import numpy as np

from exemplar.errors import UserError


def gini(maps: np.ndarray) -> np.ndarray:
    """(n,) in [0, 1): 0 where all pixels matter alike, near 1 where one has everything.

    >>> gini(np.array([[[0.0, 0.0], [0.0, 1.0]]]))
    array([0.75])
    """
    ordered = np.sort(_shares(maps), axis=1)
    n = ordered.shape[1]
    return 2 * (ordered @ np.arange(1, n + 1)) / n - (n + 1) / n


def entropy(maps: np.ndarray) -> np.ndarray:
    """(n,) in [0, 1]: 1 where all pixels matter alike, 0 where one has everything.

    >>> entropy(np.array([[[1.0, 1.0], [0.0, 0.0]]]))
    array([0.5])
    """
    share = _shares(maps)
    log = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.abs(-(share * log).sum(axis=1) / np.log(share.shape[1]))


def half_area(maps: np.ndarray) -> np.ndarray:
    """(n,) in (0, 0.5]: the smallest share of pixels that holds half of the importance, counting a part of the last one.

    >>> half_area(np.array([[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]]))
    array([0.5  , 0.125])
    """
    ordered = np.sort(_shares(maps), axis=1)[:, ::-1]
    held = np.cumsum(ordered, axis=1)
    last = (held < 0.5 - 1e-12).sum(axis=1)[:, None]
    before = np.take_along_axis(held, last, axis=1) - np.take_along_axis(ordered, last, axis=1)
    part = (0.5 - before) / np.take_along_axis(ordered, last, axis=1)
    return ((last + part) / ordered.shape[1])[:, 0]


def centroids(maps: np.ndarray) -> np.ndarray:
    """(n, 2): row and column of the centre of importance, in shares of height and width."""
    share = _shares(maps).reshape(maps.shape)
    row, column = ((np.arange(side) + 0.5) / side for side in maps.shape[1:])
    return np.stack([share.sum(axis=2) @ row, share.sum(axis=1) @ column], axis=1)


def ink_overlap(maps: np.ndarray, ink: np.ndarray) -> np.ndarray:
    """(n,) in [0, 1]: the share of importance that lies on ink. ink: (n, h, w) in [0, 1]; chance is its mean."""
    return (_shares(maps) * ink.reshape(len(ink), -1)).sum(axis=1)


def _shares(maps: np.ndarray) -> np.ndarray:
    """(n, h·w) float64, each row sums to 1."""
    flat = maps.reshape(len(maps), -1).astype(np.float64)
    if flat.min() < 0:
        row = int(np.flatnonzero(flat.min(axis=1) < 0)[0])
        raise UserError(
            f"Map {row} has values below 0, of which no share can be taken: use absolute values, or subtract the lowest."
        )
    total = flat.sum(axis=1, keepdims=True)
    if not total.all():
        raise UserError(f"Map {int(np.flatnonzero(total[:, 0] == 0)[0])} is empty: remove it.")
    return flat / total
