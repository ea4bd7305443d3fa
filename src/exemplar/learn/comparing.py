"""Two populations (in the lab and online), or two models: where and by how much they differ, with tests of no difference."""

from __future__ import annotations

from typing import Any

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.learn.benchmark import individual_differences, transformation_rows
from exemplar.learn.measures.accuracy import score_accuracy, trial_windows
from exemplar.learn.measures.curves import Learning, Repeated, repeat, same_subtasks
from exemplar.learn.measures.individuals import compare_populations
from exemplar.learn.measures.oneshot import Tested
from exemplar.learn.outcomes import Outcome
from exemplar.learn.score_report import ScoreReport
from exemplar.learn.shared_images import SharedImages, align_learning, align_tests, share_images
from exemplar.records import Score

BY_TRIALS = (
    "only counts of one side are available: differences are tested by trials, not by participants, and p is too small"
)


def compare_outcomes(first: Outcome, second: Outcome, *, other_images: bool = False, seed: int) -> ScoreReport:
    """Experiment 1: accuracies over windows of trials, the difference of each, and p of none, drawing whole participants (a
    population is made of them; a model's sessions are participants); consistency over subtasks. Experiment 2: accuracies
    and differences by transformation.
    """
    shared = share_images(first, second)
    if not shared.same and not other_images:
        raise UserError(
            f"the two saw different images ({shared.reason}), which may explain any difference: give two that saw the same, or "
            "--other-images to compare them anyway"
        )
    warnings = shared.warnings
    if not shared.same:
        warnings = [f"OTHER IMAGES: {shared.reason}; a difference may be due to the images"]
    if first.experiment == 2:
        return _compare_tests(*align_tests(first.tested(), second.tested()), shared, warnings, seed)
    return _compare_curves(*align_learning(first.learning(), second.learning()), shared, warnings, seed)


def _compare_tests(own: Tested, theirs: Tested, shared: SharedImages, warnings: list[str], seed: int) -> ScoreReport:
    rows = [
        {"transformation": row["transformation"], "first": row["model"], "second": row["people"]}
        | {"difference": row["difference"]}
        for row in transformation_rows(own, theirs, seed)
    ]
    return ScoreReport({}, {}, rows, warnings, shared.notes, points=(own.points(), theirs.points()), shared=shared)


def _compare_curves(
    own: Learning, theirs: Learning, shared: SharedImages, warnings: list[str], seed: int
) -> ScoreReport:
    same_subtasks(own, theirs)
    sides = [repeat(side, rng=seeds.rng("learn compare", who, seed)) for who, side in enumerate((own, theirs))]
    scores, rows = _windows(own, theirs, sides[0], sides[1], seed)
    p: dict[str, float] = {"accuracy_difference": rows[0]["p"]}
    if not own.n_participants or not theirs.n_participants:
        warnings = [*warnings, BY_TRIALS]
    if "consistency" not in scores:
        reason = "fewer than 3 subtasks are shared" if len(own.subtasks) < 3 else "all are equally hard for one side"
        warnings = [*warnings, f"no consistency over subtasks: {reason}"]
    for name, side in (("first", own), ("second", theirs)):
        p |= {f"{test}_in_{name}": value for test, value in individual_differences(side, None, seed).p.items()}
    return ScoreReport(scores, p, rows, warnings, shared.notes, curves=(sides[0], sides[1]), shared=shared)


def _windows(
    own: Learning, theirs: Learning, first: Repeated, second: Repeated, seed: int
) -> tuple[dict[str, Score], list[dict[str, Any]]]:
    """Scores over all trials, and a row per window of trials."""
    n_trials = first.curves.n_trials
    windows = trial_windows(n_trials)
    accuracy = [score_accuracy(side) for side in (first, second)]
    scores: dict[str, Score] = {}
    rows = []
    for name, window in windows.items():
        parts = [side.window(*window) for side in (own, theirs)]
        found, p = compare_populations(parts[0], parts[1], rng=seeds.rng("learn populations", seed))
        scores = scores or found  # the first window is the whole
        row = {"trials": name, "first": accuracy[0][name].json(), "second": accuracy[1][name].json()}
        rows.append(row | {"difference": found["accuracy_difference"].json(), "p": p})
    return scores, rows
