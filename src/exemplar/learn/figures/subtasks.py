"""Subtask by subtask: every learning curve with three of them highlighted, and how hard the subtasks are for two sides."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from exemplar.learn.measures.curves import Curves, Repeated
from exemplar.learn.measures.phases import PhaseDifference
from exemplar.report.figures import ACCENT, INK, QUIET, STYLE, settled

WINDOW = 5  # trials of the moving mean; for the eye alone, no score uses it
HIGHLIGHTS = {"hardest": ACCENT, "middle": "#1f5f9e", "easiest": "#2e8b57"}
PAPER = {**STYLE, "figure.facecolor": "white", "font.size": 10, "axes.titlesize": 10.5}


def plot_subtask_curves(curves: Curves, *, chance: float) -> Figure:
    """The learning curve of every subtask by a moving mean of 5 trials, the hardest, the middle and the easiest highlighted."""
    order = np.argsort(curves.accuracy.mean(axis=1), kind="stable")
    marked = dict(zip((order[0], order[len(order) // 2], order[-1]), HIGHLIGHTS, strict=True))
    trial = np.arange(1, curves.n_trials + 1)
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        axes = figure.add_subplot()
        smooth = moving_mean(curves.accuracy)
        for place in order:
            if place not in marked:
                axes.plot(trial, smooth[place], color=QUIET, linewidth=0.6, alpha=0.6)
        for place, name in marked.items():
            label = f"{name}: {curves.subtasks[place]}"
            axes.plot(trial, smooth[place], color=HIGHLIGHTS[name], linewidth=2, label=_short(label))
        axes.axhline(chance, color=QUIET, linestyle="--", linewidth=1)
        axes.annotate("guessing", (curves.n_trials, chance), xytext=(-4, 4), textcoords="offset points",
                      color="#6a6a72", ha="right", fontsize=9)  # fmt: skip
        axes.set(xlabel="trial", ylabel="accuracy (moving mean of 5 trials)", ylim=(0, 1.02), xlim=(1, None))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_title(f"{len(order)} subtasks", loc="left")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=1, fontsize=9)
        return settled(figure)


def plot_agreement(first: Repeated, second: Repeated, names: tuple[str, str]) -> Figure:
    """The accuracy of every subtask for one side over that for the other, with 95 % intervals on both axes."""
    value = [side.curves.accuracy.mean(axis=1) for side in (first, second)]
    reach = [1.96 * side.replicates.over_trials().std(axis=0) for side in (first, second)]
    low = min(0.45, float(min(value[0].min(), value[1].min())) - 0.03)
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(4.9, 4.6), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([low, 1], [low, 1], color=QUIET, linewidth=1, linestyle=":")
        axes.errorbar(
            value[1], value[0], xerr=reach[1], yerr=reach[0], color=ACCENT, marker="o", markersize=3.5, linestyle="",
            elinewidth=0.7, ecolor="#d9b2a7",
        )  # fmt: skip
        axes.set(xlabel=f"accuracy, {names[1]}", ylabel=f"accuracy, {names[0]}", xlim=(low, 1.02), ylim=(low, 1.02))
        axes.set_title("one point per subtask; dotted: equally hard", loc="left", color="#555")
        axes.set_aspect("equal")
        return settled(figure)


def plot_levels(rows: list[PhaseDifference], names: tuple[str, str]) -> Figure:
    """Accuracy early and late on quarters of the subtasks by difficulty, side by side with 95 % intervals."""
    phases = list(dict.fromkeys(row.phase for row in rows))
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(7.4, 3.5), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(phases), sharey=True))
        for axes, phase in zip(panels, phases, strict=True):
            mine = [row for row in rows if row.phase == phase]
            x = np.arange(len(mine))
            for shift, colour, name, side in ((-0.2, ACCENT, names[0], "model"), (0.2, INK, names[1], "people")):
                found = [getattr(row, side) for row in mine]
                value = np.array([one.value for one in found])
                reach = np.maximum([value - [one.lo for one in found], [one.hi for one in found] - value], 0)
                axes.bar(x + shift, value, 0.38, color=colour, alpha=0.75, label=name)
                axes.errorbar(x + shift, value, reach, color="#333", linestyle="", capsize=2, linewidth=1)
            axes.set_xticks(x, [f"{row.level}\n{_star(row.p)}" for row in mine])
            axes.set(title="trials 1–5" if phase == "early" else "the last 6 trials", ylim=(0, 1.02))
        panels[0].set_ylabel("accuracy")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", frameon=False, ncols=2)
        return settled(figure)


def moving_mean(curves: np.ndarray, window: int = WINDOW) -> np.ndarray:
    """(subtasks, trials) → the same shape: the mean of the trials around each, fewer of them at the ends."""
    padded = np.pad(np.cumsum(curves, axis=1), ((0, 0), (1, 0)))
    trial = np.arange(curves.shape[1])
    start, stop = np.maximum(trial - window // 2, 0), np.minimum(trial + window // 2 + 1, curves.shape[1])
    mean: np.ndarray = (padded[:, stop] - padded[:, start]) / (stop - start)
    return mean


def _star(p: float) -> str:
    if np.isnan(p):
        return ""
    return "p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"
