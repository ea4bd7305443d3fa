"""Steps 5 to 7: which clusters are concepts. Pure: numbers of all clusters in, a verdict on each out.

size, spread: (c, k) of the k clusters of c categories, the largest first; between: (c, k, k) distances of their centres,
infinite on the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exemplar.errors import UserError

KEPT, TOO_SMALL, TOO_SPREAD, TOO_CLOSE, BY_HAND = range(5)
VERDICTS = ("kept", "too small", "too spread", "too close", "by hand")
PUBLISHED_SHARE = 665 / (345 * 6)  # of all clusters, that became concepts
RARELY = 0.01  # of clusters: what we take the paper's "very occasionally" of step 6 to mean
N_TRIED = 500  # distances tried by fit_filters: quantiles of those there are


@dataclass(frozen=True)
class Filters:
    """The paper's thresholds. smallest: drawings; max_spread: mean distance to the centre; min_distance: of two centres.

    The two distances are those of the paper's network and mean nothing in another: None leaves one to `fit_filters`.
    """

    smallest: int = 500
    max_spread: float | None = 1800.0
    min_distance: float | None = 700.0

    def __post_init__(self) -> None:
        if self.smallest < 1:
            raise UserError(f"a cluster of {self.smallest} drawings cannot be: give at least 1 as the smallest")
        for what, value in (("spread", self.max_spread), ("distance", self.min_distance)):
            if value is not None and not 0 < value < np.inf:
                raise UserError(f"a {what} of {value} cannot be a threshold: give a number above 0, or fit it")


def fit_filters(size: np.ndarray, spread: np.ndarray, between: np.ndarray, filters: Filters) -> Filters:
    """The filters with what was None fitted, so that they do here what the paper reports of its own.

    max_spread: such that step 6 removes one in a hundred of the clusters that are large enough (rounded down);
    min_distance: such that the share of all clusters that become concepts is nearest to 665 of 345 × 6.
    """
    tiny = np.finfo(np.float64).tiny  # where all are equal any threshold above 0 will do
    if filters.max_spread is None:
        large = size >= filters.smallest
        most = np.quantile(spread[large] if large.any() else spread, 1 - RARELY, method="higher")
        filters = replace(filters, max_spread=float(np.maximum(most, tiny)))
    if filters.min_distance is None:
        there = between[np.isfinite(between)]
        tried = np.maximum(np.quantile(there, np.linspace(0, 1, N_TRIED)), tiny)
        share = (_verdicts(size, spread, between, filters, tried) == KEPT).mean(axis=(1, 2))
        filters = replace(filters, min_distance=float(tried[np.abs(share - PUBLISHED_SHARE).argmin()]))
    return filters


def apply_filters(
    size: np.ndarray, spread: np.ndarray, between: np.ndarray, filters: Filters, *, by_hand: np.ndarray | None = None
) -> np.ndarray:
    """(c, k) int8: the place in VERDICTS of each cluster, of the first filter that removed it.

    filters: with both distances; by_hand: (c, k) true where a person removes what all filters have passed.
    """
    if filters.min_distance is None:
        raise ValueError("fit the filters first")
    verdict = _verdicts(size, spread, between, filters, np.array([filters.min_distance]))[0]
    if by_hand is not None:
        verdict[(verdict == KEPT) & by_hand] = BY_HAND
    return verdict


def rivals(between: np.ndarray, verdict: np.ndarray) -> np.ndarray:
    """(c, k): where a cluster is too close, the nearest of the larger clusters that were kept before it; −1 elsewhere."""
    k = between.shape[1]
    passed = np.isin(verdict, (KEPT, BY_HAND))  # by hand comes last
    earlier = passed[:, None, :] & np.tri(k, k=-1, dtype=bool)
    return np.where(verdict == TOO_CLOSE, np.where(earlier, between, np.inf).argmin(axis=2), -1)


def _verdicts(
    size: np.ndarray, spread: np.ndarray, between: np.ndarray, filters: Filters, min_distance: np.ndarray
) -> np.ndarray:
    """(len(min_distance), c, k) int8: what the three filters say, for each of several distances."""
    if filters.max_spread is None:
        raise ValueError("fit the filters first")
    alone = np.where(size < filters.smallest, TOO_SMALL, np.where(spread > filters.max_spread, TOO_SPREAD, KEPT))
    verdict = np.repeat(alone[None].astype(np.int8), len(min_distance), axis=0)
    kept = np.zeros(verdict.shape, bool)
    for k in range(size.shape[1]):  # from the largest: a cluster yields to those kept before it
        close = (kept & (between[:, k] < min_distance[:, None, None])).any(axis=2)
        verdict[:, :, k][(verdict[:, :, k] == KEPT) & close] = TOO_CLOSE
        kept[:, :, k] = verdict[:, :, k] == KEPT
    return verdict
