"""Scores of maps: pure functions of annotations. How reliable people are, how near a model comes, how sparse each is.

Everything that is averaged is averaged over concepts, with Student's t interval; of fewer than three concepts, reliability is
averaged over images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from exemplar import stats
from exemplar.attend.annotations import Annotations
from exemplar.attend.measures.blurring import blur, kernel_width
from exemplar.attend.measures.ranking import correlate_pairs, partial_correlation, rank_maps
from exemplar.attend.measures.reliability import agreement_within, reliability_of_mean, sample_pairs
from exemplar.attend.measures.sparseness import centroids, entropy, gini, half_area, ink_overlap
from exemplar.errors import UserError
from exemplar.records import Score

N_PAIRS = 10_000
SPARSENESS = {"gini": gini, "entropy": entropy, "half_area": half_area}
INK_SCALES = (1, 2, 4)  # kernels that ink is blurred with before it is taken out, in units of the maps' own


@dataclass(frozen=True, eq=False)
class Reliability:
    """scores; within, between: (n_pairs,) Spearman's r of random pairs, for the figure (S.2)."""

    scores: list[Score]
    within: np.ndarray
    between: np.ndarray


def score_reliability(people: Annotations, *, n_pairs: int = N_PAIRS, rng: np.random.Generator) -> Reliability:
    """How alike two participants' annotations of one image are (`reliability`, over all pairs; `reliability_sampled`,
    over random ones, as published), and of different images (`reliability_between`)."""
    agreement = agreement_within(people.ranked, people.image, people.participant.code)
    concept_of = np.zeros(int(people.image.max()) + 1, np.intp)
    concept_of[people.image] = people.concept.code
    label: dict[str, Any] = {"agent": people.agent}
    found = [Score.of("reliability", _over_units(agreement.r, concept_of[agreement.image], agreement.image), **label)]
    pairs: dict[bool, np.ndarray] = {}
    for same, name in ((True, "reliability_sampled"), (False, "reliability_between")):
        try:
            first, second = sample_pairs(people.image, people.participant.code, n_pairs, same=same, rng=rng)
        except UserError:
            if same:
                raise
            pairs[same] = np.empty(0)  # one image: there is nothing to compare it with
            continue
        pairs[same] = correlate_pairs(people.ranked, first, second)
        concepts = people.concept.code[first], people.concept.code[second]
        if same or len(people.concepts) < 3:
            estimate = _over_units(pairs[same], concepts[0], people.image[first])
        else:
            estimate = _without_each(pairs[same], *concepts)
        found.append(Score.of(name, estimate, **label))
    return Reliability(found, pairs[True], pairs[False])


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model beside people. scores: over concepts; per_concept: score → (k,) values; p: of the tests, by name."""

    scores: list[Score]
    per_concept: dict[str, np.ndarray]
    p: dict[str, float]


def score_agreement(people: Annotations, model: Annotations, *, rng: np.random.Generator) -> Comparison:
    """Both of the same concepts in the same order, on one grid.

    `spearman`: of the concepts' mean maps, blurred; `spearman_after_ink`: after ink, blurred more and less, is taken out;
    `centroid_distance`: in shares of the image's side; `ceiling` and `spearman_corrected` where people are several per concept.
    """
    _check_alike(people, model)
    ours, theirs = (blur(one.mean_maps) for one in (people, model))
    k = len(people.concepts)
    labels = [f"{concept} (mean of {one.agent})" for one in (people, model) for concept in people.concepts]
    ranked = rank_maps(np.concatenate([ours, theirs]), labels)
    every = np.arange(k)
    per_concept = {"spearman": correlate_pairs(ranked, every, every + k)}
    side = min(people.size)
    inks = [blur(one.mean_ink, kernel_width(scale * side)) for one in (people, model) for scale in INK_SCALES]
    given = [rank_maps(ink) for ink in inks if _varies(ink)]
    per_concept["spearman_after_ink"] = np.array(
        [partial_correlation(ranked[c], ranked[c + k], np.stack([g[c] for g in given])) for c in every]
        if given
        else per_concept["spearman"]
    )
    if min(people.maps.min(), model.maps.min()) >= 0:
        apart = centroids(people.mean_maps) - centroids(model.mean_maps)
        per_concept["centroid_distance"] = np.sqrt((apart**2).sum(axis=1))
    label: dict[str, Any] = {"agent": model.agent}
    found = [_mean(name, values, **label) for name, values in per_concept.items()]
    per_concept["ceiling"] = find_ceilings(people, rng=rng)
    known = ~np.isnan(per_concept["ceiling"])
    if known.sum() >= 2 and per_concept["ceiling"][known].mean() > 0:
        ceiling, r = per_concept["ceiling"][known], per_concept["spearman"][known]
        found.append(_mean("ceiling", ceiling, agent=people.agent))
        found.append(Score.of("spearman_corrected", ratio_of_means(r, ceiling), **label))
    test = stats.paired_test(per_concept["spearman_after_ink"], np.zeros(k), rng=rng) if k > 1 else None
    return Comparison(found, per_concept, {"spearman_after_ink": test.p} if test else {})


def find_ceilings(people: Annotations, *, rng: np.random.Generator) -> np.ndarray:
    """(k,): the highest correlation that a perfect model could have with each concept's mean map, √ of the mean's reliability;
    NaN where fewer than two participants marked the concept."""
    found = np.full(len(people.concepts), np.nan)
    for c in range(len(found)):
        rows = people.rows(c)
        who = people.participant.code[rows]
        if len(np.unique(who)) > 1:
            reliable = reliability_of_mean(people.blurred[rows], who, rng=rng)
            found[c] = np.sign(reliable) * np.sqrt(abs(reliable))
    return found


def score_sparseness(maps: Annotations) -> tuple[list[Score], dict[str, np.ndarray]]:
    """Of each concept's mean map, blurred: `gini` and `entropy`, `half_area`; and `ink_overlap` beside its chance,
    `ink_area`."""
    blurred = blur(maps.mean_maps)
    per_concept = {name: measure(blurred) for name, measure in SPARSENESS.items()}
    per_concept["ink_overlap"] = ink_overlap(maps.mean_maps, maps.mean_ink)
    per_concept["ink_area"] = maps.mean_ink.mean(axis=(1, 2)).astype(np.float64)
    return [_mean(name, values, agent=maps.agent) for name, values in per_concept.items()], per_concept


def compare_sparseness(people: Annotations, model: Annotations, *, rng: np.random.Generator) -> Comparison:
    """Are people's maps sparser than the model's? Differences (people − model) paired by concept, with the p of a permutation
    test in the direction the paper claims: a higher Gini coefficient, lower entropy, a smaller area."""
    _check_alike(people, model)
    ours, theirs = score_sparseness(people)[1], score_sparseness(model)[1]
    found, per_concept, p = [], {}, {}
    for name in SPARSENESS:
        difference = ours[name] - theirs[name]
        found.append(_mean(f"{name}_difference", difference, agent=f"{people.agent} − {model.agent}"))
        per_concept[f"{name}_difference"] = difference
        if len(difference) > 1:
            towards = "greater" if name == "gini" else "less"
            p[f"{name}_difference"] = stats.paired_test(ours[name], theirs[name], alternative=towards, rng=rng).p
    return Comparison(found, per_concept, p)


def ratio_of_means(over: np.ndarray, under: np.ndarray) -> stats.Estimate:
    """mean(over) / mean(under) of the same units, (n,) each, with Student's t interval of the linearised ratio."""
    n, ratio = len(over), float(over.mean() / under.mean())
    error = (over - ratio * under).std(ddof=1) / np.sqrt(n) / abs(under.mean())
    reach = float(stdtrit(n - 1, 0.975) * error)
    return stats.Estimate(ratio, ratio - reach, ratio + reach, n)


