"""What measures are worth: their correlation with accuracy over tasks, its sign kept, and the interval over classes.

Tasks that share classes are not independent, so every interval is a jackknife that leaves out one class at a time with all
tasks that contain it (as for a U-statistic of its degree).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from exemplar.errors import UserError
from exemplar.foresee.evaluating import Evaluated
from exemplar.foresee.indicators import MEASURES
from exemplar.records import Score
from exemplar.stats import Estimate, Statistic, weighted

LEAST_LEFT = 20  # tasks that must remain without a class
LEAST_TASKS = 10


@dataclass(frozen=True, eq=False)
class Correlations:
    """performance: mean accuracy (or adjusted Rand index); pearson, spearman: measure → score; ceiling: the largest correlation
    with accuracy that a measure can have that does not see the scored samples, None where nothing is labelled: every measure
    sees them then, and an index is no share of them; left_out: measure → why it has none."""

    performance: Score
    pearson: dict[str, Score]
    spearman: dict[str, Score]
    ceiling: float | None
    left_out: dict[str, str]
    over: str

    @property
    def scores(self) -> list[Score]:
        return [self.performance, *self.pearson.values(), *self.spearman.values()]

    @property
    def best(self) -> str:
        """The measure whose correlation is largest in the direction it was meant to have."""
        return max(self.pearson, key=lambda name: MEASURES[name].better * self.pearson[name].value)


def score_measures(found: Evaluated, *, agent: str = "", concept: str = "", variant: str = "") -> Correlations:
    """Every measure against performance. concept: which tasks, in words."""
    if len(found.performance) < LEAST_TASKS:
        raise UserError(
            f"Correlations need at least {LEAST_TASKS} tasks, there are {len(found.performance)}: raise --tasks."
        )
    kept, left_out = _usable(found)
    y = found.performance
    labels = {"agent": agent, "concept": concept, "variant": variant}
    classes = found.classes
    mean, over = over_classes(weighted.mean(y), classes)
    performance = Score.of(found.what, mean, n=len(y), **labels)
    pearson, spearman = dict[str, Score](), dict[str, Score]()
    if kept:
        x = np.stack([found.measures[name] for name in kept], axis=1)
        for kind, statistic, into in (
            ("pearson", weighted.pearson, pearson),
            ("spearman", weighted.spearman, spearman),
        ):
            r, over = over_classes(statistic(x, y[:, None]), classes, z=True)
            for column, name in enumerate(kept):
                into[name] = Score.of(f"{kind}_{name}", r[column], n=len(y), **labels)
    ceiling = noise_ceiling(y, found.n_scored) if found.is_accuracy else None
    return Correlations(performance, pearson, spearman, ceiling, left_out, over)


def score_leads(
    found: Evaluated, first: str, others: Sequence[str], *, agent: str = "", concept: str = "", variant: str = ""
) -> list[Score]:
    """How much better one measure foretells performance than each of the others, on the same tasks: the difference of their
    correlations, each in the direction it was meant to have. 0 where neither is better."""
    kept, _ = _usable(found)
    rivals = [name for name in others if name in kept and name != first]
    if first not in kept or not rivals:
        return []
    x = np.stack([MEASURES[name].better * found.measures[name] for name in (first, *rivals)], axis=1)
    correlation = weighted.pearson(x, found.performance[:, None])

    def difference(weights: np.ndarray) -> np.ndarray:
        r = correlation(weights)
        return r[:, :1] - r[:, 1:]

    lead, _ = over_classes(Statistic(len(x), difference), found.classes)
    labels = {"agent": agent, "concept": concept, "variant": variant}
    return [
        Score.of(f"lead_of_{first}_over_{name}", lead[column], n=len(x), **labels) for column, name in enumerate(rivals)
    ]


def _usable(found: Evaluated) -> tuple[list[str], dict[str, str]]:
    """Measures that vary and are finite for every task; why, for the others."""
    kept, left_out = list[str](), dict[str, str]()
    for name, values in found.measures.items():
        if not np.isfinite(values).all():
            left_out[name] = f"it has no value in {int((~np.isfinite(values)).sum())} of {len(values)} tasks"
        elif np.ptp(values) == 0:
            left_out[name] = f"it is {values[0]:g} in every task"
        elif np.ptp(found.performance) == 0:
            left_out[name] = f"{found.what.replace('_', ' ')} is {found.performance[0]:g} in every task"
        else:
            kept.append(name)
    return kept, left_out


def noise_ceiling(accuracy: np.ndarray, n_scored: int) -> float:
    """√(1 − E[a (1 − a)] / (n Var a)): what finitely many scored samples leave of a perfect correlation; 0 where accuracies
    vary no more than by chance."""
    spread = float(np.var(accuracy))
    if spread == 0:
        return 0.0
    noise = float(np.mean(accuracy * (1 - accuracy))) / n_scored
    return float(np.sqrt(max(0.0, 1 - noise / spread)))


def over_classes(
    statistic: Statistic, classes: np.ndarray, *, z: bool = False, level: float = 0.95
) -> tuple[Estimate, str]:
    """The statistic with its interval, and over what that is. classes: (tasks, ways); z: of a correlation, on Fisher's scale.

    Leaving out a class also leaves out the tasks it is in, whose own noise would count several times where tasks are few: that
    much is taken off again. Where too few tasks remain without some class, tasks count as independent.
    """
    there = np.unique(classes)
    n_tasks, n_ways = classes.shape
    without = np.stack([~(classes == c).any(axis=1) for c in there]).astype(np.float64)
    to, back = _scales(z)
    value = statistic(np.ones((1, n_tasks)))[0]
    one = _task_variance(statistic, value, z)
    if len(there) < n_ways + 2 or without.sum(axis=1).min() < LEAST_LEFT:
        n, over = n_tasks, "tasks"
        variance = one
    else:
        n, over = len(there), "classes"
        left = to(np.concatenate([statistic(row[None]) for row in without]))
        variance = (n - 1) / n * np.square(left - left.mean(axis=0)).sum(axis=0)
        share = n_ways / n
        counted = (n - 1) * share / (1 - share)
        variance = np.maximum(variance - (counted - 1) * one, one)
    reach = stdtrit(n - 1, (1 + level) / 2) * np.sqrt(variance)
    centre = to(value)
    return Estimate(value, back(centre - reach), back(centre + reach), n), over


def _scales(z: bool) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    if not z:
        return np.asarray, np.asarray
    return (lambda r: np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))), np.tanh


def _task_variance(statistic: Statistic, value: np.ndarray, z: bool) -> np.ndarray:
    """The variance that independent tasks would give: Fisher's for a correlation, else a jackknife over twenty parts."""
    n = statistic.n
    if z:
        return np.full(np.shape(value), 1 / max(n - 3, 1))
    parts = min(20, n)
    without = (np.arange(n) % parts != np.arange(parts)[:, None]).astype(np.float64)
    left = statistic(without)  # a part alone may be too few tasks for a correlation
    return (parts - 1) / parts * np.square(left - left.mean(axis=0)).sum(axis=0)
