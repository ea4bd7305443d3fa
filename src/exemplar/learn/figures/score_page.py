"""The page of `score`, `compare` and `human`: a verdict, both sides' figures, and every number that was printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.learn.figures.curves import band, plot_learning, plot_tests
from exemplar.learn.figures.individuals import plot_individuals
from exemplar.learn.figures.subtasks import plot_agreement, plot_levels, plot_subtask_curves
from exemplar.learn.measures.curves import Repeated
from exemplar.learn.score_report import ScoreReport, format_p
from exemplar.learn.scores import learning_curve
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table, format_number, format_percent, format_range, format_score, score_table
from exemplar.stats import Estimate

PAGE = "index.html"
TITLES = {
    "learn score": "Learning new objects: {} beside {}",
    "learn compare": "Learning new objects: {} and {}",
    "learn human": "How people learned new objects",
}
LEVEL = 0.05  # below which p is told as a finding
BANDS = "Bands and bars are 95 % intervals."


def name_sides(agents: Sequence[str], places: Sequence[str | None] = ()) -> tuple[str, ...]:
    """What to call the sides: by their agents; where these are called the same, by their folders, too, or by a number."""
    if len(agents) != 2 or agents[0] != agents[1]:
        return tuple(agents)
    folders = [Path(place).name for place in places if place]
    which = folders if len(set(folders)) == 2 else ["first", "second"]
    return tuple(f"{name} ({where})" for name, where in zip(agents, which, strict=True))


def score_figures(report: ScoreReport, names: Sequence[str]) -> dict[str, Figure]:
    """The figures of a report by name; names: of its one or two sides."""
    title = "" if report.same_images else "The two saw OTHER IMAGES"
    found: dict[str, Figure] = {}
    if report.curves is not None:
        first, second = report.curves
        chance = second.curves.chance
        two = len(names) > 1
        curves = plot_learning(_curves(report, names), chance=chance, title=title)
        found["learning"] = Figure.of_plot(curves, _learning_caption(report, names), name="learning")
        if report.phases:
            found["levels"] = Figure.of_plot(
                plot_levels(report.phases, (names[0], names[1])),
                f"Early and late, on all subtasks and on quarters of them by how hard they are for {names[1]}; p is of the "
                f"hypothesis that both learn alike. {BANDS}",
                name="levels",
            )
        if two:
            agreement = plot_agreement(first, second, (names[0], names[1]))
            found["agreement"] = Figure.of_plot(
                agreement, f"How hard each subtask is for both. {BANDS}", name="agreement"
            )
        found["subtasks"] = Figure.of_plot(
            plot_subtask_curves(second.curves, chance=chance),
            f"The learning curve of every subtask, {names[-1]}; smoothed for the eye by a moving mean of 5 trials.",
            name="subtasks",
        )
        if report.individuals is not None:
            model = np.asarray(learning_curve(first).value) if two else None
            found["individuals"] = Figure.of_plot(
                plot_individuals(report.individuals, model, model_name=names[0]),
                "Those who did all subtasks: learning curves smoothed by a state-space model, and overall accuracies with 95 % "
                "intervals over subtasks." + (" The learner does not lapse here." if two else ""),
                name="individuals",
            )
    if report.points is not None:
        tests, sides = report.points[0].tests, report.points[: len(names)]
        bands = {name: band(side) for name, side in zip(names, sides, strict=True)}
        found["one-shot"] = Figure.of_plot(
            plot_tests(tests, bands, chance=1 / sides[0].n_choices, title=title),
            f"Accuracy after one view, at each level of each transformation. {BANDS}",
            name="one-shot",
        )
    return found


def write_score_page(
    folder: Path,
    command: str,
    report: ScoreReport,
    figures: Mapping[str, Figure],
    names: Sequence[str],
    made: Sequence[tuple[str, str]],
) -> Path:
    """`index.html` in the folder. names: of its one or two sides."""
    chapters = [
        Chapter("What was done" if command == "learn human" else "Both sides", figures=list(figures.values())),
        Chapter(
            "Every number",
            (ONE_SHOT if command == "learn score" and report.curves is None else NUMBERS[command],),
            tables=[*_p_table(report), *_row_tables(report), *_score_tables(report)],
            notes=[*(f"Warning: {warning}." for warning in report.warnings), *(f"{note}." for note in report.notes)],
        ),
    ]
    return write_page(
        folder / PAGE, TITLES[command].format(*names), LEADS[command].format(*names), chapters,
        "report.json beside this page holds everything it says.", verdict=find_verdict(report, names), made=made,
    )  # fmt: skip


MSE_N = (
    "MSE_n is the mean squared distance between learning curves, less what the model's finitely many sessions add; a perfect "
    "model reaches the noise floor (with the ending _hobj: 0). Lower is better, and its root is in units of accuracy. The null "
    "test asks whether people learn as the model does and lapse on a share of the trials: a small p rejects the model."
)
ONE_SHOT = (
    "MSE_n is the mean squared distance between accuracies on the tests, less what the model's finitely many sessions add; a "
    "perfect model reaches the noise floor (with the ending _hobj: 0). Lower is better, and its root is in units of accuracy. "
    "People's accuracies are corrected by their catch trials. A small p rejects the model."
)
NUMBERS = {
    "learn score": MSE_N,
    "learn compare": "Differences are the first less the second. Their tests and intervals exchange participants, or sessions, "
    "between the two, and agree; where the two are made of different things they are Welch's. Other intervals draw whole "
    "participants where these are known, else sessions, else trials.",
    "learn human": "The noise floor is the MSE_n that a perfect model of these people would still have, for there are finitely "
    "many sessions; a random guesser's MSE_n is what any model that learned something must stay below.",
}
LEADS = {
    "learn score": "Sessions of {} against those of {}, in the same subtasks, scored by the same code.",
    "learn compare": "Two records of one experiment, the first of {}, the second of {}: where they differ, with tests.",
    "learn human": "Accuracies, speed, what a perfect model and a guesser would score, and how individuals differ.",
}


def find_verdict(report: ScoreReport, names: Sequence[str] = ("The first", "the second")) -> str:
    """What was found, in a sentence."""
    if "root_mse_n" in report.scores and "null" in report.p:
        error, floor, p = report.scores["root_mse_n"], report.scores["root_noise_floor"], report.p["null"]
        told = "is rejected" if p < LEVEL else "is not rejected"
        return (
            f"{names[0]} is {format_score(error, 3)} from {names[1]} in accuracy (√MSE_n; the noise floor is "
            f"{floor.value:.3f}), and {told} as a model of them ({_say(p)})."
        )
    if "accuracy_difference" in report.scores:
        gap, p = report.scores["accuracy_difference"], report.p["accuracy_difference"]
        if p >= LEVEL:
            return (
                f"{names[0]} and {names[1]} are not told apart by their accuracy: the first less the second is "
                f"{format_score(gap, 3)} ({_say(p)})."
            )
        more, ends = ("more", gap.ci95) if gap.value >= 0 else ("less", (-gap.ci95[1], -gap.ci95[0]))
        by = f"by {abs(gap.value):.3f} [{ends[0]:.3f}, {ends[1]:.3f}] ({_say(p)})"
        return f"{names[0]} is {more} accurate than {names[1]}, {by}."
    if "accuracy" in report.scores and "root_mse_n" not in report.scores:
        overall = report.scores["accuracy"]
        return f"{format_percent(overall)} of all answers were right."
    return ""


def _say(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}"


def _curves(report: ScoreReport, names: Sequence[str]) -> dict[str, Estimate]:
    """Learning curves over subtasks: the model as it lapses first, where a lapse rate was fitted, then as it is."""
    assert report.curves is not None
    first, second = report.curves
    if len(names) == 1:
        return {names[0]: learning_curve(second)}
    lapse = report.scores.get("lapse_rate")
    if lapse is None:
        return {names[0]: learning_curve(first), names[1]: learning_curve(second)}
    return {
        f"{names[0]}, lapsing on {100 * lapse.value:.0f} % of trials": _lapsing(first, report),
        names[1]: learning_curve(second),
        f"{names[0]}, without lapses": learning_curve(first),
    }


def _lapsing(side: Repeated, report: ScoreReport) -> Estimate:
    """A model's learning curve with the lapse rate that was fitted."""
    lapse = report.scores.get("lapse_rate")
    keep, chance, curve = 1 - (lapse.value if lapse else 0.0), side.curves.chance, learning_curve(side)
    value, lo, hi = (chance + keep * (np.asarray(part) - chance) for part in (curve.value, curve.lo, curve.hi))
    return Estimate(value, lo, hi, curve.n)


