"""The distance to the data's own drawers: with its interval, beside what it would be of a new group of the same drawers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar import stats
from exemplar.draw.measures.differences import Moved
from exemplar.draw.measures.diversity import spread_without_each
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.human_distance import Reference
from exemplar.draw.measures.intervals import Measure, Resamples, concept_rows
from exemplar.draw.measures.sides import Side, distance_name, pair_names, plane
from exemplar.draw.measures.told_apart import (
    LEVEL,
    NullDistance,
    compare_with_null,
    distance_intervals,
    known_hands,
    shared_covariance,
)
from exemplar.records import Score

NULL, P = "null_", "p_of_"  # before the name of the distance


@dataclass(frozen=True, eq=False)
class Distance:
    """scores: the distance and its null; null: with every simulated group; moved: what a paired difference needs."""

    scores: tuple[Score, ...]
    null: NullDistance
    moved: Moved


def measure_distance(
    encoded: EncodedDrawings,
    see: Sequence[CriticFeatures],
    own: Side,
    drawers: Side,
    references: Sequence[Reference],
    ways: int,
    resamples: Resamples,
    *,
    unbiased: bool,
    rng: np.random.Generator,
) -> Distance:
    """see: normalised; references: one per pair of critics; ways: of the recognizability that is on the plane."""
    assert encoded.makers is not None
    n = encoded.makers.shape[1]
    agent, theirs = (points(side, references, ways) for side in (own, drawers))
    hands = known_hands(encoded.makers)
    shift = typical_shift(see, references, unbiased=unbiased)
    null = compare_with_null(agent, theirs, hands, shift, rng=rng)
    ends = distance_intervals(agent, theirs, hands, resamples.lot, rng=rng)
    if null.p >= LEVEL:
        ends[:, 0] = 0.0  # who is not told apart may be no distance away
    # drawings that are the drawers' own are where they are, whatever new groups would be
    itself = not (agent - theirs).any()
    moved = Moved((agent - theirs).mean(axis=2), *shared_covariance(theirs, hands))
    scores = (
        *_distance_rows(encoded, own, drawers, references, ways, moved, ends),
        *_null_rows(encoded, null, 1.0 if itself else null.p, n),
    )
    return Distance(scores, null, moved)


def points(side: Side, references: Sequence[Reference], ways: int) -> np.ndarray:
    """(s, k, n, 2): of each drawing its diversity and recognizability, in units of the references."""
    return np.stack([
        np.stack([across / reference.diversity.std, up / reference.recognizability.std], axis=-1)
        for reference, (across, up) in zip(references, plane(side, ways), strict=True)
    ])  # fmt: skip


def typical_shift(see: Sequence[CriticFeatures], references: Sequence[Reference], *, unbiased: bool) -> np.ndarray:
    """(s, 2): where a new group of the same drawers is expected, seen from those there are.

    Their drawings are those besides the exemplar. Where that is the most typical, the others are more diverse than a new
    group's; by how much, is seen when each drawing, the exemplar among them, is left out in turn.
    """
    found = []
    for place, reference in enumerate(references):
        seen = see[place % len(see)]
        together = np.concatenate([np.asarray(seen.drawers), seen.exemplars[:, None]], axis=1)
        left = spread_without_each(together, unbiased=unbiased)
        found.append(((left.mean(axis=1) - left[:, -1]).mean() / reference.diversity.std, 0.0))
    return np.array(found)


def _distance_rows(
    encoded: EncodedDrawings,
    own: Side,
    drawers: Side,
    references: Sequence[Reference],
    ways: int,
    moved: Moved,
    ends: np.ndarray,
) -> Iterator[Score]:
    """Overall over all critics, overall by each pair, and of each concept."""
    spaces, name, variant = pair_names(encoded), distance_name(encoded.drawers), references[0].name
    value = np.hypot(*moved.moved.mean(axis=1).T)
    about = {"name": name, "variant": variant, "agent": encoded.agent}
    for space, middle, (low, high) in zip(("", *spaces), (value.mean(), *value), ends, strict=True):
        yield Score(value=float(middle), ci95=(float(low), float(high)), n=len(encoded.concepts), space=space, **about)
    by_drawing = [
        reference.distance_by_drawing(*mine, hers)
        for reference, mine, hers in zip(references, plane(own, ways), plane(drawers, ways), strict=True)
    ]
    yield from concept_rows(Measure(name, variant, spaces, np.stack(by_drawing)), encoded.agent, encoded.concepts)


def _null_rows(encoded: EncodedDrawings, null: NullDistance, p: float, n: int) -> Iterator[Score]:
    """What a new group's distance would be, on average and in 95 % of cases; and the share that is as far as the agent."""
    name, k, n_null = distance_name(encoded.drawers), len(encoded.concepts), len(null.null)
    text = f"of a new group of {encoded.drawers}, {n} drawings of each concept"
    mean = float(null.null.mean())
    yield Score(NULL + name, mean, (0.0, null.limit), k, agent=encoded.agent, variant=f"{text}; 95 % are within")
    chance = stats.proportion(round(p * n_null), n_null)
    ends = (min(chance.lo, p), max(chance.hi, p))
    yield Score(P + name, p, ends, k, agent=encoded.agent, variant=f"{text}; interval: of the simulation")
