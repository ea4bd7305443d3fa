"""A learner compared with people: every score of an experiment at once, and what the data cannot tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn.measures.accuracy import compare_phases, score_accuracy, score_consistency, score_speed
from exemplar.learn.measures.curves import Behaviour, Curves, Learning, Repeated, enough_sessions, repeat
from exemplar.learn.measures.individuals import complete_individuals, individuality_test, who_outperforms
from exemplar.learn.measures.mse import null_distribution, score_limits, score_mse
from exemplar.learn.measures.oneshot import (
    Generalization,
    Points,
    compare_transformations,
    generalization_null,
    score_generalization,
    score_points,
)
from exemplar.learn.outcomes import Outcome, align, same_images
from exemplar.learn.score_report import ScoreReport, estimate_values
from exemplar.learn.tasks import VARIANTS
from exemplar.records import Score

FEWEST_SESSIONS = 40  # per subtask; below, the null test cannot be trusted
TOO_NARROW = (
    "only counts over people's sessions are available: intervals and the null test leave out that sessions differ, and are too "
    "narrow"
)


def score_people(people: Learning, *, variant: str = "paper", agent: str = "human", seed: int) -> ScoreReport:
    """Experiment 1 by people alone: accuracies, speed, what a perfect model and a guesser would score, individuals."""
    enough_sessions(people)
    repeated = repeat(people, rng=seeds.rng("learn human", seed))
    scores = {**score_accuracy(repeated, agent=agent), **score_speed(repeated, agent=agent)}
    scores |= score_limits(people, repeated, variant=variant, agent=agent)
    consistency, missing = _consistency(repeated, repeated, agent)
    scores |= {name: score for name, score in consistency.items() if name == "consistency_ceiling"}
    p, rows, warnings, notes = individual_differences(people, None, seed)
    warnings = [*_too_narrow(people), *missing, *warnings]
    return ScoreReport(scores, p, rows, warnings, notes, (repeated, repeated))


def score_against_people(model: Outcome, people: Outcome, *, other_images: bool = False, seed: int) -> ScoreReport:
    """A model against people: MSE_n in both forms with its null test, accuracies, consistency, early and late.

    Curves of people mean something only for the images they saw: other images are refused unless `other_images`.
    """
    same, reason = same_images(model, people)
    if not same and not other_images:
        raise UserError(
            f"the two saw different images ({reason}), and how fast objects are learned depends on the images more than on who "
            "learns: run the model on people's images, or give --other-images to compare them anyway"
        )
    own, theirs = align(model, people)
    warnings = [] if same else [f"OTHER IMAGES: {reason}; what is compared here is not how alike the two learn"]
    if isinstance(own, Behaviour | Curves) and isinstance(theirs, Behaviour | Curves):
        report = _score_curves(own, theirs, 1 / model.n_choices, model.agent, seed)
        if not set(model.subtasks) & set(people.subtasks):
            warnings.append(
                "subtasks have no names in common and are paired in order: MSE_n and consistency say little"
            )
    elif isinstance(own, Generalization | Points) and isinstance(theirs, Generalization | Points):
        report = _score_tests(own, theirs, model.agent, seed)
    else:
        raise UserError("the two did different experiments: compare the same one")
    return replace(report, warnings=[*warnings, *report.warnings], same_images=same)


def _score_curves(own: Learning, theirs: Learning, chance: float, agent: str, seed: int) -> ScoreReport:
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
            "model": estimate_values(row.model),
            "people": estimate_values(row.people),
            "difference": estimate_values(row.difference),
            "p": row.p,
        }
        for row in compare_phases(model, people)
    ]
    found_p, found_rows, found_warnings, notes = individual_differences(theirs, own, seed)
    warnings = [*_too_narrow(theirs), *_too_few(people), *missing, *found_warnings]
    return ScoreReport(scores, {**p, **found_p}, rows + found_rows, warnings, notes, (model, people))


def _score_tests(own: Generalization | Points, theirs: Generalization | Points, agent: str, seed: int) -> ScoreReport:
    scores: dict[str, Score] = {}
    p: dict[str, float] = {}
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
    warnings = [] if p else ["only people's accuracies per test are available, so there is no null test"]
    rows = transformation_rows(own, theirs, seed)
    return ScoreReport(scores, p, rows, warnings, points=(own.points(), theirs.points()))


def transformation_rows(
    own: Generalization | Points, theirs: Generalization | Points, seed: int
) -> list[dict[str, Any]]:
    found = compare_transformations(own, theirs, rng=seeds.rng("learn transformations", seed))
    return [
        {"transformation": kind, **{what: estimate_values(estimate) for what, estimate in sides.items()}}
        for kind, sides in found.items()
    ]


def individual_differences(
    people: Learning, model: Learning | None, seed: int
) -> tuple[dict[str, float], list[dict[str, Any]], list[str], list[str]]:
    """Do people differ, and who of those that did everything beats the model: p, rows, warnings and notes; all empty where that
    cannot be asked."""
    if not isinstance(people, Behaviour) or len(np.unique(people.participant)) == len(people.participant):
        return {}, [], [], []
    try:
        individuals = complete_individuals(people)
        test = individuality_test(individuals, rng=seeds.rng("learn individuals", seed))
    except UserError as problem:
        return {}, [], [f"no test of individual differences: {problem}"], []
    rows = []
    if isinstance(model, Behaviour):
        better = who_outperforms(individuals, model)
        rows = [{"participant": name, "better than the model, p": p} for name, p in better.items()]
    note = f"{len(individuals.participants)} participants did all {len(individuals.subtasks)} subtasks"
    return {"individuals_differ": test.p}, rows, [], [note]


def _consistency(model: Repeated, people: Repeated, agent: str) -> tuple[dict[str, Score], list[str]]:
    """The scores, or none and why: with fewer than 3 subtasks, or all equally hard. Nothing else depends on them."""
    try:
        return score_consistency(model, people, agent=agent), []
    except UserError as problem:
        return {}, [f"no consistency: {problem}"]


def _too_few(people: Repeated) -> list[str]:
    fewest = int(people.curves.n_sessions.min())
    if fewest >= FEWEST_SESSIONS:
        return []
    return [
        f"people have only {fewest} sessions in some subtask: below about {FEWEST_SESSIONS} the null test rejects even the "
        "true model far more often than in 5 %, so its p says little"
    ]


def _too_narrow(people: Learning) -> list[str]:
    return [] if isinstance(people, Behaviour) else [TOO_NARROW]
