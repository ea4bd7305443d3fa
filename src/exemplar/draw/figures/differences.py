"""Who differs from whom, on the page: paired differences as a table and in words, and distances beside their null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure as Plot

from exemplar.draw.figures.drawers import OF_PEOPLE, Drawers, is_own_drawers
from exemplar.draw.figures.plots import AgentStyles, error_bar
from exemplar.draw.figures.tables import list_names, required_score, words
from exemplar.draw.measures.differences import Difference
from exemplar.draw.measures.distance import P
from exemplar.draw.measures.originality import density
from exemplar.draw.pairing import CORRECTED, Differences, format_p
from exemplar.draw.scored_runs import ScoredRun
from exemplar.records import Score
from exemplar.report.figures import INK, QUIET, styled
from exemplar.report.page import Chapter, Figure
from exemplar.report.tables import Cell, Table

# score → how the first of a pair is said to differ, above and below the other
SAID = {
    "diversity": ("more diverse", "less diverse"),
    "recognizability": ("more recognizable", "less recognizable"),
    "originality": ("farther from the exemplar", "nearer to the exemplar"),
    "copy_rate": ("more often a copy", "less often a copy"),
    "distance": ("farther from {them}", "nearer to {them}"),
}


def differences_chapter(
    runs: Sequence[ScoredRun], differences: Differences, lacking: Sequence[str], styles: AgentStyles, drawers: Drawers
) -> Chapter | None:
    """Nothing of a single run without a null."""
    null = show_null(runs, styles, drawers)
    if not (differences or lacking or null):
        return None
    return Chapter(
        "Who differs from whom",
        tuple(in_words(differences, drawers)),
        [null] if null else [],
        tables=[differences_table(differences, drawers)] if differences else [],
        notes=list(lacking),
    )


def in_words(differences: Differences, drawers: Drawers = OF_PEOPLE) -> list[str]:
    """One sentence per drawer, on those after it that it differs from; and one that names the pairs which do not differ."""
    pairs: dict[tuple[str, str], list[Difference]] = {}
    for found in differences:
        pairs.setdefault((found.a, found.b), []).append(found)
    said: dict[str, dict[str, list[str]]] = {}  # drawer → how it differs → from whom
    alike = []
    for (a, b), several in pairs.items():
        if how := _said([one for one in several if one.differs], drawers):
            said.setdefault(a, {}).setdefault(how, []).append(b)
        else:
            alike.append(f"{a} and {b}")
    sentences = [
        _sentence(a, [f"{how} than {list_names(others)}" for how, others in ways.items()]) for a, ways in said.items()
    ]
    return [*sentences, *([f"No reliable difference was found between {'; '.join(alike)}."] if alike else [])]


def _sentence(agent: str, ways: Sequence[str]) -> str:
    """People are more diverse than …; they are less … than …. An agent is one, and keeps its name as it is written."""
    own = is_own_drawers(agent)
    subject, verb, again = (f"{agent[0].upper()}{agent[1:]}", "are", "they are") if own else (agent, "is", "it is")
    return f"{subject} {verb} {f'; {again} '.join(ways)}."


def _said(found: Differences, drawers: Drawers) -> str:
    """Differences of one pair: less diverse, and more recognizable (20-way and all-way)."""
    parts: dict[str, list[str]] = {}
    for one in found:
        kind = next(kind for kind in SAID if one.score.startswith(kind))
        said = SAID[kind][one.difference < 0].format(them=drawers.them)
        parts.setdefault(said, []).extend(filter(None, [words(one.score).partition(", ")[2]]))
    listed = [f"{said} ({list_names(ways)})" if ways else said for said, ways in parts.items()]
    return list_names(listed) if listed else ""


def differences_table(differences: Differences, drawers: Drawers = OF_PEOPLE) -> Table:
    """One row per pair, one column per score: a − b, its interval, and p."""
    names = list(dict.fromkeys(found.score for found in differences))
    pairs = dict.fromkeys((found.a, found.b) for found in differences)
    by_key = {(found.a, found.b, found.score): found for found in differences}
    header: list[str | Cell] = ["pair", *(Cell(words(name, drawers), number=True) for name in names)]
    rows: list[list[str | Cell]] = [
        [f"{a} − {b}", *(_cell(by_key.get((a, b, name))) for name in names)] for a, b in pairs
    ]
    small = f"First minus second, with a star where the corrected p is under .05; below, the 95 % interval. {CORRECTED}"
    return Table(header, rows, small=small, folded=f"{len(pairs)} pairs" if len(pairs) > 10 else "")


def _cell(found: Difference | None) -> Cell:
    if found is None:
        return Cell("–", number=True)
    low, high = found.ci95
    star = " *" if found.differs else ""
    p = format_p(found.p_corrected)
    small = f"{_signed(low)} to {_signed(high)}\np, corrected {p if p.startswith('<') else f'= {p}'}"
    return Cell(f"{_signed(found.difference)}{star}", found.difference, small, number=True)


def _signed(value: float) -> str:
    """With a minus that is as wide as the plus, and no sign of 0."""
    text = f"{value:+.3f}".replace("-", "−")
    return text[1:] if not float(f"{value:.3f}") else text


def show_null(runs: Sequence[ScoredRun], styles: AgentStyles, drawers: Drawers) -> Figure | None:
    """Each agent's distance to the data's drawers over those of new groups of them; None where there are none."""
    tested = [run for run in runs if len(run.null_distance) and not is_own_drawers(run.agent)]
    if not tested:
        return None
    plot = plot_null(
        {run.agent: required_score(run, drawers.distance) for run in tested},
        {run.agent: run.null_distance for run in tested},
        styles=styles,
        xlabel=words(drawers.distance, drawers),
    )
    them = drawers.them
    p = {run.agent: run.overall(P + drawers.distance) for run in tested}
    values = ", ".join(f"{agent} {format_p(score.value)}" for agent, score in p.items() if score is not None)
    caption = (
        f"Each mark is a drawer's distance to {them} with its 95 % interval, on a square-root scale, and in grey is how far "
        f"away a new group of {them} would be, 95 % of them left of the dotted line. Who is right of it is told apart from "
        f"{them}: p, the share of new groups that are at least as far away, is {values}."
    )
    return Figure.of_plot(plot, caption, name="null")


@styled
def plot_null(
    distance: Mapping[str, Score],
    null: Mapping[str, np.ndarray],
    *,
    styles: AgentStyles,
    xlabel: str = "distance to people",
) -> Plot:
    """One row per agent: the density of the null, its 95 % point, and the agent's distance with its interval.

    null: agent → (r,) distances of new groups.
    """
    agents = list(distance)
    height = 0.75 + 0.62 * len(agents)
    figure = Plot(figsize=(7.6, height))
    left = 0.03 + 0.0105 * max([8, *map(len, agents)])
    axes = figure.add_axes((left, 0.55 / height, 0.97 - left, 1 - 0.6 / height))
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
    top = max([score.ci95[1] for score in distance.values()] + [float(values.max()) for values in null.values()])
    for row, agent in enumerate(agents):
        base = len(agents) - 1 - row
        at, high = density(null[agent])
        inside = at >= 0
        axes.fill_between(
            at[inside], base, base + 0.72 * high[inside] / (high.max() or 1), color=QUIET, alpha=0.35, linewidth=0
        )
        axes.plot([np.quantile(null[agent], 0.95)] * 2, [base, base + 0.72], color=INK, linewidth=1, linestyle=":")
        score = distance[agent]
        axes.errorbar(
            score.value, base + 0.3, xerr=error_bar(score), **styles[agent], markersize=8, capsize=3, linewidth=1.5,
            markeredgecolor="white", markeredgewidth=0.8, zorder=3,
        )  # fmt: skip
    axes.set(ylim=(-0.1, len(agents)), xlim=(0, 1.04 * top), xlabel=xlabel)
    axes.set_yticks(np.arange(len(agents))[::-1] + 0.3, agents)
    axes.tick_params(axis="y", length=0)
    return figure
