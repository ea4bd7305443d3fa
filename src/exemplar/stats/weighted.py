"""Statistics as functions of weights: each maps (b, n) weights to (b, ...) values, one for each row, at once.

A weight of 2 counts a unit twice, so a row of resampling counts gives the statistic of that resample. A row for which
the statistic does not exist (a correlation of one unit drawn n times) gives NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.stats.inputs import numbers, pair


@dataclass(frozen=True)
class Statistic:
    """function: weights (b, n) float64 → (b, ...); n: how many units it needs weights for. Write your own with it."""

    n: int
    function: Callable[[np.ndarray], np.ndarray]

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        if weights.ndim != 2 or weights.shape[1] != self.n:
            raise UserError(f"the statistic has {self.n} units, the weights are {weights.shape}: give (b, {self.n})")
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.asarray(self.function(weights))
        if result.ndim == 0 or len(result) != len(weights):
            raise UserError(f"a statistic must give a value for each of {len(weights)} rows, it gave {result.shape}")
        return result


def mean(values: Any) -> Statistic:
    """Mean of values (n, ...) → (b, ...)."""
    array = numbers(values, "values")

    def of(weights: np.ndarray) -> np.ndarray:
        return _sums(weights, array) / _total(weights, array.ndim)

    return Statistic(len(array), of)


def std(values: Any) -> Statistic:
    """Standard deviation of values (n, ...) → (b, ...), Bessel-corrected for the units a row draws."""
    array = numbers(values, "values", n_least=2)
    centred = array - np.median(array, axis=0)  # moments about the middle lose no digits to a large offset

    def of(weights: np.ndarray) -> np.ndarray:
        total = _total(weights, array.ndim)
        first, second = _sums(weights, centred), _sums(weights, centred**2)
        return np.sqrt(_spread(first * first, second, total) / (total - 1))

    return Statistic(len(array), of)


def quantile(values: Any, q: float) -> Statistic:
    """The q-th quantile, q in [0, 1], of values (n, ...) → (b, ...), interpolated between order statistics."""
    array = numbers(values, "values")
    if not 0 <= q <= 1:
        raise UserError(f"the quantile {q} must lie between 0 and 1")
    columns = array.reshape(len(array), -1)
    order = np.argsort(columns, axis=0, kind="stable")

    def of(weights: np.ndarray) -> np.ndarray:
        place = (weights.sum(axis=1) - 1) * q
        below = np.floor(place)
        result = np.empty((len(weights), columns.shape[1]))
        for column in range(columns.shape[1]):
            upto = np.cumsum(weights[:, order[:, column]], axis=1)
            ordered = columns[order[:, column], column]
            low = ordered[_index(upto, below)]
            high = ordered[_index(upto, np.minimum(below + 1, upto[:, -1] - 1))]
            result[:, column] = np.where(upto[:, -1] > 0, low + (high - low) * (place - below), np.nan)
        return result.reshape(len(weights), *array.shape[1:])

    return Statistic(len(array), of)


def median(values: Any) -> Statistic:
    """Median of values (n, ...) → (b, ...)."""
    return quantile(values, 0.5)


def difference(values: Any, first: Any) -> Statistic:
    """Mean of the units in `first` minus mean of the others; values: (n, ...), first: (n,) bool.

    Give `strata=first` to the bootstrap when the two are independent samples of fixed size.
    """
    mask, inside, outside = _two_sets(values, first)

    def of(weights: np.ndarray) -> np.ndarray:
        return inside(weights[:, mask]) - outside(weights[:, ~mask])

    return Statistic(len(mask), of)


def ratio(values: Any, first: Any) -> Statistic:
    """Mean of the units in `first` over mean of the others; as `difference`."""
    mask, inside, outside = _two_sets(values, first)

    def of(weights: np.ndarray) -> np.ndarray:
        return inside(weights[:, mask]) / outside(weights[:, ~mask])

    return Statistic(len(mask), of)


def pearson(x: Any, y: Any) -> Statistic:
    """Pearson's r of x and y, (n,) or (n, d) each → (b,) or (b, d), column by column."""
    first, second = pair(x, y, n_least=2)
    n, shape = len(first), np.broadcast_shapes(first.shape[1:], second.shape[1:])
    a, b = ((part - np.median(part, axis=0)).reshape(n, -1) for part in (first, second))
    a, b = np.broadcast_arrays(a / np.abs(a).max(axis=0), b / np.abs(b).max(axis=0))  # squares that cannot underflow
    moments = np.concatenate([a, b, a * a, b * b, a * b], axis=1)

    def of(weights: np.ndarray) -> np.ndarray:
        total = _total(weights, 2)
        sum_a, sum_b, sum_aa, sum_bb, sum_ab = np.split(weights @ moments, 5, axis=1)
        spread = _spread(sum_a * sum_a, sum_aa, total) * _spread(sum_b * sum_b, sum_bb, total)
        r = np.where(spread > 0, (sum_ab - sum_a * sum_b / total) / np.sqrt(spread), np.nan)
        return np.clip(r, -1, 1).reshape(len(weights), *shape)

    return Statistic(n, of)


