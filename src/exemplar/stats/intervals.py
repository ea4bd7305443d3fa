"""Intervals in closed form: of a mean (Student), and of a proportion (Wilson; Clopper and Pearson)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from exemplar.errors import UserError
from exemplar.stats.estimate import Estimate, estimate
from exemplar.stats.inputs import check_level, numbers, one_of


def mean(values: Any, *, level: float = 0.95) -> Estimate:
    """Mean of values (n, ...) over the first axis, with Student's t interval."""
    check_level(level)
    array = numbers(values, "values", n_least=2)
    n = len(array)
    centre = array.mean(axis=0)
    reach = stdtrit(n - 1, (1 + level) / 2) * array.std(axis=0, ddof=1) / np.sqrt(n)
    return estimate(centre, centre - reach, centre + reach, n)


def proportion(successes: Any, trials: Any, *, method: str = "wilson", level: float = 0.95) -> Estimate:
    """Proportion of successes among trials, whole numbers or arrays of them that broadcast.

    method: "wilson" (score interval, near the level on average) or "clopper-pearson" (exact, never below the level).
    """
    one_of("interval of a proportion", method, ("wilson", "clopper-pearson"))
    check_level(level)
    k, n = (numbers(np.atleast_1d(part), name) for part, name in ((successes, "successes"), (trials, "trials")))
    try:
        k, n = np.broadcast_arrays(k, n)
    except ValueError as problem:
        raise UserError(f"successes are {k.shape} and trials are {n.shape}: give as many of both") from problem
    impossible = (n < 1) | (k < 0) | (k > n) | (k % 1 != 0) | (n % 1 != 0)
    if impossible.any():
        wrong = tuple(np.argwhere(impossible)[0])
        raise UserError(
            f"{k[wrong]:g} successes of {n[wrong]:g} trials cannot be: give whole numbers, 0 ≤ successes ≤ trials, trials ≥ 1"
        )
    share, tail = k / n, (1 - level) / 2
    if method == "wilson":
        z = -ndtri(tail)
        middle = (k + z * z / 2) / (n + z * z)
        reach = z / (n + z * z) * np.sqrt(n * share * (1 - share) + z * z / 4)
        lo, hi = middle - reach, middle + reach
    else:
        lo = betaincinv(np.maximum(k, 1), n - k + 1, tail)
        hi = betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail)
    lo, hi = np.where(k == 0, 0.0, lo), np.where(k == n, 1.0, hi)  # where both formulas give the end, without rounding
    shape = np.broadcast_shapes(np.shape(successes), np.shape(trials))
    return estimate(share.reshape(shape), lo.reshape(shape), hi.reshape(shape), n.astype(np.int64).reshape(shape))