def _learning_caption(report: ScoreReport, names: Sequence[str]) -> str:
    mean = "Accuracy on each trial, each subtask counting the same."
    if "lapse_rate" in report.scores:
        return f"{mean} The learner is shown with the lapse rate that suits it best, and without. {BANDS}"
    return f"{mean} {BANDS}"


def _score_tables(report: ScoreReport) -> list[Table]:
    """Every score; n says what it counts."""
    scores = list(report.scores.values())
    if not scores:
        return []
    table = score_table(scores)
    rows = [
        [*row[:-1], Cell.of_number(score.n, report.count_of(score.name))]
        for row, score in zip(table.rows, scores, strict=True)
    ]
    return [replace(table, rows=rows)]


def _p_table(report: ScoreReport) -> list[Table]:
    if not report.p:
        return []
    rows = [(report.name_test(name), Cell.of_number(p, format_p(p))) for name, p in report.p.items()]
    return [Table(("test", "p"), rows)]


def _row_tables(report: ScoreReport) -> list[Table]:
    """The comparisons, a table for each kind of row."""
    tables = []
    for header in dict.fromkeys(tuple(row) for row in report.rows):
        rows = [[_cell(value) for value in row.values()] for row in report.rows if tuple(row) == header]
        tables.append(Table([name.replace("_", " ") for name in header], rows))
    return tables


def _cell(value: Any) -> Cell:
    if isinstance(value, dict):
        lo, hi = value["ci95"]
        return Cell(format_number(value["value"]), value["value"], format_range((lo, hi)), number=True)
    if isinstance(value, float):
        return Cell.of_number(value, format_p(value))
    return Cell(str(value))