def spearman(x: Any, y: Any) -> Statistic:
    """Spearman's rank correlation of x and y, as `pearson`; ranks are taken again in each row, ties share theirs."""
    first, second = pair(x, y, n_least=2)
    n, shape = len(first), np.broadcast_shapes(first.shape[1:], second.shape[1:])
    a, b = (array.reshape(n, -1) for array in (first, second))
    d = max(a.shape[1], b.shape[1])

    def of(weights: np.ndarray) -> np.ndarray:
        middle = weights.sum(axis=1, keepdims=True) / 2
        result = np.empty((len(weights), d))
        for column in range(d):
            if column == 0 or a.shape[1] > 1:
                rank_a = ranks(a[:, min(column, a.shape[1] - 1)], weights) - middle - 0.5
                weighted_a = weights * rank_a
                spread_a = np.einsum("bn,bn->b", weighted_a, rank_a)
            rank_b = ranks(b[:, min(column, b.shape[1] - 1)], weights) - middle - 0.5
            spread_b = np.einsum("bn,bn,bn->b", weights, rank_b, rank_b)
            result[:, column] = np.einsum("bn,bn->b", weighted_a, rank_b) / np.sqrt(spread_a * spread_b)
        return np.clip(result, -1, 1).reshape(len(weights), *shape)

    return Statistic(n, of)


def ranks(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Average rank of each unit among the units a row draws: values (n,), weights (b, n) → (b, n), from 1."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    upto = np.zeros((len(weights), len(values) + 1))
    np.cumsum(weights[:, order], axis=1, out=upto[:, 1:])
    start, stop = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (upto[:, start] + upto[:, stop] + 1) / 2


def _two_sets(values: Any, first: Any) -> tuple[np.ndarray, Statistic, Statistic]:
    """The mask, and the mean of each set."""
    array, mask = numbers(values, "values", n_least=2), np.asarray(first)
    if mask.dtype != bool or mask.shape != (len(array),):
        raise UserError(
            f"first must say True or False for each of the {len(array)} units, it is {mask.shape} {mask.dtype}"
        )
    if mask.all() or not mask.any():
        raise UserError("one of the two sets is empty: mark some units, not all, as first")
    return mask, mean(array[mask]), mean(array[~mask])


def _sums(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(b, n) × (n, ...) → (b, ...)."""
    return (weights @ values.reshape(len(values), -1)).reshape(len(weights), *values.shape[1:])


def _total(weights: np.ndarray, ndim: int) -> np.ndarray:
    """How many units each row draws, (b, 1, ...) with `ndim` dimensions."""
    return weights.sum(axis=1).reshape(-1, *[1] * (ndim - 1))


def _spread(first_squared: np.ndarray, second: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Sum of squares about the mean, from moments; exactly 0 where only rounding is left of it."""
    spread = second - first_squared / total
    return np.where(spread > 4 * np.finfo(float).eps * np.sqrt(total) * second, spread, 0.0)


def _index(upto: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """(b,) the place in order of the unit that holds this rank (from 0), given cumulative weights (b, n)."""
    return np.minimum((upto <= rank[:, None]).sum(axis=1), upto.shape[1] - 1)
