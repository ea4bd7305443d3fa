"""A learner compared with people: every score of an experiment at once, and what the data cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from exemplar import engine, seeds
from exemplar.errors import UserError, unknown
from exemplar.learn.measures.accuracy import score_accuracy, score_ceiling, score_consistency, score_speed
from exemplar.learn.measures.calibrated import can_measure, measure_excess
from exemplar.learn.measures.curves import Curves, Learning, enough_sessions, repeat
from exemplar.learn.measures.individuals import (
    Individuals,
    complete_individuals,
    individuality_test,
    who_outperforms,
)
from exemplar.learn.measures.mse import null_distribution, score_limits, score_mse
from exemplar.learn.measures.noise import FEWEST
from exemplar.learn.measures.oneshot import (
    Tested,
    compare_transformations,
    generalization_null,
    score_generalization,
    score_points,
)
from exemplar.learn.measures.phases import PhaseDifference, compare_phases
from exemplar.learn.outcomes import Outcome
from exemplar.learn.score_report import ScoreReport, estimate_values
from exemplar.learn.shared_images import align_learning, align_tests, share_images
from exemplar.learn.tasks import VARIANTS
from exemplar.records import Score

NULL_TESTS = ("calibrated", "paper")
FEWEST_SESSIONS = 40  # per subtask; below, the paper's null test cannot be trusted
TOO_NARROW = (
    "only counts over people's sessions are available: intervals of accuracies leave out that people differ, and are too "
    "narrow"
)
BY_COUNTS = (
    "the null test takes people's sessions to be independent and to vary as the model's do, for only counts are available: "
    "where the same people did many subtasks and lapse unequally, fitting one lapse rate takes up more of their noise than "
    "counts can tell, and p is too large, never too small (true models are rejected in 3 to 5 % if lapses reach from 0 to 20 % "
    "of trials, in below 1 % if to 60 %)"
)
PHASES_BY_COUNTS = (
    "p by phase and difficulty takes people's sessions to be independent and to vary as the model's do, for only counts are "
    "available: where the same people did many subtasks, p of the model as it is comes out too small"
)
PHASES_NOTE = (
    "p by phase and difficulty: people learn as the model does, as it is or lapsing at the fitted rate; p_corrected allows for "
    "the tests in its table"
)


@dataclass(frozen=True, eq=False)
class IndividualDifferences:
    """p: of the test that people differ; rows: who beats the model; people: those who did all subtasks, None where nobody
    did.
    """

    p: dict[str, float] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    people: Individuals | None = None


def score_people(people: Learning, *, variant: str = "paper", agent: str = "human", seed: int) -> ScoreReport:
    """Experiment 1 by people alone: accuracies, speed, what a perfect model and a guesser would score, individuals."""
    enough_sessions(people)
    repeated = repeat(people, rng=seeds.rng("learn human", seed))
    scores = {**score_accuracy(repeated, agent=agent), **score_speed(repeated, agent=agent)}
    scores |= score_limits(people, repeated, variant=variant, agent=agent)
    ceiling, missing = _where_possible(lambda: score_ceiling(repeated, agent=agent), "consistency_ceiling")
    scores |= ceiling
    found = individual_differences(people, None, seed)
    warnings = [*_too_narrow(people), *missing, *found.warnings]
    return ScoreReport(
        scores, found.p, found.rows, warnings, found.notes, (repeated, repeated), individuals=found.people
    )


def score_against_people(
    model: Outcome, people: Outcome, *, other_images: bool = False, null: str = "calibrated", seed: int
) -> ScoreReport:
    """A model against people: MSE_n in both forms with its null test, accuracies, consistency, early and late.

    Curves of people mean something only for the images they saw: other images are refused unless `other_images`.
    null: "calibrated", or "paper".
    """
    if null not in NULL_TESTS:
        raise unknown("null test", null, NULL_TESTS)
    shared = share_images(model, people)
    if not shared.same and not other_images:
        raise UserError(
            f"the two saw different images ({shared.reason}), and how fast objects are learned depends on the images more than "
            "on who learns: run the model on people's images, or give --other-images to compare them anyway"
        )
    warnings = shared.warnings
    if not shared.same:
        warnings = [f"OTHER IMAGES: {shared.reason}; what is compared here is not how alike the two learn"]
    if model.experiment == 2:
        report = _score_tests(*align_tests(model.tested(), people.tested()), model.agent, seed)
    else:
        own, theirs = align_learning(model.learning(), people.learning())
        with engine.one_thread():  # sums of reals depend on their order, which the number of threads decides
            report = _score_curves(own, theirs, model.agent, null, seed)
        if not set(model.subtasks) & set(people.subtasks):
            warnings = [
                *warnings,
                "subtasks have no names in common and are paired in order: MSE_n and consistency say little",
            ]
    notes = [*shared.notes, *report.notes]
    return replace(report, warnings=[*warnings, *report.warnings], notes=notes, shared=shared)


def _score_curves(own: Learning, theirs: Learning, agent: str, null: str, seed: int) -> ScoreReport:
    model = repeat(own, rng=seeds.rng("learn score", "model", seed))
    people = repeat(theirs, rng=seeds.rng("learn score", "people", seed))
    scores: dict[str, Score] = {}
    for variant in VARIANTS:
        ending = "" if variant == "paper" else f"_{variant}"
        found = score_mse(model, people, variant=variant, agent=agent)
        limits = score_limits(theirs, people, variant=variant)
        found["random_guesser_mse_n"] = limits["random_guesser_mse_n"]
        scores |= {f"{name}{ending}": replace(score, name=f"{name}{ending}") for name, score in found.items()}
        if variant == "paper":
            scores |= {name: limits[name] for name in ("noise_floor", "root_noise_floor")}
    test = _test_null(own, theirs, scores, null, seed)
    scores |= {**score_accuracy(model, agent=agent), **score_speed(model, agent=agent)}
    consistency, missing = _where_possible(lambda: score_consistency(model, people, agent=agent), "consistency")
    scores |= consistency
    rng = seeds.rng("learn score", "phases", seed)
    phases = compare_phases(model, people, rng=rng)
    rows = _phase_rows(phases, "model")
    if scores["lapse_rate"].value > 0 and "p" in rows[0]:
        rows += _phase_rows(compare_phases(model, people, lapsing=True, rng=rng), "lapsing model")
    found_in = individual_differences(theirs, own, seed)
    warnings = [*_too_narrow(theirs), *test.warnings, *_phase_warnings(own, theirs), *missing, *found_in.warnings]
    return ScoreReport(
        scores,
        {**test.p, **found_in.p},
        rows + found_in.rows,
        warnings,
        [PHASES_NOTE, *found_in.notes],
        (model, people),
        phases=phases,
        null_test=test.name,
        individuals=found_in.people,
    )


@dataclass(frozen=True)
class NullTest:
    """name: which test was made; p: by name of the score; warnings: why not to believe it."""

    name: str
    p: dict[str, float]
    warnings: list[str]


def _test_null(own: Learning, theirs: Learning, scores: dict[str, Score], null: str, seed: int) -> NullTest:
    """Do people learn as the model does, and lapse? The test asked for, or the paper's where there is too little for it."""
    warnings = []
    if null == "calibrated":
        if can_measure(own, theirs):
            p = measure_excess(own, theirs).p
            return NullTest("calibrated", {"null": p}, [] if theirs.n_participants else [BY_COUNTS])
        warnings = [
            f"the calibrated null test needs the model's sessions, and {FEWEST} sessions or participants of each subtask on "
            "both sides; this is the paper's"
        ]
    p_of = {}
    for variant in VARIANTS:
        ending = "" if variant == "paper" else f"_{variant}"
        rng = seeds.rng("learn score", "null", variant, seed)
        errors = null_distribution(theirs, own.curves().n_sessions, variant=variant, rng=rng)
        p_of[f"null{ending}"] = errors.p(scores[f"mse_n{ending}"].value)
    return NullTest("paper", p_of, [*warnings, *_too_few(theirs)])


