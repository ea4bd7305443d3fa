"""Steps 5 to 7: which clusters are concepts. Pure: numbers of all clusters in, a verdict on each out.

size, spread: (c, k) of at most k clusters of c categories, the largest first, 0 where a category has fewer; between: (c, k, k)
distances of their centres, infinite on the diagonal and where there is no cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exemplar.errors import UserError

NONE, KEPT, TOO_SMALL, TOO_SPREAD, TOO_CLOSE, BY_HAND = range(-1, 5)  # NONE: the category has no such cluster
VERDICTS = ("kept", "too small", "too spread", "too close", "by hand")
RARELY = 0.01  # of clusters: what we take the paper's "very occasionally" of step 6 to mean


@dataclass(frozen=True)
class Filters:
    """The paper's thresholds. smallest: drawings, an exemplar and 500 variations; max_spread: mean distance to the centre;
    min_distance: of two centres.

    The two distances are those of the paper's network and mean nothing in another: None leaves one to `fit_filters`.
    """

    smallest: int = 501
    max_spread: float | None = 1800.0
    min_distance: float | None = 700.0

    def __post_init__(self) -> None:
        if self.smallest < 1:
            raise UserError(f"a cluster of {self.smallest} drawings cannot be: give at least 1 as the smallest")
        for what, value in (("spread", self.max_spread), ("distance", self.min_distance)):
            if value is not None and not 0 < value < np.inf:
                raise UserError(f"a {what} of {value} cannot be a threshold: give a number above 0, or fit it")


def fit_filters(size: np.ndarray, spread: np.ndarray, between: np.ndarray, filters: Filters) -> Filters:
    """The filters with what was None fitted.

    max_spread: such that step 6 removes one in a hundred of the clusters that are large enough (rounded down), as in the paper
    it did "very occasionally"; min_distance: the median spread of these clusters, so that two centres lie no nearer to each
    other than drawings lie to their own centre. The number of concepts is found, not fitted.
    """
    tiny = np.finfo(np.float64).tiny  # where all are equal any threshold above 0 will do
    large = spread[size >= filters.smallest] if (size >= filters.smallest).any() else spread[size > 0]
    if filters.max_spread is None:
        most = np.quantile(large, 1 - RARELY, method="higher")
        filters = replace(filters, max_spread=float(np.maximum(most, tiny)))
    if filters.min_distance is None:
        filters = replace(filters, min_distance=float(np.maximum(np.median(large), tiny)))
    return filters


def apply_filters(
    size: np.ndarray, spread: np.ndarray, between: np.ndarray, filters: Filters, *, by_hand: np.ndarray | None = None
) -> np.ndarray:
    """(c, k) int8: the place in VERDICTS of each cluster, of the first filter that removed it; NONE where there is none.

    filters: with both distances; by_hand: (c, k) true where a person removes what all filters have passed.
    """
    if filters.min_distance is None or filters.max_spread is None:
        raise ValueError("fit the filters first")
    verdict = np.where(size < filters.smallest, TOO_SMALL, np.where(spread > filters.max_spread, TOO_SPREAD, KEPT))
    verdict = np.where(size > 0, verdict, NONE).astype(np.int8)
    for k in range(size.shape[1]):  # from the largest: a cluster yields to those kept before it
        close = ((verdict[:, :k] == KEPT) & (between[:, k, :k] < filters.min_distance)).any(axis=1)
        verdict[(verdict[:, k] == KEPT) & close, k] = TOO_CLOSE
    if by_hand is not None:
        verdict[(verdict == KEPT) & by_hand] = BY_HAND
    return verdict


def rivals(between: np.ndarray, verdict: np.ndarray) -> np.ndarray:
    """(c, k): where a cluster is too close, the nearest of the larger clusters that were kept before it; −1 elsewhere."""
    k = between.shape[1]
    passed = np.isin(verdict, (KEPT, BY_HAND))  # by hand comes last
    earlier = passed[:, None, :] & np.tri(k, k=-1, dtype=bool)
    return np.where(verdict == TOO_CLOSE, np.where(earlier, between, np.inf).argmin(axis=2), -1)
