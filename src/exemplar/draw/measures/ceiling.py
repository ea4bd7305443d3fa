"""The human ceiling: how alike two halves of the people who drew are. No agent can be asked to be nearer to people than that.

Halves are by drawer: who made one drawing of each concept is on one side only.
"""

from __future__ import annotations

import numpy as np

from exemplar import stats
from exemplar.draw.measures.diversity import spread
from exemplar.errors import UserError
from exemplar.stats import Estimate


def drawer_halves(makers: np.ndarray, n_splits: int, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of each concept's drawings, n_splits times: places (k, n_splits, n // 2), twice.

    makers: (k, n) whole numbers, who made each drawing. All makers are lined up at random, once per pair of splits; a concept's
    first half are those of its drawings whose makers come first, the other half those whose makers come last, and in the
    next split the halves trade places. An odd one in the middle is left out.
    """
    k, n = makers.shape
    if n < 2 or n_splits < 2 or n_splits % 2:
        raise UserError(
            f"halves need 2 drawings or more and an even number of splits, there are {n} and {n_splits}: give such"
        )
    lot = rng.permuted(np.tile(np.arange(makers.max() + 1), (n_splits // 2, 1)), axis=1)
    # makers who made several drawings of a concept, or were never named, are told apart by a second lot
    second = rng.random((n_splits // 2, k, n))
    order = np.argsort(lot[:, makers] + second, axis=2, kind="stable").transpose(1, 0, 2)  # (k, lots, n)
    half = n // 2
    first, last = order[:, :, :half], order[:, :, n - half :]
    return np.concatenate([first, last], axis=1), np.concatenate([last, first], axis=1)


def half_means(by_drawing: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(k, n) and (k, splits, h) → (k, splits): the mean over each half."""
    return by_drawing[np.arange(len(by_drawing))[:, None, None], places].mean(axis=2)


def half_spreads(features: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(k, n, d) and (k, splits, h) → (k, splits): the spread (Eq. 2) of each half."""
    concept = np.arange(len(features))[:, None]
    return np.stack([spread(features[concept, half]) for half in places.transpose(1, 0, 2)], axis=1)


def reliability(first: np.ndarray, second: np.ndarray, *, weights: np.ndarray) -> Estimate | None:
    """How well a score's differences between concepts repeat: Pearson's r of two halves, mean over splits, then what it
    would be with all drawings (Spearman–Brown). first, second: (k, splits); weights: (r, k), concepts resampled.

    None where concepts differ too little, or too few of them, to tell.
    """
    if min(np.ptp(first, axis=0).min(), np.ptp(second, axis=0).min()) == 0:
        return None
    pearson = stats.weighted.pearson(first, second)

    def whole(draws: np.ndarray) -> np.ndarray:
        r = pearson(draws).mean(axis=1)
        r = np.where(r > -1, r, np.nan)  # a resample of two concepts may have -1, of which nothing follows
        return 2 * r / (1 + r)

    replicates = whole(weights)
    if np.isnan(replicates).mean() > 0.01:
        return None
    return stats.interval(replicates, whole(np.ones((1, pearson.n)))[0], n=pearson.n)
