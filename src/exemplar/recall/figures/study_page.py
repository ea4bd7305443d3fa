"""The page of a study: a table per task type, forgetting curves, and the Pareto figure, from its scores alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
PAIRED = {"accuracy_above_chance": "accuracy less chance", "joint_minus_streaming": "all sets at once less one by one"}
PAIRED_NOTE = (
    "Differences of accuracy on the same tasks, with 95 % intervals over tasks. Everyone should be above chance and lose "
    "nothing by being shown all support sets at once, which the rows called (joint) are; ewc and lwf are pretrain-tune then."
)


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
    return f"Most accurate of those shown one set at a time: {', '.join(each)}."


def _best(scores: Sequence[Score], kind: str) -> Score:
    asked = [score for score in scores if score.name == "accuracy" and score.variant == kind]
    streaming = [score for score in asked if score.agent not in BOUNDS and "(joint)" not in score.agent]
    return max(streaming or asked, key=lambda score: score.value)


def _chapter(kind: str, scores: Sequence[Score], notes: Sequence[str]) -> Chapter:
    agents = list(dict.fromkeys(score.agent for score in scores if score.name == "accuracy"))
    shown = [agent for agent in agents if not agent.endswith("(joint)")]  # in figures; the table has all
    of = {(score.agent, score.name): score for score in scores if not score.concept}
    rows: list[list[str | Cell]] = [[agent, *(_cell(of.get((agent, name))) for name in COLUMNS)] for agent in agents]
    shape = TYPES[kind]
    heads: list[str | Cell] = ["agent", *(Cell(label, number=True) for label, _ in map(TERMS.__getitem__, COLUMNS))]
    sets = "1 support set" if shape.nss == 1 else f"{shape.nss} support sets"
    note = (
        f"{sets} (NSS) of {shape.ways} classes with {shape.shots} example each, {shape.n_labels} labels in all; the classes "
        f"stay for {shape.cci} in a row (CCI). {_count_tasks([of[agent, 'accuracy'] for agent in agents])}"
    )
    figures = []
    if shape.nss > 1:
        by_agent = {agent: [score for score in scores if score.agent == agent] for agent in shown if agent != "chance"}
        figures.append(
            Figure.of_plot(
                plot_forgetting(by_agent, chance=1 / shape.n_labels),
                FORGETTING_CAPTION,
                name=f"forgetting-{kind}",
            )
        )
    pareto = plot_pareto(
        shown,
        [of[agent, "accuracy"] for agent in shown],
        [of[agent, "atm"].value for agent in shown],
        [of[agent, "macs_task"].value for agent in shown],
    )
    figures.append(
        Figure.of_plot(
            pareto,
            PARETO_CAPTION,
            name=f"pareto-{kind}",
        )
    )
    text = f"{ABOUT_TYPES[kind][0].upper()}{ABOUT_TYPES[kind][1:]}."
    tables = [Table(heads, rows, note), *_pairs(agents, of)]
    return Chapter(kind, (text,), figures, tables=tables, notes=notes)


def _count_tasks(accuracy: Sequence[Score]) -> str:
    """Over how many tasks the intervals are, and who did fewer."""
    most = max(score.n for score in accuracy)
    counts = sorted({score.n for score in accuracy if score.n < most}, reverse=True)
    fewer = [f"the first {n:,}: {', '.join(s.agent for s in accuracy if s.n == n)}" for n in counts]
    return "; ".join([f"95 % intervals over {most:,} tasks", *fewer]) + "."


def _pairs(agents: Sequence[str], of: Mapping[tuple[str, str], Score]) -> list[Table]:
    """What theory promises, on the same tasks; none where neither was measured."""
    names = [name for name in PAIRED if any((agent, name) in of for agent in agents)]
    if not names:
        return []
    rows: list[list[str | Cell]] = [
        [agent, *(Cell.of_difference(of[agent, name]) if (agent, name) in of else Cell.of(None) for name in names)]
        for agent in agents
        if any((agent, name) in of for name in names)
    ]
    heads: list[str | Cell] = ["agent", *(Cell(PAIRED[name], number=True) for name in names)]
    return [Table(heads, rows, PAIRED_NOTE)]


def _cell(score: Score | None) -> Cell:
    if score is None or score.n > 1:
        return Cell.of(score)
    return macs_cell(score.value)
