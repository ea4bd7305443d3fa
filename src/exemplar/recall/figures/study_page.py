"""The page of a study: a table per task type, forgetting curves, and the Pareto figure, from its scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exemplar.recall.figures.plots import plot_forgetting, plot_pareto
from exemplar.recall.figures.words import FORGETTING_CAPTION, LEAD, PARETO_CAPTION, TERMS, macs_cell
from exemplar.recall.run_folders import PAGE
from exemplar.recall.tasks import ABOUT_TYPES, TYPES
from exemplar.records import Score
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table, format_percent
from exemplar.runs import load_scores

COLUMNS = ("accuracy", "accuracy_sd", "cross_entropy", "backward_transfer", "atm", "atm_native", "macs_task")
MEANINGS = [f"{head}: {means}" for head, means in map(TERMS.__getitem__, COLUMNS)]
BOUNDS = ("chance", "joint-oracle")


def write_study_page(folder: Path, data: str) -> Path:
    scores = load_scores(folder)
    kinds = list(dict.fromkeys(score.variant for score in scores))
    chapters = [
        _chapter(kind, [score for score in scores if score.variant == kind], [] if number else MEANINGS)
        for number, kind in enumerate(kinds)
    ]
    return write_page(
        folder / PAGE,
        f"Continual few-shot learning on {data}",
        LEAD,
        chapters,
        "scores.parquet beside this page holds every number.",
        verdict=find_verdict(scores, kinds),
        made=how_made([folder]),
    )


def find_verdict(scores: Sequence[Score], kinds: Sequence[str]) -> str:
    """The most accurate learner of each type; bounds are no learners."""
    best = [_best(scores, kind) for kind in kinds]
    each = [f"{score.agent} in {kind} ({format_percent(score)})" for kind, score in zip(kinds, best, strict=True)]
    return f"Most accurate set by set: {', '.join(each)}."


def _best(scores: Sequence[Score], kind: str) -> Score:
    asked = [score for score in scores if score.name == "accuracy" and score.variant == kind]
    streaming = [score for score in asked if score.agent not in BOUNDS and "(joint)" not in score.agent]
    return max(streaming or asked, key=lambda score: score.value)


def _chapter(kind: str, scores: Sequence[Score], notes: Sequence[str]) -> Chapter:
    agents = list(dict.fromkeys(score.agent for score in scores if score.name == "accuracy"))
    of = {(score.agent, score.name): score for score in scores if not score.concept}
    rows: list[list[str | Cell]] = [[agent, *(_cell(of.get((agent, name))) for name in COLUMNS)] for agent in agents]
    shape = TYPES[kind]
    heads: list[str | Cell] = ["agent", *(Cell(label, number=True) for label, _ in map(TERMS.__getitem__, COLUMNS))]
    sets = "1 support set" if shape.nss == 1 else f"{shape.nss} support sets"
    note = (
        f"{sets} (NSS) of {shape.ways} classes with {shape.shots} example each, {shape.n_labels} labels in all; the "
        "classes stay "
        f"for {shape.cci} in a row (CCI). 95 % intervals over tasks."
    )
    figures = []
    if shape.nss > 1:
        by_agent = {agent: [score for score in scores if score.agent == agent] for agent in agents if agent != "chance"}
        figures.append(
            Figure.of_plot(
                plot_forgetting(by_agent, chance=1 / shape.n_labels),
                FORGETTING_CAPTION,
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
            PARETO_CAPTION,
            name=f"pareto-{kind}",
        )
    )
    text = f"{ABOUT_TYPES[kind][0].upper()}{ABOUT_TYPES[kind][1:]}."
    return Chapter(kind, (text,), figures, tables=[Table(heads, rows, note)], notes=notes)


def _cell(score: Score | None) -> Cell:
    if score is None or score.n > 1:
        return Cell.of(score)
    return macs_cell(score.value)
