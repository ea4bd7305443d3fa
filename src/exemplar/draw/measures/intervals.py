"""How certain a score is: a measure, known of each drawing by each critic, becomes scores with their intervals.

Overall, an interval is over concepts and over critics; of one concept, over its drawings (what each contributes, as a
jackknife has it) and over critics. Over concepts or drawings it is `stats.mean_share`'s where the measure is a share, between 0
and 1, and Student's elsewhere. With three critics or more it covers others trained alike too, by Student's t over as few as
there are, so that critics that disagree widen it much. One or two cannot tell how critics differ: the interval then speaks of
these alone. The result `draw-coverage` counts how often these intervals hold the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from exemplar import stats
from exemplar.records import Score
from exemplar.stats import Estimate
from exemplar.stats.estimate import estimate

SHARE = (0.0, 1.0)
POSITIVE = (0.0, np.inf)
FEW_CRITICS = 3  # with fewer an interval is of these critics alone


@dataclass(frozen=True, eq=False)
class Measure:
    """by_drawing: (s, k, n), what each drawing of each concept contributes by each critic, whose mean over drawings is the
    measure; spaces: (s,) names of the critics; reach: the values it can take; mask: (k,) the concepts that have it."""

    name: str
    variant: str
    spaces: tuple[str, ...]
    by_drawing: np.ndarray
    reach: tuple[float, float] = POSITIVE
    mask: np.ndarray | None = None

    @property
    def value(self) -> np.ndarray:
        """(s, k), of each concept by each critic."""
        return self.by_drawing.mean(axis=2)


@dataclass(frozen=True, eq=False)
class Resamples:
    """concepts: (r, k) how often each concept is drawn; lot: (r, most) in [0, 1), by which critics are."""

    concepts: np.ndarray
    lot: np.ndarray

    def means(self, value: np.ndarray) -> np.ndarray:
        """(s, k) → (r, s): each critic's mean over the concepts drawn."""
        return self.concepts @ value.T / self.concepts.sum(axis=1, keepdims=True)

    def over_critics(self, means: np.ndarray) -> np.ndarray:
        """(r, s) → (r,): the mean over s critics drawn from the s there are."""
        n_critics = means.shape[1]
        drawn = (self.lot[:, :n_critics] * n_critics).astype(np.intp)
        return np.take_along_axis(means, drawn, axis=1).mean(axis=1)


def sample_resamples(n_concepts: int, n_critics: int, n: int, rng: np.random.Generator) -> Resamples:
    """Concepts come first, so that they are the same whoever drew, by however many critics."""
    concepts = stats.resample(n_concepts, n, rng=rng)
    return Resamples(concepts, rng.random((n, n_critics)))


def to_scores(measure: Measure, agent: str, concepts: tuple[str, ...]) -> Iterator[Score]:
    """Overall over all critics (space ""), overall by each critic, and of each concept that has it."""
    value = measure.value[:, _mask(measure)]
    alone = interval_over(value.T[None], measure.reach)  # each critic by itself
    for space, found in (("", interval_over(value, measure.reach)), *zip(measure.spaces, _each(alone), strict=True)):
        yield Score.of(measure.name, found, agent=agent, space=space, variant=measure.variant)
    yield from concept_rows(measure, agent, concepts)


def concept_rows(measure: Measure, agent: str, concepts: tuple[str, ...]) -> Iterator[Score]:
    """Each concept's, mean over critics; none where there is but one number of each."""
    n = measure.by_drawing.shape[2]
    if n < 2:
        return
    (low, high), middle = concept_intervals(measure), measure.value.mean(axis=0)
    for place in np.flatnonzero(_mask(measure)):
        yield Score(
            measure.name,
            float(middle[place]),
            (float(low[place]), float(high[place])),
            n,
            agent=agent,
            concept=concepts[place],
            variant=measure.variant,
        )


def concept_intervals(measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """(k,), (k,): the 95 % interval of each concept, mean over critics, within the measure's reach."""
    found = interval_over(measure.by_drawing.transpose(0, 2, 1), measure.reach)
    return found.lo, found.hi


def interval_over(values: np.ndarray, reach: tuple[float, float]) -> Estimate:
    """The mean over critics and units (concepts, or drawings) with its 95 % interval: values (s, n, …) → arrays (…).

    What critics differ by is taken beside what their residuals (each by itself at each unit) let expect; its reach, Student's
    over s − 1, and that over units are at right angles.
    """
    n_critics, n = values.shape[:2]
    by_unit, by_critic = values.mean(axis=0), values.mean(axis=1)
    found = (stats.mean_share if reach == SHARE else stats.mean)(by_unit)
    below, above = found.value - found.lo, found.hi - found.value
    if n_critics >= FEW_CRITICS:
        residual = values - by_unit - by_critic[:, None] + found.value
        expected = np.square(residual).sum(axis=(0, 1)) / ((n_critics - 1) * (n - 1)) / n
        excess = np.maximum(by_critic.var(axis=0, ddof=1) - expected, 0)
        wide = stdtrit(n_critics - 1, 0.975) * np.sqrt(excess / n_critics)
        below, above = np.hypot(below, wide), np.hypot(above, wide)
    # a value may lie beyond its reach by rounding, and stays inside its interval
    low, high = np.maximum(found.value - below, reach[0]), np.minimum(found.value + above, reach[1])
    return estimate(found.value, np.minimum(low, found.value), np.maximum(high, found.value), n)


def _each(found: Estimate) -> Iterator[Estimate]:
    """The estimates of an array of them, one by one."""
    return (found[place] for place in range(len(found.value)))


def _mask(measure: Measure) -> np.ndarray:
    return np.ones(measure.by_drawing.shape[1], bool) if measure.mask is None else measure.mask
