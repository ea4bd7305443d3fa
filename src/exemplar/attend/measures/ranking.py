"""Spearman's correlation of many maps at once: each is ranked once, and a pair costs one product."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from exemplar.errors import UserError

PART = 512  # pairs multiplied at once


def rank_maps(maps: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """maps: (n, h, w) → (n, h·w) float32: ranks, equal values sharing theirs, with mean 0 and length 1 per map.

    names: of the maps, for the sentence about one that is constant.
    """
    flat = maps.reshape(len(maps), -1)
    wrong = np.flatnonzero(flat.max(axis=1) == flat.min(axis=1))
    if len(wrong):
        k = int(wrong[0])
        who = names[k] if names else f"map {k}"
        what = "empty" if not flat[k].any() else "constant"
        raise UserError(
            f"The map of {who} is {what}, so nothing in it can be ranked: remove it, or check how it was made."
        )
    ranked = np.empty(flat.shape, np.float32)
    for k, one in enumerate(flat):
        rank = rankdata(one)
        rank -= rank.mean()
        ranked[k] = rank / np.sqrt(rank @ rank)
    return ranked


def correlate_pairs(ranked: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Spearman's r of pairs of rows of `rank_maps`: (p,) float64. first, second: (p,) rows."""
    found = np.empty(len(first))
    if len(ranked) ** 2 <= 4 * len(first):  # most of all pairs: one product of matrices
        return (ranked @ ranked.T)[first, second].astype(np.float64)
    order = np.argsort(first, kind="stable")
    for start in range(0, len(first), PART):
        rows = order[start : start + PART]
        found[rows] = np.einsum("pd,pd->p", ranked[first[rows]], ranked[second[rows]])
    return found


def partial_correlation(one: np.ndarray, other: np.ndarray, given: np.ndarray) -> float:
    """Spearman's r of two rows of `rank_maps` after the rows `given` (k, d) are taken out of both; 0 where nothing is left."""
    basis, size, _ = np.linalg.svd(given.T.astype(np.float64), full_matrices=False)
    basis = basis[:, size > 1e-6 * size.max()]
    left = [row - basis @ (basis.T @ row) for row in (one.astype(np.float64), other.astype(np.float64))]
    length = [float(np.sqrt(row @ row)) for row in left]
    if min(length) < 1e-3:  # of a row of length 1: what is left is rounding
        return 0.0
    return float(left[0] @ left[1] / (length[0] * length[1]))
