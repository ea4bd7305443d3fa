"""Forgetting curves, memory over a task, and accuracy against memory and computation with its Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from exemplar.recall.meters.atm import across_task_memory
from exemplar.recall.scores import pareto_front
from exemplar.records import Score
from exemplar.report.figures import ACCENT, HUES, QUIET, as_svg, styled

MARKS = "osD^vP*X<>hd"


@styled
def plot_forgetting(by_agent: Mapping[str, Sequence[Score]], *, chance: float) -> str:
    """Accuracy on each support set's targets after the last set, a line per agent, as SVG."""
    figure = Figure(figsize=(6.4, 3.6 + 0.1 * max(0, len(by_agent) - 6)), layout="constrained")
    axes = figure.add_subplot()
    for k, (agent, scores) in enumerate(by_agent.items()):
        sets = [score for score in scores if score.name == "accuracy_of_set"] or [
            s for s in scores if s.name == "accuracy"
        ]
        value, low, high = (np.array(part) for part in zip(*((s.value, *s.ci95) for s in sets), strict=True))
        x = np.arange(1, len(sets) + 1) + 0.012 * (k - len(by_agent) / 2)
        axes.errorbar(x, value, yerr=[value - low, high - value], color=HUES[k % len(HUES)], marker=MARKS[k % len(MARKS)],
                      markersize=5, capsize=2, linewidth=1.4, label=agent)  # fmt: skip
    axes.axhline(chance, color=QUIET, linestyle="--", linewidth=1)
    n = max(sum(s.name == "accuracy_of_set" for s in scores) for scores in by_agent.values()) or 1
    axes.set(xlabel="support set, in the order shown", ylabel="accuracy at the end", ylim=(0, 1.02), xticks=range(1, n + 1),
             xlim=(0.7, n + 0.3))  # fmt: skip
    axes.annotate("chance", (0.72, chance), textcoords="offset points", xytext=(0, 3), color=QUIET)
    if len(by_agent) > 1:
        figure.legend(loc="outside right upper", fontsize=9)
    return as_svg(figure)


@styled
def plot_memory(bits: np.ndarray, n_images: int, image_shape: tuple[int, ...]) -> str:
    """What was kept after each support set, as a share of the bits of all images."""
    figure = Figure(figsize=(5.0, 2.8), layout="constrained")
    axes = figure.add_subplot()
    share = [across_task_memory(one, n_images, image_shape) for one in bits]
    axes.bar(range(1, len(share) + 1), share, color=ACCENT, width=0.6)
    axes.set(xlabel="after support set", ylabel="memory kept (ATM)", xticks=range(1, len(share) + 1))
    return as_svg(figure)


@styled
def plot_pareto(agents: Sequence[str], accuracy: Sequence[Score], atm: Sequence[float], macs: Sequence[float]) -> str:
    """Accuracy against memory and against computation; agents that nobody beats in all three are filled and named in bold."""
    best = pareto_front([score.value for score in accuracy], atm, macs)
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, costs, label in zip(
        panels, (atm, macs), ("across-task memory (ATM, float32)", "MACs of a task"), strict=True
    ):
        for k, score in enumerate(accuracy):
            colour = HUES[k % len(HUES)]
            axes.errorbar(max(costs[k], 1e-4), score.value, yerr=[[score.value - score.ci95[0]], [score.ci95[1] - score.value]],
                          color=colour, marker=MARKS[k % len(MARKS)], markersize=8, capsize=2, linestyle="none",
                          markerfacecolor=colour if best[k] else "none",
                          label=f"{agents[k]}{' (front)' if best[k] else ''}")  # fmt: skip
        if label.startswith("MACs"):
            axes.set_xscale("symlog", linthresh=1e5)
        else:
            axes.set_xscale("symlog", linthresh=1e-2)
            axes.axvline(1, color=QUIET, linestyle="--", linewidth=1)
        axes.set(xlabel=label, ylim=(0, 1.02))
    panels[0].set_ylabel("accuracy")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=9)
    return as_svg(figure)
