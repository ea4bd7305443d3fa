"""Two populations (in the lab and online), or two models: where and by how much they differ, with tests of no difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.errors import UserError
from exemplar.learn.benchmark import individual_differences, transformation_rows
from exemplar.learn.measures.accuracy import EARLY, N_LATE, score_accuracy, two_sided_p
from exemplar.learn.measures.curves import Behaviour, Curves, Learning, Repeated, repeat
from exemplar.learn.measures.individuals import compare_populations
from exemplar.learn.measures.oneshot import Generalization, Points
from exemplar.learn.outcomes import Outcome, align, same_images
from exemplar.learn.score_report import ScoreReport, estimate_values
from exemplar.records import Score

BY_TRIALS = (
    "only counts of one side are available: differences are tested by trials, not by participants, and p is too small"
)
FEW_SUBTASKS = (
    "fewer than 3 subtasks are shared: no consistency, and differences are tested by sessions, not by participants"
)


def compare_outcomes(first: Outcome, second: Outcome, *, other_images: bool = False, seed: int) -> ScoreReport:
    """Experiment 1: accuracies over windows of trials, the difference of each, and p of none, drawing whole participants (a
    population is made of them; a model's sessions are participants); consistency over subtasks. Experiment 2: accuracies
    and differences by transformation.
    """
    same, reason = same_images(first, second)
    if not same and not other_images:
        raise UserError(
            f"the two saw different images ({reason}), which may explain any difference: give two that saw the same, or "
            "--other-images to compare them anyway"
        )
    own, theirs = align(first, second)
    warnings = [] if same else [f"OTHER IMAGES: {reason}; a difference may be due to the images"]
    if isinstance(own, Generalization | Points) and isinstance(theirs, Generalization | Points):
        rows = [
            {"transformation": row["transformation"], "first": row["model"], "second": row["people"]}
            | {"difference": row["difference"]}
            for row in transformation_rows(own, theirs, seed)
        ]
        return ScoreReport({}, {}, rows, warnings, points=(own.points(), theirs.points()), same_images=same)
    if not isinstance(own, Behaviour | Curves) or not isinstance(theirs, Behaviour | Curves):
        raise UserError("the two did different experiments: compare the same one")
    if own.n_trials != theirs.n_trials:
        raise UserError(
            f"one has {own.n_trials} trials and the other {theirs.n_trials}: compare sessions of the same length"
        )
    sides = [repeat(side, rng=seeds.rng("learn compare", who, seed)) for who, side in enumerate((own, theirs))]
    scores, rows = _windows(own, theirs, sides[0], sides[1], seed)
    p: dict[str, float] = {"accuracy_difference": rows[0]["p"]}
    if not scores:
        warnings.append(FEW_SUBTASKS if len(own.subtasks) < 3 else BY_TRIALS)
    elif "consistency" not in scores:
        warnings.append("no consistency: all subtasks are equally hard for one side")
    for name, side in (("first", own), ("second", theirs)):
        found, *_ = individual_differences(side, None, seed)
        p |= {f"{test}_in_{name}": value for test, value in found.items()}
    return ScoreReport(scores, p, rows, warnings, curves=(sides[0], sides[1]), same_images=same)


def _windows(
    own: Learning, theirs: Learning, first: Repeated, second: Repeated, seed: int
) -> tuple[dict[str, Score], list[dict[str, Any]]]:
    """Scores over all trials, none where there are only counts or fewer than 3 subtasks; and a row per window."""
    n_trials = first.curves.n_trials
    windows = {"overall": (0, n_trials), "early": EARLY, "late": (max(n_trials - N_LATE, 0), n_trials)}
    windows |= {f"trial_{number}": (number - 1, number) for number in sorted({2, n_trials}) if number <= n_trials}
    accuracy = [score_accuracy(side) for side in (first, second)]
    scores: dict[str, Score] = {}
    rows = []
    for name, window in windows.items():
        row: dict[str, Any] = {"trials": name, "first": accuracy[0][name].json(), "second": accuracy[1][name].json()}
        if isinstance(own, Behaviour) and isinstance(theirs, Behaviour) and len(own.subtasks) >= 3:
            parts = [replace(side, correct=side.correct[:, slice(*window)]) for side in (own, theirs)]
            found, p = compare_populations(parts[0], parts[1], rng=seeds.rng("learn populations", seed))
            scores = scores or found  # the first window is the whole
            difference = found["accuracy_difference"].json()
        else:
            drawn = np.subtract(*(side.replicates.over_trials(*window).mean(axis=1) for side in (first, second)))
            gap = accuracy[0][name].value - accuracy[1][name].value
            difference, p = estimate_values(stats.interval(drawn, gap, n=first.n + second.n)), two_sided_p(drawn)
        rows.append(row | {"difference": difference, "p": p})
    return scores, rows
