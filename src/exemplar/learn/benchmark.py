"""A learner held against people: every score of an experiment at once, and what of it the data at hand cannot tell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.errors import UserError
from exemplar.learn.measures.accuracy import compare_phases, score_accuracy, score_consistency, score_speed
from exemplar.learn.measures.curves import Behaviour, Curves, Learning, Repeated, enough_sessions, repeat
from exemplar.learn.measures.individuals import complete_individuals, individuality_test, who_outperforms
from exemplar.learn.measures.mse import noise_floor, null_distribution, score_guessing, score_mse
from exemplar.learn.measures.oneshot import (
    Generalization,
    Points,
    compare_transformations,
    generalization_null,
    interval_about,
    score_generalization,
)
from exemplar.learn.outcomes import Outcome, align, same_images
from exemplar.learn.tasks import VARIANTS
from exemplar.records import Score

FEW = 40  # sessions a subtask below which the null test cannot be trusted
NARROW = (
    "only counts of people are at hand: intervals and the null test leave out that sessions differ, and are too narrow"
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """scores: by name; p: name of a test → p; rows: comparisons, one a row; notes: what a reader must know; curves, points:
    both sides, in Experiment 1 with replicates, in 2 by test; same_images: whether both saw the same.
    """

    scores: dict[str, Score]
    p: dict[str, float] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    curves: tuple[Repeated, Repeated] | None = None
    points: tuple[Points, Points] | None = None
    same_images: bool = True


def score_people(people: Learning, *, variant: str = "paper", agent: str = "human", seed: int) -> Verdict:
    """Experiment 1 by people alone: accuracies, speed, what a perfect model and a guesser would score, individuals."""
    enough_sessions(people)
    repeated = repeat(people, rng=seeds.rng("learn human", seed))
    scores = {**score_accuracy(repeated, agent=agent), **score_speed(repeated, agent=agent)}
    scores |= score_limits(people, repeated, variant=variant, agent=agent)
    consistency, missing = _consistency(repeated, repeated, agent)
    scores |= {name: score for name, score in consistency.items() if name == "consistency_ceiling"}
    p, rows, notes = individual_differences(people, None, seed)
    return Verdict(scores, p, rows, [*_narrow(people), *missing, *notes], (repeated, repeated))


def score_limits(
    people: Learning, repeated: Repeated, *, variant: str = "paper", chance: float = 0.5, agent: str = "human"
) -> dict[str, Score]:
    """noise_floor and root_noise_floor, which a perfect model reaches (`paper`), and random_guesser_mse_n."""
    counts, n = repeated.replicates.n_correct, repeated.replicates.n_sessions[:, None]
    again = counts / n
    floors = (again * (1 - again) / (n - 1)).mean(axis=(1, 2))
    guesses = ((again - chance) ** 2).mean(axis=(1, 2)) - (floors if variant == "hobj" else 0)
    values = {"noise_floor": (noise_floor(people), floors)}
    values["random_guesser_mse_n"] = (score_guessing(people, variant, chance), guesses)
    scores = {}
    for name, (value, drawn) in values.items():
        # A resample is noisier than what it is drawn from, which moves all of them: only their spread is used.
        around = stats.interval(drawn - drawn.mean() + value, value, n=repeated.n, method="basic")
        ends = (value, around.lo, around.hi)
        scores[name] = _score(name, ends, repeated.n, agent, variant if name.startswith("random") else "")
        if name == "noise_floor":
            root = [float(np.sqrt(max(end, 0))) for end in ends]
            scores["root_noise_floor"] = _score("root_noise_floor", root, repeated.n, agent, "")
    return scores


def score_points(
    side: Points | Generalization, *, agent: str = "human", rng: np.random.Generator
) -> tuple[Score, Score]:
    """Experiment 2: accuracy over all tests; and root_noise_floor, the error a perfect model of this side would have left."""
    points, drawn = side.points(), side.resample(1000, rng)[0].mean(axis=1)
    value, n = float(points.accuracy.mean()), len(points.tests)
    around = interval_about(drawn, value, n=n)
    floor = float(np.sqrt(points.variance.mean()))
    floors = np.sqrt(points.variance[rng.integers(0, n, (1000, n))].mean(axis=1))
    ends = stats.interval(floors, floor, n=n)
    return (
        _score("accuracy", (value, around.lo, around.hi), n, agent, ""),
        _score("root_noise_floor", (floor, ends.lo, ends.hi), n, agent, ""),
    )


def judge(model: Outcome, people: Outcome, *, other_images: bool = False, seed: int) -> Verdict:
    """A model against people: MSE_n in both forms with its null test, accuracies, consistency, early and late.

    Curves of people mean something only for the images they saw: other images are refused unless `other_images`.
    """
    same, reason = same_images(model, people)
    if not same and not other_images:
        raise UserError(
            f"these were not the same images ({reason}), and how fast objects are learned depends on them more than on who "
            "learns: run the model on people's images, or give --other-images to compare all the same"
        )
    own, theirs = align(model, people)
    notes = [] if same else [f"OTHER IMAGES: {reason}; what is compared here is not how alike the two learn"]
    if isinstance(own, Behaviour | Curves) and isinstance(theirs, Behaviour | Curves):
        verdict = _judge_curves(own, theirs, 1 / model.n_choices, model.agent, seed)
        if not set(model.subtasks) & set(people.subtasks):
            notes.append("subtasks have no names in common and are paired in order: MSE_n and consistency say little")
    elif isinstance(own, Generalization | Points) and isinstance(theirs, Generalization | Points):
        verdict = _judge_points(own, theirs, model.agent, seed)
    else:
        raise UserError("the two are of different experiments: compare the same one")
    return replace(verdict, notes=[*notes, *verdict.notes], same_images=same)


def _judge_curves(own: Learning, theirs: Learning, chance: float, agent: str, seed: int) -> Verdict:
    model = repeat(own, rng=seeds.rng("learn score", "model", seed))
    people = repeat(theirs, rng=seeds.rng("learn score", "people", seed))
    scores: dict[str, Score] = {}
    p: dict[str, float] = {}
    for variant in VARIANTS:
        ending = "" if variant == "paper" else f"_{variant}"
        found = score_mse(model, people, variant=variant, chance=chance, agent=agent)
        limits = score_limits(theirs, people, variant=variant, chance=chance)
        found["random_guesser_mse_n"] = limits["random_guesser_mse_n"]
        scores |= {f"{name}{ending}": replace(score, name=f"{name}{ending}") for name, score in found.items()}
        null = null_distribution(
            theirs,
            model.curves.n_sessions,
            variant=variant,
            chance=chance,
            rng=seeds.rng("learn score", "null", variant, seed),
        )
        p[f"null{ending}"] = null.p(found["mse_n"].value)
        if variant == "paper":
            scores |= {name: limits[name] for name in ("noise_floor", "root_noise_floor")}
    accuracy = score_accuracy(model, agent=agent)
    scores |= {"accuracy": replace(accuracy.pop("overall"), name="accuracy"), **accuracy}
    scores |= score_speed(model, agent=agent)
    consistency, missing = _consistency(model, people, agent)
    scores |= consistency
    rows = [
        {
            "phase": row.phase,
            "subtasks": row.level,
            "model": as_json(row.model),
            "people": as_json(row.people),
            "difference": as_json(row.difference),
            "p": row.p,
        }
        for row in compare_phases(model, people)
    ]
    found_p, found_rows, found_notes = individual_differences(theirs, own, seed)
    notes = [*_narrow(theirs), *_few(people), *missing, *found_notes]
    return Verdict(scores, {**p, **found_p}, rows + found_rows, notes, (model, people))


def _judge_points(own: Generalization | Points, theirs: Generalization | Points, agent: str, seed: int) -> Verdict:
    scores: dict[str, Score] = {}
    p: dict[str, float] = {}
    notes = []
    for variant in VARIANTS:
        ending = "" if variant == "paper" else f"_{variant}"
        rng = seeds.rng("learn score", "one-shot", variant, seed)
        found = score_generalization(own, theirs, variant=variant, agent=agent, rng=rng)
        scores |= {f"{name}{ending}": replace(score, name=f"{name}{ending}") for name, score in found.items()}
        if isinstance(theirs, Generalization) and isinstance(own, Generalization):
            null = generalization_null(theirs, len(own), variant=variant, rng=rng)
            p[f"null{ending}"] = null.p(found["mse_n"].value)
    theirs_right, scores["root_noise_floor"] = score_points(theirs, rng=seeds.rng("learn score", "limits", seed))
    scores["accuracy"] = score_points(own, agent=agent, rng=seeds.rng("learn score", "own", seed))[0]
    scores["people_accuracy"] = replace(theirs_right, name="people_accuracy")
    if not p:
        notes.append("only points of people are at hand, so there is no null test")
    return Verdict(scores, p, transformation_rows(own, theirs, seed), notes, points=(own.points(), theirs.points()))


def transformation_rows(
    own: Generalization | Points, theirs: Generalization | Points, seed: int
) -> list[dict[str, Any]]:
    found = compare_transformations(own, theirs, rng=seeds.rng("learn transformations", seed))
    return [
        {"transformation": kind, **{what: as_json(estimate) for what, estimate in sides.items()}}
        for kind, sides in found.items()
    ]


def individual_differences(
    people: Learning, model: Learning | None, seed: int
) -> tuple[dict[str, float], list[dict[str, Any]], list[str]]:
    """Do people differ, and who of those that did everything beats the model; nothing where that cannot be asked."""
    if not isinstance(people, Behaviour) or len(np.unique(people.participant)) == len(people.participant):
        return {}, [], []
    try:
        individuals = complete_individuals(people)
        test = individuality_test(individuals, rng=seeds.rng("learn individuals", seed))
    except UserError as problem:
        return {}, [], [f"no test of individual differences: {problem}"]
    rows = []
    if isinstance(model, Behaviour):
        better = who_outperforms(individuals, model)
        rows = [{"participant": name, "better than the model, p": p} for name, p in better.items()]
    note = f"{len(individuals.participants)} participants did all {len(individuals.subtasks)} subtasks"
    return {"individuals_differ": test.p}, rows, [note]


def _consistency(model: Repeated, people: Repeated, agent: str) -> tuple[dict[str, Score], list[str]]:
    """The scores, or none and why: with fewer than 3 subtasks, or all equally hard. Nothing else depends on them."""
    try:
        return score_consistency(model, people, agent=agent), []
    except UserError as problem:
        return {}, [f"no consistency: {problem}"]


def _few(people: Repeated) -> list[str]:
    fewest = int(people.curves.n_sessions.min())
    if fewest >= FEW:
        return []
    return [
        f"people have only {fewest} sessions in some subtask: below about {FEW} the null test rejects even the true model far "
        "more often than in 5 %, so its p says little"
    ]


def _narrow(people: Learning) -> list[str]:
    return [] if isinstance(people, Behaviour) else [NARROW]


def as_json(estimate: stats.Estimate) -> dict[str, Any]:
    return {"value": float(estimate.value), "ci95": [float(estimate.lo), float(estimate.hi)], "n": int(estimate.n)}


def _score(name: str, ends: Any, n: int, agent: str, variant: str) -> Score:
    value, lo, hi = (float(end) for end in ends)
    return Score(name, value, (lo, hi), n, agent=agent, variant=variant)
