"""Bootstrap intervals: percentile, basic, and bias-corrected and accelerated (BCa; Efron 1987)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from exemplar.errors import UserError
from exemplar.stats import weighted
from exemplar.stats.estimate import Estimate, estimate
from exemplar.stats.inputs import check_count, check_level, codes, numbers, one_of
from exemplar.stats.resampling import design
from exemplar.stats.weighted import Statistic

METHODS = ("percentile", "basic", "bca")


def bootstrap(
    statistic: Statistic | Any,
    *,
    groups: Any = None,
    within: bool = False,
    strata: Any = None,
    method: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: np.random.Generator,
) -> Estimate:
    """The statistic with its bootstrap interval; arrays in the estimate where the statistic is an array.

    statistic: a Statistic, or values (n, ...) whose mean is meant. groups, within, strata: as in `resample`; the
    estimate's n counts groups where there are groups. method: "percentile", "basic" or "bca". Memory stays bounded
    however many replicates there are.
    """
    one_of("bootstrap method", method, METHODS)
    check_level(level)
    check_count("n_replicates", n_replicates, 2)
    score = statistic if isinstance(statistic, Statistic) else weighted.mean(statistic)
    plan = design(score.n, groups, within, strata)
    value = score(np.ones((1, score.n)))[0]
    replicates = np.concatenate([score(block) for block in plan.draws(n_replicates, rng)])
    accelerated = None
    if method == "bca":
        left = np.concatenate([score(block) for block in plan.leave_one_out()])
        accelerated = acceleration(left, strata=plan.stratum)
    return interval(replicates, value, n=plan.n_groups, method=method, level=level, acceleration=accelerated)


def interval(
    replicates: np.ndarray,
    value: Any,
    *,
    n: int,
    method: str = "percentile",
    level: float = 0.95,
    acceleration: Any = None,
) -> Estimate:
    """The interval that replicates (n_replicates, ...) give a value (...); n: the sample size to report.

    acceleration: (...) from `acceleration`, for "bca". A replicate that is NaN (the statistic did not exist for that
    resample) counts as lying beyond both ends: it can only widen the interval.
    """
    one_of("bootstrap method", method, METHODS)
    check_level(level)
    check_count("n, the number of units behind the interval,", n, 2)
    value, replicates = np.asarray(value, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    check_count("the number of replicates", len(replicates) if replicates.ndim else 0, 2)
    if replicates.shape[1:] != value.shape:
        raise UserError(f"replicates of shape {replicates.shape} do not belong to a value of shape {value.shape}")
    if not np.isfinite(value).all():
        raise UserError("the statistic has no finite value for these units: give units that vary, or another statistic")
    missing = np.isnan(replicates)
    tail = (1 - level) / 2
    low, high = np.full(value.shape, tail), np.full(value.shape, 1 - tail)
    if method == "bca":
        low, high = _bca_tails(replicates, missing, value, tail, acceleration)
    ordered, n_missing = np.sort(replicates, axis=0), missing.sum(axis=0)  # NaN comes last
    ends = _quantile(ordered, low, n_missing), _quantile(ordered, high, np.zeros_like(n_missing))
    if not all(np.isfinite(end).all() for end in ends):
        raise UserError(
            f"the statistic does not exist for {n_missing.max()} of {len(replicates)} resamples, too many for an interval: "
            "give more units, or units that vary more"
        )
    lo, hi = (2 * value - ends[1], 2 * value - ends[0]) if method == "basic" else ends
    return estimate(value, lo, hi, n)


def acceleration(jackknife: np.ndarray, *, strata: Any = None) -> np.ndarray:
    """BCa's acceleration (...) from the statistic with each unit (or group) left out, (n, ...).

    strata: (n,) labels of the units left out, where resampling kept to strata; each is then centred on its own mean.
    """
    left = numbers(jackknife, "the jackknife", n_least=2)
    code, _ = codes(np.zeros(len(left)) if strata is None else strata, len(left), "strata")
    size = np.bincount(code)
    member = (code == np.arange(len(size))[:, None]) / size[:, None]  # (strata, n), rows sum to 1
    flat = left.reshape(len(left), -1)
    own_size = size[code][:, None]
    influence = ((own_size - 1) / own_size) * ((member @ flat)[code] - flat)
    influence[np.abs(influence) < 1e-13 * np.abs(flat).max(axis=0)] = 0  # rounding has no skew
    cubes, squares = (influence**3).sum(axis=0), (influence**2).sum(axis=0)
    return np.divide(cubes, 6 * squares**1.5, out=np.zeros_like(cubes), where=squares > 0).reshape(left.shape[1:])


def _bca_tails(
    replicates: np.ndarray, missing: np.ndarray, value: np.ndarray, tail: float, accelerated: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Where in the replicates the interval's ends lie: (...) probabilities."""
    if accelerated is None:
        raise UserError("bca needs the acceleration: compute it with stats.acceleration, or call stats.bootstrap")
    half = (replicates == value) | missing  # ties with the value, and replicates without one, count for each side
    below = ((replicates < value) + half / 2).mean(axis=0)
    if ((below == 0) | (below == 1)).any():
        raise UserError("every replicate lies on one side of the value, where bca is undefined: use method percentile")
    bias = ndtri(below)
    shifted = [bias + z for z in (ndtri(tail), -ndtri(tail))]
    # Far out the denominator would change sign; the end belongs at the last replicate before that.
    low, high = (ndtr(bias + z / np.maximum(1 - np.asarray(accelerated) * z, 1e-6)) for z in shifted)
    return low, high


def _quantile(ordered: np.ndarray, probability: np.ndarray, n_below: np.ndarray) -> np.ndarray:
    """Quantiles over axis 0, interpolated, at a probability of its own for each column: (b, ...), (...) → (...).

    n_below: (...) how many of the NaN at the end of `ordered` count as lowest of all; the others count as highest.
    """
    place = probability * (len(ordered) - 1)
    below = np.floor(place).astype(np.intp)

    def at(rank: np.ndarray) -> np.ndarray:
        index = np.minimum(rank, len(ordered) - 1) - n_below
        found = np.take_along_axis(ordered, np.maximum(index, 0)[None], axis=0)[0]
        return np.where(index < 0, -np.inf, np.where(np.isnan(found), np.inf, found))

    low, high = at(below), at(below + 1)
    with np.errstate(invalid="ignore"):  # −inf to −inf is no step
        return np.where(low == high, low, low + (high - low) * (place - below))
