"""What a run's folder holds: every trial (`trials.npz`), scores and a figure; of scoring, everything that was printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Plot

from exemplar.files import whole_file
from exemplar.learn.figures.components import plot_components
from exemplar.learn.figures.curves import band, plot_learning, plot_tests
from exemplar.learn.figures.score_page import PAGE, name_sides, score_figures, write_score_page
from exemplar.learn.outcomes import Outcome
from exemplar.learn.running import LearnerRun, RunConfig
from exemplar.learn.score_report import ScoreReport
from exemplar.learn.scores import learning_curve
from exemplar.records import Scores
from exemplar.report.figures import as_svg, styled
from exemplar.report.how_made import how_made
from exemplar.runs import Run, open_run, plain, write_json
from exemplar.seeds import digest

FIGURE, COMPONENTS = "figure.svg", "components.svg"
REPORT = "report.json"  # everything that was printed


def write_learner_run(run: Run, config: RunConfig, done: LearnerRun, *, records: bool) -> None:
    """Every trial as arrays, scores and a figure; the same trials as a parquet table too, if records."""
    done.record.save(run.folder)
    run.save(Scores.collect(done.scores.values()))
    if records:
        run.save(done.record.table())
    chance = 1 / done.record.n_choices
    if done.repeated is not None:
        figure = plot_learning({config.name: learning_curve(done.repeated)}, chance=chance)
    else:
        points = done.outcome.tested().points()
        figure = plot_tests(points.tests, {config.name: band(points)}, chance=chance)
    _write(run.folder / FIGURE, figure)
    accuracy = done.record.correct.mean(axis=(1, 2))
    _write(run.folder / COMPONENTS, plot_components(done.placed, done.record.subtasks, accuracy))


def write_score_report(
    folder: Path,
    command: str,
    report: ScoreReport,
    sides: Sequence[Outcome],
    *,
    values: Mapping[str, Any],
    config: dict[str, Any],
    seed: int,
    places: Sequence[str | None] = (),
) -> Path:
    """A folder with everything that was printed (`report.json`), the scores, figures and a page; returns the page. places: of
    the sides, which tell them apart where their agents have one name."""
    data = {name: digest(*_content(side)) for name, side in zip(("first", "second"), sides, strict=False)}
    with open_run(folder, command=command, config=config, seed=seed, data=data) as run:
        if not run.finished:
            if report.scores:
                run.save(Scores.collect(report.scores.values()))
            write_json(run.folder / REPORT, plain(dict(values)))
            names = name_sides([side.agent for side in sides], places)
            figures = score_figures(report, names)
            write_score_page(run.folder, command, report, figures, names, how_made([run.folder]))
    return folder / PAGE


def _write(path: Path, plot: Plot) -> None:
    with whole_file(path) as part:
        part.write_text(styled(as_svg)(plot), encoding="utf-8")


def same_content(one: Outcome, other: Outcome) -> bool:
    return one.experiment == other.experiment and digest(*_content(one)) == digest(*_content(other))


def _content(side: Outcome) -> tuple[Any, ...]:
    """What a result consists of, for a digest."""
    if side.experiment == 2:
        points = side.tested().points()
        return points.accuracy, points.variance, points.tests
    curves = side.learning().curves()
    return curves.n_correct, curves.n_sessions, curves.subtasks
