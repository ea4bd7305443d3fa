"""What a run's folder holds: who did what (`behaviour.npz`), scores, a figure, and every trial where that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from exemplar.files import whole_file
from exemplar.learn.features import Features
from exemplar.learn.figures.curves import plot_learning, plot_tests
from exemplar.learn.measures.oneshot import Generalization, Points
from exemplar.learn.outcomes import Outcome, save_outcome
from exemplar.learn.running import LearnerRun, RunConfig
from exemplar.learn.score_report import ScoreReport
from exemplar.learn.scores import learning_curve
from exemplar.learn.trials import trials_of
from exemplar.records import Scores
from exemplar.runs import Run, open_run
from exemplar.seeds import digest
from exemplar.stats import Estimate

FIGURE = "figure.svg"


def write_learner_run(run: Run, config: RunConfig, features: Features, done: LearnerRun, *, records: bool) -> None:
    """One bit per trial, scores, a figure, and Trials if records."""
    save_outcome(run.folder, done.outcome)
    run.save(Scores.collect(done.scores.values()))
    if records and features.image is not None and features.subtasks is not None:
        run.save(
            trials_of(done.choice, done.sessions, agent=config.name, subtasks=features.subtasks, image=features.image)
        )
    chance = 1 / done.sessions.n_choices
    if done.repeated is not None:
        figure = plot_learning({config.name: learning_curve(done.repeated)}, chance=chance)
    elif isinstance(done.outcome.result, Generalization):
        points = done.outcome.result.points()
        figure = plot_tests(points.tests, {config.name: _band(points)}, chance=chance)
    _write(run.folder / FIGURE, figure)


def write_score_report(
    folder: Path,
    command: str,
    report: ScoreReport,
    sides: tuple[Outcome, Outcome],
    *,
    config: dict[str, Any],
    seed: int,
) -> None:
    """A folder with the scores and a figure of both sides."""
    data = {name: digest(*_content(side)) for name, side in zip(("first", "second"), sides, strict=True)}
    names = [side.agent for side in sides]
    if names[0] == names[1]:
        names = [f"{name} ({which})" for name, which in zip(names, ("first", "second"), strict=True)]
    with open_run(folder, command=command, config=config, seed=seed, data=data) as run:
        if run.finished:
            return
        if report.scores:
            run.save(Scores.collect(report.scores.values()))
        chance, title = 1 / sides[0].n_choices, "" if report.same_images else "The two saw OTHER IMAGES"
        if report.curves is not None:
            curves = {name: learning_curve(side) for name, side in zip(names, report.curves, strict=True)}
            _write(run.folder / FIGURE, plot_learning(curves, chance=chance, title=title))
        elif report.points is not None:
            tests = report.points[0].tests
            bands = {name: _band(side) for name, side in zip(names, report.points, strict=True)}
            _write(run.folder / FIGURE, plot_tests(tests, bands, chance=chance, title=title))


def _write(path: Path, text: str) -> None:
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def _band(points: Points) -> Estimate:
    """Accuracies with intervals of two standard errors."""
    reach = 1.96 * np.sqrt(points.variance)
    lo, hi = np.clip(points.accuracy - reach, 0, 1), np.clip(points.accuracy + reach, 0, 1)
    return Estimate(points.accuracy, lo, hi, len(points.tests))


def _content(side: Outcome) -> tuple[Any, ...]:
    """What a result consists of, for a digest."""
    result = side.result
    if isinstance(result, Generalization | Points):
        points = result.points()
        return points.accuracy, points.variance, points.tests
    curves = result.curves()
    return curves.n_correct, curves.n_sessions, curves.subtasks
