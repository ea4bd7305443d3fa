"""From features to what is measured: of the drawings by themselves, and of the drawings beside the data's own.

The data's own drawers are people, or simulated where the package drew the data; scores are named after whichever they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exemplar.draw.measures import ceiling, diversity, originality
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.human_distance import Reference, fit_reference
from exemplar.draw.measures.intervals import POSITIVE, SHARE, Measure, Resamples
from exemplar.draw.measures.neighbours import copies, nearest, overlap
from exemplar.draw.measures.recognizability import count_nearer, recognised
from exemplar.records import Score

CEILING = "ceiling_"  # before the name of a score: it is of the drawers, judged as an agent is
FEW = 8  # concepts with others in their group, where some have none
Halves = tuple[np.ndarray, np.ndarray]  # places of each concept's drawings, (k, splits, h) twice


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison, of each drawing by each critic: (s, k, n). diversity, originality: of normalised features;
    n_nearer: other concepts as near as its own, or nearer. features: (k, n, d) normalised, one array per critic."""

    diversity: np.ndarray
    originality: np.ndarray
    n_nearer: np.ndarray
    features: tuple[np.ndarray, ...]

    def named(self, ways: int) -> np.ndarray:
        """(s, k, n) in [0, 1]: the chance of being named right."""
        return np.stack([recognised(counts, ways) for counts in self.n_nearer])


def normalised(seen: CriticFeatures, how: str) -> CriticFeatures:
    """The same with its features divided: by one number from the drawers' drawings, or each drawing's by its own."""
    divisor = diversity.people_divisor(seen.drawers) if how == "people" and seen.drawers is not None else None

    def divided(part: np.ndarray | None) -> np.ndarray | None:
        if part is None:
            return None
        return diversity.per_sample(part) if divisor is None else part / np.float32(divisor)

    parts: dict[str, Any] = {
        name: divided(getattr(seen, name)) for name in ("drawn", "exemplars", "drawers", "training")
    }
    return replace(seen, **parts)


def measure_side(
    see: Sequence[CriticFeatures], recognise: Sequence[CriticFeatures], side: str, *, unbiased: bool
) -> Side:
    """see: normalised; side: "drawn" or "drawers"."""
    features = tuple(getattr(seen, side) for seen in see)
    return Side(
        np.stack([diversity.spread_by_drawing(part, unbiased=unbiased) for part in features]),
        np.stack([originality.originality(part, s.exemplars) for part, s in zip(features, see, strict=True)]),
        np.stack([count_nearer(getattr(s, side), s.exemplars) for s in recognise]),
        features,
    )


def feature_measures(
    encoded: EncodedDrawings, see: Sequence[CriticFeatures], own: Side, how: str, *, unbiased: bool
) -> Iterator[Measure]:
    """Diversity and originality of every kind. see: normalised; how: the normalisation, in words."""
    spaces, after, n = tuple(seen.space for seen in see), encoded.chosen_by, own.originality.shape[2]
    raw = np.stack([diversity.spread_by_drawing(seen.drawn, unbiased=unbiased) for seen in encoded.see])
    cosine = np.stack([diversity.cosine_spread_by_drawing(seen.drawn) for seen in encoded.see])
    vendi = np.stack([diversity.vendi_by_drawing(seen.drawn) for seen in encoded.see])
    angle = np.stack([originality.cosine_originality(seen.drawn, seen.exemplars) for seen in encoded.see])
    yield Measure("diversity", how, spaces, own.diversity)
    yield Measure("diversity_raw", "", spaces, raw)
    yield Measure("diversity_cosine", "mean over pairs", spaces, cosine, (0.0, 2.0))
    yield Measure("vendi", "", spaces, vendi, (1.0, float(n)))
    yield Measure("originality", f"{how}, {after}", spaces, own.originality)
    yield Measure("originality_cosine", after, spaces, angle, (0.0, 2.0))


def recognition_measures(encoded: EncodedDrawings, own: Side, ways: Sequence[int]) -> Iterator[Measure]:
    """How often drawings are named right: among `ways` random concepts, and among all of their own group."""
    spaces, after = tuple(seen.space for seen in encoded.recognise), encoded.chosen_by
    for way in ways:
        yield Measure(f"recognizability_{way or 'all'}_way", after, spaces, own.named(way), SHARE)
    size = (encoded.groups == encoded.groups[:, None]).sum(axis=1)
    accompanied = int((size > 1).sum())
    # of a few that are not alone, some resamples would hold none
    if len(np.unique(encoded.groups)) > 1 and (accompanied == len(size) or accompanied >= FEW):
        among = f"among {size[size > 1].min()} to {size.max()} of the same group, {after}"
        hard = [
            recognised(count_nearer(seen.drawn, seen.exemplars, groups=encoded.groups), groups=encoded.groups)
            for seen in encoded.recognise
        ]
        yield Measure("recognizability_hard", among, spaces, np.stack(hard), SHARE, size > 1)


def drawer_measures(
    encoded: EncodedDrawings, drawers: Side, ways: Sequence[int], how: str, level: float
) -> Iterator[Measure]:
    """Where the drawers themselves stand, to be set beside an agent. how: the normalisation, in words; level: of copies."""
    seen, recognise = (tuple(f.space for f in part) for part in (encoded.see, encoded.recognise))
    after = encoded.chosen_by
    yield Measure(f"{CEILING}diversity", how, seen, drawers.diversity)
    yield Measure(f"{CEILING}originality", f"{how}, {after}", seen, drawers.originality)
    for way in ways:
        yield Measure(f"{CEILING}recognizability_{way or 'all'}_way", after, recognise, drawers.named(way), SHARE)
    copied = np.stack([copies(values, values, level) for values in drawers.originality])
    yield Measure(f"{CEILING}copy_rate", f"as near as only {level:.0%}, by definition", seen, copied, SHARE)


