"""Correlations keep their sign and come with an interval: in closed form, or by bootstrap over units or groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr

from exemplar.errors import UserError
from exemplar.stats import weighted
from exemplar.stats.bootstrapping import bootstrap
from exemplar.stats.estimate import Estimate, estimate
from exemplar.stats.inputs import check_level, one_of
from exemplar.stats.weighted import Statistic

ALTERNATIVES = ("two-sided", "greater", "less")


def pearson(
    x: Any,
    y: Any,
    *,
    groups: Any = None,
    method: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Pearson's r of x and y, (n,) or (n, d) each, column by column.

    Without rng the interval is Fisher's z, for independent units. With rng it is a bootstrap over units, or over whole
    groups where `groups`, (n,) labels, says which units belong together.
    """
    return _correlation(weighted.pearson(x, y), False, groups, method, level, n_replicates, rng)


def spearman(
    x: Any,
    y: Any,
    *,
    groups: Any = None,
    method: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Spearman's rank correlation, as `pearson`; without rng the standard error of z is Bonett and Wright's (2000)."""
    return _correlation(weighted.spearman(x, y), True, groups, method, level, n_replicates, rng)


def correlation_p(r: Any, n: Any, *, alternative: str = "two-sided") -> Any:
    """p of "no correlation" for Pearson's (or, nearly, Spearman's) r in [−1, 1] of n independent units, by Student's t.

    r, n: numbers or arrays that broadcast. For small samples with ties, or units in doubt, see `correlation_test`.
    """
    one_of("alternative", alternative, ALTERNATIVES)
    r, n = np.asarray(r, dtype=np.float64), np.asarray(n)
    if not (np.abs(r) <= 1).all():
        raise UserError("a correlation lies between −1 and 1: check r")
    if (n < 3).any():
        raise UserError(f"a test of a correlation needs at least 3 units, there are {n.min()}: give more")
    with np.errstate(divide="ignore"):
        t = r * np.sqrt((n - 2) / ((1 - r) * (1 + r)))
    tail = stdtr(n - 2, {"two-sided": -np.abs(t), "greater": -t, "less": t}[alternative])
    p = 2 * tail if alternative == "two-sided" else tail
    return float(p) if np.ndim(p) == 0 else p


def _correlation(
    statistic: Statistic,
    of_ranks: bool,
    groups: Any,
    method: str,
    level: float,
    n_replicates: int,
    rng: np.random.Generator | None,
) -> Estimate:
    if rng is not None:
        return bootstrap(statistic, groups=groups, method=method, level=level, n_replicates=n_replicates, rng=rng)
    if groups is not None:
        raise UserError("a correlation over groups is bootstrapped: give rng too, for example seeds.rng('my study')")
    check_level(level)
    n = statistic.n
    if n < 4:
        raise UserError(f"the interval of a correlation needs at least 4 units, there are {n}: give more")
    r = statistic(np.ones((1, n)))[0]
    error = np.sqrt((1 + r * r / 2 if of_ranks else 1.0) / (n - 3))
    with np.errstate(divide="ignore"):  # r = 1 is infinitely far out, and stays there
        z, reach = np.arctanh(r), ndtri((1 + level) / 2) * error
    return estimate(r, np.tanh(z - reach), np.tanh(z + reach), n)