def _score_tests(own: Tested, theirs: Tested, agent: str, seed: int) -> ScoreReport:
    scores: dict[str, Score] = {}
    p: dict[str, float] = {}
    for variant in VARIANTS:
        ending = "" if variant == "paper" else f"_{variant}"
        rng = seeds.rng("learn score", "one-shot", variant, seed)
        found = score_generalization(own, theirs, variant=variant, agent=agent, rng=rng)
        scores |= {f"{name}{ending}": replace(score, name=f"{name}{ending}") for name, score in found.items()}
        null = generalization_null(theirs, own, variant=variant, rng=rng)
        if null is not None:
            p[f"null{ending}"] = null.p(found["mse_n"].value)
    theirs_right, scores["root_noise_floor"] = score_points(theirs, rng=seeds.rng("learn score", "limits", seed))
    scores["accuracy"] = score_points(own, agent=agent, rng=seeds.rng("learn score", "own", seed))[0]
    scores["people_accuracy"] = replace(theirs_right, name="people_accuracy")
    warnings = [] if p else ["only people's accuracies per test are available, so there is no null test"]
    rows = transformation_rows(own, theirs, seed)
    points = own.points(), theirs.points()
    return ScoreReport(scores, p, rows, warnings, points=points, null_test="paper" if p else "")


