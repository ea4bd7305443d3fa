"""What makes a learner: how much of the variance of scores is due to the encoding stage, and how much to the rule."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

from exemplar import stats
from exemplar.errors import UserError
from exemplar.records import Score
from exemplar.stats.inputs import numbers


def variance_explained(
    scores: np.ndarray, *, n_replicates: int = 1000, rng: np.random.Generator
) -> tuple[dict[str, Score], dict[str, float]]:
    """Two-way ANOVA without repetition: shares of variance of `encoder`, `rule` and the `remainder`, and p of the first two.

    scores: (encoders, rules), one score each. Intervals: encoders are drawn with replacement, the rules are all there are.
    """
    table = numbers(scores, "scores", n_least=2)
    if table.ndim != 2 or table.shape[1] < 2:
        raise UserError(
            f"scores must be (encoders, rules) with at least 2 of both, they are {table.shape}: give a table"
        )
    if np.ptp(table) == 0:
        raise UserError("all scores are the same, so there is no variance to explain: compare others")
    n_encoders, n_rules = table.shape
    value = _shares(table, np.ones((1, n_encoders)))[0]
    draws = stats.resample(n_encoders, n_replicates, rng=rng)
    around = stats.interval(_shares(table, draws), value, n=n_encoders)
    names = ("encoder", "rule", "remainder")
    found = {name: Score.of(f"variance_of_{name}", around[i], n=table.size) for i, name in enumerate(names)}
    freedom = (n_encoders - 1, n_rules - 1, (n_encoders - 1) * (n_rules - 1))
    with np.errstate(divide="ignore"):
        ratio = [(value[i] / freedom[i]) / (value[2] / freedom[2]) for i in (0, 1)]
    return found, {name: float(fdtrc(freedom[i], freedom[2], ratio[i])) for i, name in enumerate(names[:2])}


def _shares(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Shares of the total sum of squares, (b, 3), for encoders weighted by (b, encoders)."""
    total = weights.sum(axis=1)
    by_encoder = table.mean(axis=1)
    by_rule = weights @ table / total[:, None]
    centre = by_rule.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample of one encoder alone has no variance
        whole = (weights @ (table**2)).sum(axis=1) - total * table.shape[1] * centre**2
        encoder = table.shape[1] * (weights @ by_encoder**2 - total * centre**2)
        rule = total * ((by_rule - centre[:, None]) ** 2).sum(axis=1)
        share = np.stack([encoder, rule, whole - encoder - rule], axis=1) / whole[:, None]
    return np.where(whole[:, None] > 0, np.clip(share, 0, 1), np.nan)
