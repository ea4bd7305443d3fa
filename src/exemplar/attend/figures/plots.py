"""Figures of scores: how people's annotations correlate, how near models come, and how sparse each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from exemplar.attend.figures.overlays import short_name
from exemplar.records import Score
from exemplar.report.figures import ACCENT, HUES, INK, QUIET, styled


@styled
def plot_reliability(within: np.ndarray, between: np.ndarray) -> Figure:
    """Spearman's r of random pairs of participants: annotations of one image, and of different images (S.2)."""
    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    axes = figure.add_subplot()
    edges = np.linspace(-1, 1, 41).tolist()
    for r, colour, label in ((between, QUIET, "different images"), (within, ACCENT, "the same image")):
        if len(r):
            axes.hist(r, edges, density=True, color=colour, alpha=0.65, label=f"{label}: mean {r.mean():.2f}")
    axes.set(xlabel="Spearman's r of two participants", ylabel="density", xlim=(-1, 1))
    axes.legend(fontsize=9)
    return figure


@styled
def plot_agreement(scores: Sequence[Score], ceiling: Score | None) -> Figure:
    """A row per model: Spearman's r with people, and after ink is taken out, with 95 % intervals; the ceiling is a
    dashed line."""
    models = list(dict.fromkeys(score.agent for score in scores if score.name == "spearman"))
    figure = Figure(figsize=(6.0, 1.2 + 0.45 * len(models)), layout="constrained")
    axes = figure.add_subplot()
    for offset, (name, colour, label) in zip(
        (0.12, -0.12),
        (("spearman", ACCENT, "as they are"), ("spearman_after_ink", INK, "after ink is taken out")),
        strict=True,
    ):
        found = {score.agent: score for score in scores if score.name == name}
        for row, model in enumerate(models):
            if model in found:
                score, place = found[model], len(models) - 1 - row + offset
                if np.isfinite(score.ci95[0]):
                    axes.plot(score.ci95, (place, place), color=colour, linewidth=1.6)
                axes.plot(score.value, place, "o", color=colour, label=label if row == 0 else None)
    axes.axvline(0, color=QUIET, linewidth=1)
    if ceiling is not None:
        axes.axvline(ceiling.value, color=QUIET, linestyle="--", linewidth=1, label="ceiling")
    axes.set(yticks=range(len(models)), yticklabels=[short_name(model, 30) for model in reversed(models)])
    axes.set(xlabel="Spearman's r, mean over concepts", ylim=(-0.6, len(models) - 0.4))
    axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


@styled
def plot_paired(values: Mapping[str, np.ndarray], ylabel: str) -> Figure:
    """A dot per concept and a line to the same concept of the next agent: agent → (k,) values."""
    agents = list(values)
    figure = Figure(figsize=(1.6 + 1.3 * len(agents), 3.2), layout="constrained")
    axes = figure.add_subplot()
    table = np.stack([values[agent] for agent in agents])
    axes.plot(range(len(agents)), table, color=QUIET, linewidth=0.7, alpha=0.6, zorder=1)
    for place, row in enumerate(table):
        axes.scatter([place] * len(row), row, s=14, color=HUES[place % len(HUES)], zorder=2)
        axes.plot([place - 0.16, place + 0.16], [row.mean()] * 2, color=INK, linewidth=2, zorder=3)
    axes.set(xticks=range(len(agents)), xticklabels=[short_name(agent, 20) for agent in agents], ylabel=ylabel)
    axes.set_xlim(-0.5, len(agents) - 0.5)
    return figure
