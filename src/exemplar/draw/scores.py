"""How drawings are scored: every score of a set of drawings, per concept and overall, each with its interval.

    scored = score_features(encoded)     # what critics made of the drawings, see `encoding.encode_drawings`
    scored.scores                        # the table
    scored.originality                   # (k, n), of each drawing; `recognised` beside it

Overall, an interval is over concepts (their distractors stay all concepts) and over the seeds of the critics; of a concept,
over drawings and over critics: see `measures/intervals`. Everyone is compared at the same number of drawings. Nothing
here loads a file or a network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar import seeds, stats
from exemplar.draw.measures import ceiling, diversity, originality, sides
from exemplar.draw.measures.differences import Headline, headline, to_arrays
from exemplar.draw.measures.distance import measure_distance
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.generalization import Curve, compare_curves, generalization_curve
from exemplar.draw.measures.human_distance import Reference
from exemplar.draw.measures.intervals import SHARE, Measure, Resamples, sample_resamples, to_scores
from exemplar.draw.measures.recognizability import sample_episodes
from exemplar.draw.measures.sides import Side, possessive
from exemplar.draw.measures.told_apart import known_hands
from exemplar.errors import UserError, unknown
from exemplar.records import Score, Scores

__all__ = ["CriticFeatures", "EncodedDrawings", "ScoreConfig", "ScoredDrawings", "score_features"]

NORMALISATIONS = ("sample", "people")
MEASURES = 4  # counted up where a score is computed in another way, so that no earlier run is taken for the same
WITH_DIFFERENCES = re.compile(r"diversity|recognizability_\w+_way|originality|copy_rate")  # between drawers, in pairs
SHORTFALL = 0.02  # of a standard deviation of few drawings: less is not worth a warning (13 drawings)


@dataclass(frozen=True)
class ScoreConfig:
    """ways: of recognizability, 0 for all concepts. n_replicates: of the bootstrap over concepts and critics.

    normalise: what features are divided by before diversity and originality, "sample" (each drawing's own deviation over
    features, as published) or "people" (one number from the drawings of the data's own drawers, the same for every agent).
    unbiased: correct diversity for the number of drawings (c4). n_bins: of the generalization curve. n_neighbours, n_splits:
    of precision, recall, density and coverage; how often the drawers are halved. copy_level: the share of the drawers'
    drawings that count as copies. episodes: sampled ones to set beside the closed form, 0 for none. with_drawers: whether the
    drawings are compared with the data's own. reference: the frozen scale of the distance to people, None for the drawers'
    own spread over concepts."""

    ways: tuple[int, ...] = (20, 0)
    n_replicates: int = 1000
    normalise: str = "sample"
    unbiased: bool = False
    n_bins: int = 10
    n_neighbours: int = 3
    n_splits: int = 10
    copy_level: float = 0.01
    episodes: int = 0
    with_drawers: bool = True
    reference: Reference | None = None

    def __post_init__(self) -> None:
        if self.normalise not in NORMALISATIONS:
            raise unknown("normalisation", self.normalise, NORMALISATIONS)
        if not self.ways:
            raise UserError("recognizability needs a number of ways: give at least one, 0 for all concepts")
        if any(way < 0 or way == 1 for way in self.ways):
            raise UserError(f"recognizability needs 2 ways or more, or 0 for all concepts, got {self.ways}")
        if self.normalise == "people" and not self.with_drawers:
            raise UserError(
                "features cannot be divided by people's spread where nothing is compared with people: choose one"
            )


DEFAULT = ScoreConfig()


@dataclass(frozen=True, eq=False)
class ScoredDrawings:
    """What a set of drawings is worth.

    scores: overall rows have concept ""; space "" is the mean over critics, else the critic's name; one row per concept and
    score besides. originality, recognised: (k, n) of each drawing, by the first critics; recognised is the chance, in [0, 1],
    of being named right among the first of `ways`. curve: the generalization curve; drawers_curve: that of the data's own
    drawers, None where they made too few drawings. notes: what to know before believing it, a sentence each. pairing: arrays
    for paired differences, see `differences.to_arrays`; null_distance: (r,) of new groups of the data's drawers, or none."""

    agent: str
    concepts: tuple[str, ...]
    scores: Scores
    originality: np.ndarray
    recognised: np.ndarray
    curve: Curve
    drawers_curve: Curve | None
    notes: tuple[str, ...]
    pairing: Mapping[str, np.ndarray]
    null_distance: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """What a page needs besides the tables, for an npz: agent, concepts, notes, originality, recognised, density and
        density_at (of originality), curve_… and people_curve_… (see `Curve.arrays`), null_distance, and `pairing`."""
        at, height = originality.density(self.originality)
        return {
            "agent": np.array(self.agent),
            "concepts": np.array(self.concepts),
            "notes": np.array(self.notes, dtype=str),
            "originality": self.originality,
            "recognised": self.recognised,
            "density_at": at,
            "density": height,
            "null_distance": self.null_distance.astype(np.float32),
            **self.pairing,
            **self.curve.arrays("curve_"),
            **(self.drawers_curve.arrays("people_curve_") if self.drawers_curve else {}),
        }


def score_features(encoded: EncodedDrawings, config: ScoreConfig = DEFAULT, *, seed: int = 0) -> ScoredDrawings:
    """Every score of one agent's encoded drawings. The same seed resamples the same concepts whoever drew."""
    k, notes = len(encoded.concepts), []
    if k < 2:
        raise UserError("Recognizability needs at least 2 concepts; this set has 1.")
    if not config.with_drawers:
        encoded = encoded.without_drawers()
        notes.append(
            f"nothing is compared with {encoded.drawers}, as asked: scores that need their drawings are left out"
        )
    elif encoded.makers is None:
        too_few = f"{encoded.drawers} made fewer than 3 drawings of some concept besides the exemplar"
        if config.normalise == "people":
            raise UserError(f"{too_few}: features cannot be divided by their spread, choose the normalisation sample")
        notes.append(f"{too_few}: nothing is compared with them")
    ways = tuple(way for way in config.ways if way <= k) or (0,)
    if set(config.ways) - set(ways):
        notes.append(f"there are {k} concepts: recognizability among more than these is left out")
    if shortfall := _shortfall(encoded, config):
        notes.append(shortfall)
    how = in_words(config.normalise, encoded.drawers) + (", unbiased" if config.unbiased else "")
    see = [sides.normalised(features, config.normalise) for features in encoded.see]
    n_critics = max(len(see), len(encoded.recognise))
    resamples = sample_resamples(k, n_critics, config.n_replicates, seeds.rng("concepts", seed))
    own = sides.measure_side(see, encoded.recognise, "drawn", unbiased=config.unbiased)
    found = [
        *sides.feature_measures(encoded, see, own, how, unbiased=config.unbiased),
        *sides.recognition_measures(encoded, own, ways),
    ]
    beside: list[Score] = []
    drawers = distance = None
    if encoded.makers is not None:
        drawers = sides.measure_side(see, encoded.recognise, "drawers", unbiased=config.unbiased)
        found += sides.copy_measures(encoded, see, own, drawers, config.copy_level)
        if references := sides.fit_references(encoded, drawers, ways[0], config.reference):
            distance = measure_distance(
                encoded, see, own, drawers, references, ways[0], resamples,
                unbiased=config.unbiased, rng=seeds.rng("null", seed),
            )  # fmt: skip
            beside += distance.scores
        beside += _scores_beside_drawers(encoded, own, drawers, references, ways[0], resamples, config, seed)
        for measure in sides.drawer_measures(encoded, drawers, ways, how, config.copy_level):
            theirs_overall = to_scores(measure, encoded.drawers, encoded.concepts)
            beside += [row for row in theirs_overall if not row.concept and not row.space]
    scores = [row for measure in found for row in to_scores(measure, encoded.agent, encoded.concepts)]

    def curve(side: Side) -> Curve:
        return generalization_curve(
            side.originality[0], side.named(ways[0])[0], n_bins=config.n_bins, weights=resamples.concepts
        )

    mine, theirs = curve(own), curve(drawers) if drawers else None
    if theirs is not None:
        over = f"over {possessive(encoded.drawers)} curve"
        beside += [
            Score.of(name, found, agent=encoded.agent, variant=over)
            for name, found in compare_curves(mine, theirs).items()
        ]
    if config.episodes:
        beside += _sampled_scores(encoded, ways, config.episodes, seed)
    return ScoredDrawings(
        encoded.agent,
        encoded.concepts,
        Scores.collect([*scores, *beside]),
        own.originality[0],
        own.named(ways[0])[0],
        mine,
        theirs,
        (*notes, *filter(None, [mine.warning])),
        to_arrays(_headlines(encoded, found), distance.moved if distance else None),
        distance.null.null if distance else np.zeros(0),
    )


def _headlines(encoded: EncodedDrawings, found: Sequence[Measure]) -> dict[str, Headline]:
    """What a paired difference needs of each main score, by name."""
    first = encoded.see[0]
    drew = encoded.makers is not None and np.array_equal(first.drawn, np.asarray(first.drawers))
    hands = known_hands(encoded.makers) if drew and encoded.makers is not None else None
    return {
        measure.name: headline(measure.by_drawing, hands, share=measure.reach == SHARE)
        for measure in found
        if WITH_DIFFERENCES.fullmatch(measure.name)
    }


def in_words(normalise: str, drawers: str) -> str:
    """What features were divided by."""
    if normalise == "sample":
        return "each drawing divided by its own deviation"
    return f"divided by {possessive(drawers)} spread"


def _scores_beside_drawers(
    encoded: EncodedDrawings,
    own: Side,
    drawers: Side,
    references: Sequence[Reference],
    ways: int,
    resamples: Resamples,
    config: ScoreConfig,
    seed: int,
) -> list[Score]:
    """What half of one side has in common with the other half of the drawers; for the ceiling both are the drawers. Halves are
    of drawers, the same for every agent: so nobody is compared with their own drawings."""
    assert encoded.makers is not None
    found: list[Score] = []
    halves = ceiling.drawer_halves(encoded.makers, config.n_splits, rng=seeds.rng("halves", seed))
    for agent, prefix, side in ((encoded.agent, "", own), (encoded.drawers, "ceiling_", drawers)):
        compared: list[Measure] = []
        if halves[0].shape[2] > config.n_neighbours:
            compared += sides.overlap_measures(encoded, side, drawers, halves, config.n_neighbours, prefix)
        if references and halves[0].shape[2] > 1:
            compared.append(sides.halved_distance(encoded, side, drawers, halves, references, ways, prefix))
        found += [row for measure in compared for row in to_scores(measure, agent, encoded.concepts)]
    return found + sides.reliability_scores(encoded, drawers, halves, ways, resamples)


def _shortfall(encoded: EncodedDrawings, config: ScoreConfig) -> str:
    """By how much diversity is low at this number of drawings; nothing where that is little, or corrected."""
    n = encoded.see[0].drawn.shape[1]
    low = 1 - diversity.c4(n)
    if config.unbiased or low < SHORTFALL:
        return ""
    return (
        f"a standard deviation of {n} drawings is too small, on average by {low:.0%}, and so are diversity and diversity_raw: "
        f"compare them with those of {n} drawings only, or give --unbiased, which corrects them"
    )


def _sampled_scores(encoded: EncodedDrawings, ways: Sequence[int], episodes: int, seed: int) -> Iterator[Score]:
    """Recognizability by sampled episodes, the same for every critic, to be compared with the closed form: mean over critics,
    with an interval over episodes. Among all concepts there is nothing to sample but drawings: only where it is alone."""
    k = len(encoded.concepts)
    for place, way in enumerate([way for way in ways if way] or [k]):
        of_way = () if place == 0 else (way,)  # the first as it was when there was but one
        shares = [
            sample_episodes(seen.drawn, seen.exemplars, way, episodes, rng=seeds.rng("episodes", seed, *of_way))
            for seen in encoded.recognise
        ]
        name, text = f"recognizability_{way}_way_sampled", f"{encoded.chosen_by}, interval over episodes"
        yield Score.of(name, stats.mean_share(np.mean(shares, axis=0)), agent=encoded.agent, variant=text)
