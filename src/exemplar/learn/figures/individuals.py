"""Individuals: how each of them learned, smoothed by the state-space model, and how they stand beside a model."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from exemplar.learn.figures.subtasks import PAPER
from exemplar.learn.measures.individuals import Individuals
from exemplar.report.figures import ACCENT, QUIET, settled


def plot_individuals(individuals: Individuals, model: np.ndarray | None, *, model_name: str = "") -> Figure:
    """Left: smoothed learning curves of those who did all subtasks, and the model's. Right: their overall accuracies, ranked,
    with 95 % intervals over subtasks, and the model's as a line. model: (trials,) accuracy, None where there is none.
    """
    smooth, n_trials = individuals.smooth().accuracy, individuals.n_correct.shape[1]
    trial = np.arange(1, n_trials + 1)
    accuracy = individuals.accuracy.mean(axis=1)
    order = np.argsort(accuracy)
    spread = individuals.accuracy.std(axis=1, ddof=1) if individuals.accuracy.shape[1] > 1 else np.zeros(len(accuracy))
    reach = 1.96 * spread / np.sqrt(individuals.accuracy.shape[1])
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(8.6, 3.7), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for curve in smooth:
            left.plot(trial, curve, color="#5b7fa6", linewidth=0.9, alpha=0.75)
        left.plot([], [], color="#5b7fa6", linewidth=0.9, label="one participant, smoothed")
        right.errorbar(
            np.arange(1, len(order) + 1), accuracy[order], reach[order], color="#5b7fa6", marker="o", markersize=3.5,
            linestyle="", capsize=2, linewidth=1,
        )  # fmt: skip
        if model is not None:
            left.plot(trial, model, color=ACCENT, linewidth=2, label=model_name)
            right.axhline(float(model.mean()), color=ACCENT, linewidth=1.6)
        for axes in (left, right):
            axes.axhline(1 / individuals.n_choices, color=QUIET, linestyle="--", linewidth=1)
        left.set(xlabel="trial (log scale)", ylabel="accuracy over subtasks", xscale="log", ylim=(0, 1.02))
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= n_trials]
        left.set_xticks(ticks, [str(tick) for tick in ticks])
        left.minorticks_off()
        left.legend(frameon=False, loc="lower right", fontsize=9)
        right.set(xlabel="participants, from the lowest to the highest", title="over all trials")
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        return settled(figure)
