"""Figures of the studies of drawing: one critic against another, maps of drawings, scores along a number, rows of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from exemplar.draw.figures.plots import agent_styles, error_bar, interval, picture_at
from exemplar.records import Score
from exemplar.report.figures import ACCENT, HUES, INK, QUIET, styled


@styled
def plot_agreement(
    first: np.ndarray, second: np.ndarray, correlations: Sequence[Score], *, xlabel: str, ylabel: str
) -> Figure:
    """One dot per concept, at what one critic says and what another does, with the least-squares line.

    first, second: (k,); correlations: those of the two, written in the corner with their intervals.
    """
    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(first, second, "o", color=ACCENT, markersize=5, alpha=0.55, markeredgewidth=0)
    ends = np.array([first.min(), first.max()])
    if np.ptp(ends) > 0:
        slope, start = np.polyfit(first, second, 1)
        axes.plot(ends, start + slope * ends, color=INK, linewidth=1.3)
    said = [f"{s.name.replace('_', ' ')} {s.value:.2f}{interval(s)}" for s in correlations]
    axes.set_title("\n".join(said), loc="left", fontsize=10, color="#444")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure


@styled
def plot_map(
    places: Mapping[str, np.ndarray], concept: np.ndarray, exemplars: Mapping[str, np.ndarray] | None = None
) -> Figure:
    """Every drawing a dot in the colour of its concept, one panel per space (by t-SNE, say).

    places: panel's title → (n, 2), any scale; concept: (n,) names; exemplars: concept → (h, w) uint8 with ink 255, drawn
    in the midst of its drawings.
    """
    figure = Figure(figsize=(4.6 * len(places), 4.9), layout="constrained")
    names = list(dict.fromkeys(concept.tolist()))
    for axes, (title, place) in zip(figure.subplots(1, len(places), squeeze=False)[0], places.items(), strict=True):
        for number, name in enumerate(names):
            own = place[concept == name]
            colour = HUES[number % len(HUES)]
            axes.plot(*own.T, "o", color=colour, markersize=4, alpha=0.6, markeredgewidth=0)
            if exemplars is not None:
                x, y = np.median(own, axis=0)
                picture_at(axes, exemplars[name], (x, y), side=0.3, edge=colour)
        axes.set_title(title, fontsize=11, color="#444")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color("#e3e0d8")
    return figure


@styled
def plot_along(
    series: Mapping[str, tuple[Sequence[float], Sequence[Score]]], *, xlabel: str, ylabel: str, log: bool = False
) -> Figure:
    """Scores along a number, such as how many drawings were given: a line each, in a band that is its 95 % interval.

    series: name → where (m,), and the scores there; log: the number grows by factors.
    """
    figure = Figure(figsize=(6.4, 3.9), layout="constrained")
    axes = figure.add_subplot()
    styles = agent_styles(list(series))
    for name, (x, scores) in series.items():
        colour = styles[name]["color"]
        values = [score.value for score in scores]
        low, high = np.array([score.ci95 for score in scores]).T
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x, values, **styles[name], markersize=5, linewidth=1.7, label=name)
    axes.set(xlabel=xlabel, ylabel=ylabel, xscale="log" if log else "linear")
    ticks = sorted({float(place) for x, _ in series.values() for place in x})
    if log:
        ticks = ticks[:: -(-len(ticks) // 8)]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    if len(series) > 1:
        axes.legend(fontsize=9.5)
    return figure


@styled
def plot_rows(
    rows: Mapping[str, Sequence[Score]], *, xlabel: str, published: Mapping[str, float] | None = None, zero: bool = True
) -> Figure:
    """One line per row, its scores as dots with their intervals (one colour per agent), what others found as hollow diamonds.

    zero: the axis begins at 0, or below it where a score does.
    """
    published = published or {}
    agents = list(dict.fromkeys(score.agent for scores in rows.values() for score in scores))
    figure = Figure(figsize=(7.4, 0.42 * len(rows) + 1.1), layout="constrained")
    axes = figure.add_subplot()
    for height, (row, scores) in enumerate(reversed(list(rows.items()))):
        axes.axhline(height, color="#efece5", linewidth=6, zorder=0)
        for score in scores:
            place = agents.index(score.agent)
            shift = (0.5 - (place + 0.5) / len(agents)) * 0.5  # of several agents the first stands on top
            axes.errorbar(
                score.value, height + shift, xerr=error_bar(score), color=HUES[place % len(HUES)], marker="o", markersize=5.5,
                capsize=3, linewidth=1.5,
            )  # fmt: skip
        if row in published:
            axes.plot(published[row], height, "D", markersize=8, markerfacecolor="none", markeredgecolor=INK, zorder=4)
    for place, agent in enumerate(agents if len(agents) > 1 else ()):
        axes.plot([], [], "o", color=HUES[place % len(HUES)], label=agent)
    if published:
        axes.plot([], [], "D", markersize=8, markerfacecolor="none", markeredgecolor=INK, label="by others")
    axes.set_yticks(range(len(rows)), list(rows)[::-1])
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=xlabel, ylim=(-0.6, len(rows) - 0.4))
    if zero:
        low, high = axes.get_xlim()
        axes.set_xlim(min(0, low), max(0, high))
        axes.axvline(0, color=QUIET, linewidth=0.8)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=9.5, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


@styled
def plot_densities(densities: Mapping[str, np.ndarray], xlabel: str) -> Figure:
    """Kernel densities. densities: name → (2, places), where and how dense."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, style in agent_styles(list(densities)).items():
        where, height = densities[name]
        axes.fill_between(where, height, color=style["color"], alpha=0.13, linewidth=0)
        axes.plot(where, height, color=style["color"], linewidth=1.7, label=name)
    axes.set(xlabel=xlabel, ylabel="density", ylim=(0, None))
    axes.legend(fontsize=9.5)
    return figure
