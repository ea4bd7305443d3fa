"""k-means: several beginnings at once, as matrix products; the best end is taken."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from exemplar.errors import UserError

MOST_ROUNDS = 300  # of assigning and averaging; hundreds of thousands of drawings settle in a few dozen


def fit_clusters(features: np.ndarray, n_clusters: int, *, n_beginnings: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) int: the cluster of each row, 0 the largest (of equal ones the one whose first row comes first); none is empty.

    features: (n, d). Each beginning is one of k-means++ (Arthur & Vassilvitskii 2007): rows drawn by their squared distance to
    those drawn before. The end with the smallest sum of squared distances wins.
    """
    if len(np.unique(features, axis=0)) < n_clusters:
        raise UserError(
            f"{len(features)} drawings, of which {len(np.unique(features, axis=0))} differ, cannot make {n_clusters} "
            "clusters: add drawings, or ask for fewer clusters"
        )
    centred = features.astype(np.float64)
    centred -= centred.mean(axis=0)  # distances by products lose less
    centres = _begin(centred, n_clusters, n_beginnings, rng)
    label = np.full((len(centred), n_beginnings), -1)
    for _ in range(MOST_ROUNDS):
        squared = _squared(centred, centres)
        before, label = label, squared.argmin(axis=2)
        if (label == before).all():
            break
        centres = _averaged(centred, label, centres)
    loss = squared.min(axis=2).sum(axis=0)
    full = np.array([len(np.unique(column)) == n_clusters for column in label.T])
    if not full.any():
        raise UserError(f"{len(features)} drawings cannot make {n_clusters} clusters: ask for fewer clusters")
    return _by_size(label[:, np.where(full, loss, np.inf).argmin()])


def _begin(points: np.ndarray, n_clusters: int, n_beginnings: int, rng: np.random.Generator) -> np.ndarray:
    """(n_beginnings, n_clusters, d)."""
    chosen = [rng.integers(len(points), size=n_beginnings)]
    nearest = np.full((len(points), n_beginnings), np.inf)
    for _ in range(n_clusters - 1):
        squared = _squared(points, points[chosen[-1]][:, None])[:, :, 0]
        squared[squared < 1e-12 * squared.max()] = 0  # a row has no distance to itself, whatever the rounding
        nearest = np.minimum(nearest, squared)
        bound = nearest.cumsum(axis=0)
        draw = rng.random(n_beginnings) * bound[-1]
        chosen.append(np.minimum((bound <= draw).sum(axis=0), len(points) - 1))
    return points[np.stack(chosen, axis=1)]


def _squared(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(n, n_beginnings, n_clusters): squared distance of each point to each centre, 0 or more."""
    flat = centres.reshape(-1, centres.shape[-1])
    squared = (points * points).sum(axis=1)[:, None] - 2 * points @ flat.T + (flat * flat).sum(axis=1)
    return np.maximum(squared, 0).reshape(len(points), *centres.shape[:2])


def _averaged(points: np.ndarray, label: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The mean of each cluster's points; a cluster without any stays where it was."""
    n, n_beginnings = label.shape
    n_clusters = centres.shape[1]
    column = (label + np.arange(n_beginnings) * n_clusters).ravel()
    start = np.arange(n + 1) * n_beginnings
    member = csr_array((np.ones(len(column)), column, start), shape=(n, n_beginnings * n_clusters))
    count = np.bincount(column, minlength=n_beginnings * n_clusters)[:, None]
    total = member.T @ points
    means = np.divide(total, count, out=centres.reshape(total.shape).copy(), where=count > 0)
    return means.reshape(centres.shape)


def _by_size(label: np.ndarray) -> np.ndarray:
    """The same clusters, numbered from the largest."""
    _, first, same, size = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    rank = np.argsort(np.lexsort((first, -size)))
    return rank[same]
