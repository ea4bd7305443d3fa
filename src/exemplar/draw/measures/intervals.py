"""How certain a score is: a measure, known of each drawing by each critic, becomes scores with their intervals.

Overall, an interval is over concepts and over critics, both resampled; of one concept, over drawings by jackknife, and over
critics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from exemplar import stats
from exemplar.records import Score

SHARE = (0.0, 1.0)
POSITIVE = (0.0, np.inf)


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


def to_scores(measure: Measure, resamples: Resamples, agent: str, concepts: tuple[str, ...]) -> Iterator[Score]:
    """Overall over all critics, overall by each critic, and of each concept that has it."""
    mask = _mask(measure)
    with np.errstate(invalid="ignore"):  # a resample may hold no concept that has it
        means = Resamples(resamples.concepts[:, mask], resamples.lot).means(measure.value[:, mask])
    about = {"name": measure.name, "variant": measure.variant, "agent": agent}
    middle = measure.value[:, mask].mean(axis=1)
    yield from overall_rows(means, middle, resamples, measure.spaces, int(mask.sum()), about)
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


def overall_rows(
    means: np.ndarray,
    value: np.ndarray,
    resamples: Resamples,
    spaces: tuple[str, ...],
    n: int,
    about: dict[str, str],
    *,
    whole: bool = False,
) -> Iterator[Score]:
    """The mean over critics (space ""), then each critic. means: (r, s), of resamples; value: (s,); whole: widen an interval
    to hold its value, for what noise can only make larger."""
    for space, replicates, middle in (
        ("", resamples.over_critics(means), value.mean()),
        *zip(spaces, means.T, value, strict=True),
    ):
        found = stats.interval(replicates, middle, n=n)
        ends = (min(found.lo, found.value), max(found.hi, found.value)) if whole else (found.lo, found.hi)
        yield Score(value=found.value, ci95=ends, n=n, space=space, **about)


def concept_intervals(measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """(k,), (k,): Student's 95 % interval of each concept, mean over critics, within the measure's reach."""
    n_critics, _, n = measure.by_drawing.shape
    variance = measure.by_drawing.mean(axis=0).var(axis=1, ddof=1) / n
    if n_critics > 1:
        variance = variance + measure.value.var(axis=0, ddof=1) / n_critics
    half, middle = stdtrit(n - 1, 0.975) * np.sqrt(variance), measure.value.mean(axis=0)
    # a value may lie beyond its reach by rounding, and stays inside its interval
    low, high = np.maximum(middle - half, measure.reach[0]), np.minimum(middle + half, measure.reach[1])
    return np.minimum(low, middle), np.maximum(high, middle)


def _mask(measure: Measure) -> np.ndarray:
    return np.ones(measure.by_drawing.shape[1], bool) if measure.mask is None else measure.mask
