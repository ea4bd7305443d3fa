"""Forgetting curves, memory over a task, and accuracy against memory and computation with its Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from exemplar.recall.meters.atm import across_task_memory
from exemplar.recall.scores import pareto_front
from exemplar.records import Score
from exemplar.report.figures import ACCENT, HUES, QUIET, styled

MARKS = "osD^vP*X<>hd"
MOST_LINES = 7  # in a panel


@styled
def plot_forgetting(by_agent: Mapping[str, Sequence[Score]], *, chance: float) -> Figure:
    """Accuracy on each support set's targets after the last set, a line per agent, so many in a panel as can be told apart."""
    names = list(by_agent)
    n_panels = max(1, -(-len(names) // MOST_LINES))
    each = -(-len(names) // n_panels)
    n = max(sum(s.name == "accuracy_of_set" for s in scores) for scores in by_agent.values()) or 1
    figure = Figure(figsize=(6.4, 3.6 if n_panels == 1 else 2.9 * n_panels), layout="constrained")
    for panel, axes in enumerate(np.atleast_1d(figure.subplots(n_panels, 1, sharex=True))):
        mine = names[panel * each : (panel + 1) * each]
        for k, agent in enumerate(mine):
            scores = by_agent[agent]
            sets = [score for score in scores if score.name == "accuracy_of_set"] or [
                s for s in scores if s.name == "accuracy"
            ]
            value, low, high = (np.array(part) for part in zip(*((s.value, *s.ci95) for s in sets), strict=True))
            x = np.arange(1, len(sets) + 1) + 0.025 * (k - (len(mine) - 1) / 2)
            axes.errorbar(x, value, yerr=[value - low, high - value], **marked(panel * each + k), markersize=5, capsize=2,
                          linewidth=1.4, label=agent)  # fmt: skip
        axes.axhline(chance, color=QUIET, linestyle="--", linewidth=1, label="" if "chance" in by_agent else "chance")
        axes.set(ylabel="accuracy at the end", ylim=(0, 1.02), xticks=range(1, n + 1), xlim=(0.7, n + 0.3))
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9)
    axes.set_xlabel("support set, in the order shown")
    return figure


def marked(k: int) -> dict[str, Any]:
    """Colour and mark of the k-th agent: no two have both in common."""
    return {"color": HUES[k % len(HUES)], "marker": MARKS[(k + k // len(HUES)) % len(MARKS)]}


@styled
def plot_memory(bits: np.ndarray, n_images: int, image_shape: tuple[int, ...]) -> Figure:
    """What was kept after each support set, as a share of the bits of all images."""
    figure = Figure(figsize=(5.0, 2.8), layout="constrained")
    axes = figure.add_subplot()
    share = [across_task_memory(one, n_images, image_shape) for one in bits]
    axes.bar(range(1, len(share) + 1), share, color=ACCENT, width=0.6)
    axes.set(xlabel="after support set", ylabel="memory kept (ATM)", xticks=range(1, len(share) + 1))
    return figure


@styled
def plot_pareto(
    agents: Sequence[str], accuracy: Sequence[Score], atm: Sequence[float], macs: Sequence[float]
) -> Figure:
    """Accuracy against memory and against computation; learners that nobody beats in all three are filled. Bounds, which are
    shown all sets at once, are no learners that could be beaten."""
    front = learners_on_front(agents, [score.value for score in accuracy], atm, macs)
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, costs in zip(panels, (atm, macs), strict=True):
        for k, score in enumerate(accuracy):
            look = marked(k)
            reach = [[score.value - score.ci95[0]], [score.ci95[1] - score.value]]
            axes.errorbar(
                costs[k], score.value, yerr=reach, **look, markersize=8, capsize=2, linestyle="none",
                markerfacecolor=look["color"] if front[k] else "none",
                label=f"{agents[k]}{' (front)' if front[k] else ''}",
            )  # fmt: skip
        axes.set_ylim(0, 1.02)
    panels[0].set_xscale("symlog", linthresh=1e-2)
    panels[0].axvline(1, color=QUIET, linestyle="--", linewidth=1)
    panels[0].set_xlabel("across-task memory (ATM, float32; 1 is all images)")
    _ticks(panels[0], atm, [value for value in (0, 0.01, 0.1, 1, 10, 100) if value <= 3 * max(*atm, 1)], "{:g}")
    panels[1].set_xscale("symlog", linthresh=1e6)
    panels[1].set_xlabel("MACs per task, in millions")
    _ticks(
        panels[1],
        macs,
        [value for value in (0, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11) if value <= 3 * max(*macs, 1e6)],
        "{:,.0f}",
        1e-6,
    )
    panels[0].set_ylabel("accuracy")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=9)
    return figure


def learners_on_front(agents: Sequence[str], accuracy: Sequence[float], *costs: Sequence[float]) -> list[bool]:
    """Which continual learners are on the Pareto front of these; bounds never are."""
    place = [k for k, agent in enumerate(agents) if agent != "joint-oracle" and not agent.endswith("(joint)")]
    best = pareto_front([accuracy[k] for k in place], *([cost[k] for k in place] for cost in costs))
    chosen = {k for k, on_front in zip(place, best, strict=True) if on_front}
    return [k in chosen for k in range(len(agents))]


def _ticks(axes: Any, values: Sequence[float], places: Sequence[float], form: str, unit: float = 1) -> None:
    axes.set_xticks(places, [form.format(place * unit) for place in places])
    axes.set_xlim(-0.3 * places[1], max(3 * places[-1], 2 * max(values)))
    axes.xaxis.set_minor_locator(NullLocator())