def transformation_rows(own: Tested, theirs: Tested, seed: int) -> list[dict[str, Any]]:
    found = compare_transformations(own, theirs, rng=seeds.rng("learn transformations", seed))
    return [
        {"transformation": kind, **{what: estimate_values(estimate) for what, estimate in sides.items()}}
        for kind, sides in found.items()
    ]


def individual_differences(people: Learning, model: Learning | None, seed: int) -> IndividualDifferences:
    """Do people differ, and who of those that did everything beats the model; empty where that cannot be asked."""
    if not 0 < people.n_participants < int(people.n_sessions.sum()):
        return IndividualDifferences()
    try:
        individuals = complete_individuals(people)
        test = individuality_test(individuals, rng=seeds.rng("learn individuals", seed))
    except UserError as problem:
        return IndividualDifferences(warnings=[f"no test of individual differences: {problem}"])
    rows = []
    if model is not None and len(model.session_accuracy):
        better = who_outperforms(individuals, model)
        rows = [{"participant": name, "better than the model, p": p} for name, p in better.items()]
    note = f"{len(individuals.participants)} participants did all {len(individuals.subtasks)} subtasks"
    return IndividualDifferences({"individuals_differ": test.p}, rows, [], [note], individuals)


def _where_possible(score: Callable[[], dict[str, Score]], what: str) -> tuple[dict[str, Score], list[str]]:
    """The scores, or none and why: with fewer than 3 subtasks, or all equally hard. Nothing else depends on them."""
    try:
        return score(), []
    except UserError as problem:
        return {}, [f"no {what}: {problem}"]


def _too_few(people: Learning) -> list[str]:
    fewest = int(np.min(people.n_sessions))
    if fewest >= FEWEST_SESSIONS:
        return []
    return [
        f"people have only {fewest} sessions in some subtask: below about {FEWEST_SESSIONS} the paper's null test rejects even "
        "the true model far more often than in 5 %, so its p says little"
    ]


def _phase_rows(found: list[PhaseDifference], model: str) -> list[dict[str, Any]]:
    """model: what to call that side."""
    rows = []
    for one in found:
        sides = {model: one.model, "people": one.people, "difference": one.difference}
        row: dict[str, Any] = {"phase": one.phase, "subtasks": one.level}
        row |= {name: estimate_values(side) for name, side in sides.items()}
        rows.append(row | ({"p": one.p, "p_corrected": one.p_corrected} if np.isfinite(one.p) else {}))
    return rows


def _phase_warnings(model: Learning, people: Learning) -> list[str]:
    if isinstance(model, Curves):
        return ["only counts of the model are available, so differences by phase and difficulty have no p"]
    return [] if people.n_participants else [PHASES_BY_COUNTS]


def _too_narrow(people: Learning) -> list[str]:
    return [] if people.n_participants else [TOO_NARROW]