def _mean(name: str, values: np.ndarray, **label: Any) -> Score:
    if len(values) == 1:
        return Score(name, float(values[0]), (np.nan, np.nan), 1, **label)
    return Score.of(name, stats.mean(values), **label)


def _varies(maps: np.ndarray) -> bool:
    """Whether all can be ranked: pictures may be blank where maps are simulated."""
    return bool((np.ptp(maps.reshape(len(maps), -1), axis=1) > 0).all())


def _over_units(values: np.ndarray, concept: np.ndarray, image: np.ndarray) -> stats.Estimate:
    """Mean over concepts of their means, or over images where there are fewer than three concepts."""
    unit = concept if len(np.unique(concept)) >= 3 else image
    _, code, count = np.unique(unit, return_inverse=True, return_counts=True)
    means = np.bincount(code, values) / count
    if len(means) == 1:
        return stats.Estimate(float(means[0]), np.nan, np.nan, 1)
    return stats.mean(means)


def _without_each(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> stats.Estimate:
    """Mean over pairs. A pair counts for the concepts of both its maps, so that the interval is a jackknife over concepts."""
    left = [values[(first != code) & (second != code)] for code in np.unique(first)]
    kept = [part.mean() for part in left if len(part)]
    n, mean = len(kept), float(values.mean())
    if n < 2:
        return stats.Estimate(mean, np.nan, np.nan, 1)
    error = np.sqrt((n - 1) / n * np.square(np.array(kept) - np.mean(kept)).sum())
    reach = float(stdtrit(n - 1, 0.975) * error)
    return stats.Estimate(mean, mean - reach, mean + reach, n)


def _check_alike(people: Annotations, model: Annotations) -> None:
    if people.concepts != model.concepts or people.size != model.size:
        raise UserError(
            "Maps are compared over the same concepts, in the same order and size: bring them to one first."
        )
