"""The page of a study: a table per task type, forgetting curves, and the Pareto figure, from its scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exemplar.recall.figures.plots import plot_forgetting, plot_pareto
from exemplar.recall.run_folders import ABOUT, LEAD, PAGE
from exemplar.recall.tasks import ABOUT_TYPES, TYPES
from exemplar.records import Score
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table
from exemplar.runs import load_scores

COLUMNS = {
    "accuracy": "accuracy",
    "accuracy_sd": "sd over tasks",
    "cross_entropy": "cross-entropy (nats)",
    "backward_transfer": "backward transfer",
    "atm": "ATM",
    "atm_native": "ATM, native bits",
    "macs_task": "MACs",
}
BOUNDS = ("chance", "joint-oracle")


def write_study_page(folder: Path, data: str) -> Path:
    scores = load_scores(folder)
    kinds = list(dict.fromkeys(score.variant for score in scores))
    chapters = [_chapter(kind, [score for score in scores if score.variant == kind]) for kind in kinds]
    best = _best(scores, kinds[-1])
    lead = Chapter("What the numbers mean", (ABOUT,))
    return write_page(
        folder / PAGE,
        f"Continual few-shot learning on {data}",
        LEAD,
        [*chapters, lead],
        "scores.parquet beside this page holds every number.",
        verdict=f"In {kinds[-1]}, {best.agent} names the most targets set by set: {100 * best.value:.1f} %.",
        made=how_made([folder]),
    )


def _best(scores: Sequence[Score], kind: str) -> Score:
    asked = [score for score in scores if score.name == "accuracy" and score.variant == kind]
    streaming = [score for score in asked if score.agent not in BOUNDS and "(joint)" not in score.agent]
    return max(streaming or asked, key=lambda score: score.value)


def _chapter(kind: str, scores: Sequence[Score]) -> Chapter:
    agents = list(dict.fromkeys(score.agent for score in scores if score.name == "accuracy"))
    of = {(score.agent, score.name): score for score in scores if not score.concept}
    rows: list[list[str | Cell]] = [[agent, *(_cell(of.get((agent, name))) for name in COLUMNS)] for agent in agents]
    shape = TYPES[kind]
    heads: list[str | Cell] = ["agent", *(Cell(label, number=True) for label in COLUMNS.values())]
    note = f"NSS {shape.nss}, CCI {shape.cci}, {shape.ways} ways, {shape.shots} shot, {shape.n_labels} labels."
    figures = []
    if shape.nss > 1:
        by_agent = {agent: [score for score in scores if score.agent == agent] for agent in agents if agent != "chance"}
        figures.append(
            Figure.of_plot(
                plot_forgetting(by_agent, chance=1 / shape.n_labels),
                "Accuracy on each support set's targets after the last set: what falls to the left was forgotten.",
                name=f"forgetting-{kind}",
            )
        )
    pareto = plot_pareto(
        agents,
        [of[agent, "accuracy"] for agent in agents],
        [of[agent, "atm"].value for agent in agents],
        [of[agent, "macs_task"].value for agent in agents],
    )
    figures.append(
        Figure.of_plot(
            pareto,
            "Accuracy against memory kept and MACs of a task; nobody beats the filled ones in all three.",
            name=f"pareto-{kind}",
        )
    )
    text = f"{ABOUT_TYPES[kind][0].upper()}{ABOUT_TYPES[kind][1:]}."
    return Chapter(kind, (text,), figures, tables=[Table(heads, rows, note)])


def _cell(score: Score | None) -> Cell:
    if score is None or score.n > 1:
        return Cell.of(score)
    return Cell.of_number(score.value, f"{score.value / 1e6:,.1f} M" if score.value >= 1e5 else f"{score.value:,.0f}")