def copy_measures(
    encoded: EncodedDrawings, see: Sequence[CriticFeatures], own: Side, drawers: Side, level: float
) -> Iterator[Measure]:
    """How many drawings are copies, of the exemplar, and of what the agent was trained on where that is known."""
    spaces, text = tuple(seen.space for seen in see), f"as near as only {level:.0%} of {possessive(encoded.drawers)}"
    found = [copies(a, b, level) for a, b in zip(own.originality, drawers.originality, strict=True)]
    yield Measure("copy_rate", f"{text}, {encoded.chosen_by}", spaces, np.stack(found), SHARE)
    if all(seen.training is not None for seen in see):
        found = [
            copies(nearest(a, np.asarray(seen.training)), nearest(b, np.asarray(seen.training)), level)
            for a, b, seen in zip(own.features, drawers.features, see, strict=True)
        ]
        yield Measure("copy_rate_of_training", text, spaces, np.stack(found), SHARE)


def overlap_measures(
    encoded: EncodedDrawings, own: Side, drawers: Side, halves: Halves, n_neighbours: int, prefix: str
) -> Iterator[Measure]:
    """How half of one side and the other half of the drawers cover each other."""
    half = halves[0].shape[2]
    text = f"{half} against {half} of {encoded.drawers}, {n_neighbours} neighbours"
    found = [overlap(a, b, n_neighbours, halves=halves) for a, b in zip(own.features, drawers.features, strict=True)]
    for name, reach in (("precision", SHARE), ("recall", SHARE), ("density", POSITIVE), ("coverage", SHARE)):
        values = np.stack([getattr(one, name) for one in found])
        yield Measure(prefix + name, text, tuple(seen.space for seen in encoded.see), values, reach)


def fit_references(
    encoded: EncodedDrawings, drawers: Side, ways: int, frozen: Reference | None
) -> tuple[Reference, ...]:
    """The scale of the plane for each pair of critics: the frozen one, or the drawers' spread over concepts; none where
    their scores do not differ between concepts."""
    if frozen is not None:
        return (frozen,) * max(len(drawers.diversity), len(drawers.n_nearer))
    points = [(a.mean(axis=1), b.mean(axis=1)) for a, b in plane(drawers, ways)]
    if any(np.ptp(axis) == 0 for point in points for axis in point):
        return ()
    return tuple(fit_reference(f"{possessive(encoded.drawers)} spread over concepts", *point) for point in points)


def plane(side: Side, ways: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Diversity and recognizability of each drawing, (k, n) each, by each pair of critics; the shorter list begins again."""
    named = side.named(ways)
    n_pairs = max(len(side.diversity), len(named))
    return [(side.diversity[i % len(side.diversity)], named[i % len(named)]) for i in range(n_pairs)]


def halved_distance(
    encoded: EncodedDrawings,
    own: Side,
    drawers: Side,
    halves: Halves,
    references: Sequence[Reference],
    ways: int,
    prefix: str,
) -> Measure:
    """The mean over concepts of the distance between half of one side and the other half of the drawers."""
    (first, last), found = halves, []
    for place, (reference, mine, hers) in enumerate(
        zip(references, plane(own, ways), plane(drawers, ways), strict=True)
    ):
        critic = place % len(own.features)
        point = ceiling.half_spreads(own.features[critic], first), ceiling.half_means(mine[1], first)
        other = ceiling.half_spreads(drawers.features[critic], last), ceiling.half_means(hers[1], last)
        found.append(reference.distance(*point, other).mean(axis=1, keepdims=True))
    half = first.shape[2]
    text = f"{half} against {half} of {encoded.drawers}, {references[0].name}"
    return Measure(f"{prefix}mean_{distance_name(encoded.drawers)}", text, pair_names(encoded), np.stack(found))


def pair_names(encoded: EncodedDrawings) -> tuple[str, ...]:
    """A name for each pair of critics."""
    n_pairs = max(len(encoded.see), len(encoded.recognise))
    pairs = [(encoded.see[i % len(encoded.see)], encoded.recognise[i % len(encoded.recognise)]) for i in range(n_pairs)]
    return tuple(f"{one.space}, {other.space}" for one, other in pairs)


def reliability_scores(
    encoded: EncodedDrawings, drawers: Side, halves: Halves, ways: int, resamples: Resamples
) -> list[Score]:
    """How well the drawers' differences between concepts repeat from one half of them to the other, by the first critics."""
    # the second half of the splits are the first with sides changed
    first, last = (half[:, : half.shape[1] // 2] for half in halves)
    by_drawing = {"originality": drawers.originality[0], f"recognizability_{ways or 'all'}_way": drawers.named(ways)[0]}
    pairs = {name: [ceiling.half_means(values, half) for half in (first, last)] for name, values in by_drawing.items()}
    if first.shape[2] > 1:
        pairs["diversity"] = [ceiling.half_spreads(drawers.features[0], half) for half in (first, last)]
    found = []
    for name, (one, other) in pairs.items():
        r = ceiling.reliability(one, other, weights=resamples.concepts)
        if r is not None:
            text = f"{first.shape[2]} against {first.shape[2]} of {encoded.drawers}"
            found.append(Score.of(f"reliability_of_{name}", r, agent=encoded.drawers, variant=text))
    return found


def distance_name(drawers: str) -> str:
    """Of the distance to the data's own drawers: `distance_to_people`, or `distance_to_simulated_drawers`."""
    return f"distance_to_{drawers.replace(' ', '_')}"


def possessive(drawers: str) -> str:
    """people → people's; simulated drawers → simulated drawers'."""
    return f"{drawers}'" if drawers.endswith("s") else f"{drawers}'s"
