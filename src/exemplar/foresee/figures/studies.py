"""Figures of studies: correlations along an axis, rates of thresholds, accuracy after labelling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure as Plot

from exemplar.foresee.indicators import MEASURES
from exemplar.foresee.labelling import POLICIES
from exemplar.foresee.studies.curves import Curve
from exemplar.foresee.studies.labelling import IN_ROUNDS
from exemplar.records import Score
from exemplar.report.figures import HUES, INK, QUIET, styled
from exemplar.report.tables import score_words

COLOURS = dict(zip(MEASURES, (*HUES, *HUES), strict=False))
HIDDEN = ("confidence_log",)  # the same curve as confidence, upside down


@styled
def plot_curves(curves: Sequence[Curve]) -> Plot:
    """Correlations in the direction a measure was meant to have; below, the accuracies behind them (Figure A1)."""
    plot = Plot(figsize=(3.3 * len(curves) + 2.2, 5.4), layout="constrained")
    axes = plot.subplots(2, len(curves), height_ratios=(2.2, 1), sharex="col", sharey="row", squeeze=False)
    for column, curve in enumerate(curves):
        top, bottom = axes[0, column], axes[1, column]
        x = [point.x for point in curve.panel.points]
        names = [name for name in MEASURES if any(name in one.pearson for one in curve.found) and name not in HIDDEN]
        for name in names:
            known = [(at, one.pearson[name]) for at, one in zip(x, curve.found, strict=True) if name in one.pearson]
            better = MEASURES[name].better
            value = [better * score.value for _, score in known]
            ends = np.sort(np.array([[better * end for end in score.ci95] for _, score in known]), axis=1)
            style = "-" if MEASURES[name].paper else "--"
            top.plot(
                [at for at, _ in known],
                value,
                style,
                marker="o",
                markersize=4,
                color=COLOURS[name],
                label=score_words(name),
            )
            top.fill_between(
                [at for at, _ in known], ends[:, 0], ends[:, 1], color=COLOURS[name], alpha=0.08, linewidth=0
            )
        bounds = [(at, one.ceiling) for at, one in zip(x, curve.found, strict=True) if one.ceiling is not None]
        if bounds:
            top.plot(*zip(*bounds, strict=True), ":", color=QUIET, label="noise ceiling")
        top.axhline(0, color=QUIET, linewidth=0.8)
        top.set(title=curve.panel.title, ylim=(-0.5, 1.02))
        means = [one.performance for one in curve.found]
        bottom.plot(x, [mean.value for mean in means], "-o", color=INK, markersize=4)
        bottom.fill_between(
            x, [m.ci95[0] for m in means], [m.ci95[1] for m in means], color=INK, alpha=0.12, linewidth=0
        )
        bottom.set(xlabel=curve.panel.axis, ylim=(0, 1.02))
    axes[0, 0].set_ylabel("correlation, as meant")
    axes[1, 0].set_ylabel(curves[0].found[0].performance.name.replace("_", " "))
    handles = {
        label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    plot.legend(handles.values(), handles.keys(), loc="outside right upper", fontsize=9)
    return plot


@styled
def plot_rates(found: dict[str, np.ndarray]) -> Plot:
    """Each random half: where a threshold was chosen (open) and what it does on the other classes (filled)."""
    plot = Plot(figsize=(3.1 * max(1, len(found)), 3.1), layout="constrained")
    for axis, (measure, rates) in zip(
        plot.subplots(1, len(found), sharey=True, squeeze=False)[0], found.items(), strict=True
    ):
        for chosen, other in rates:
            axis.plot([chosen[0], other[0]], [chosen[1], other[1]], "-", color=QUIET, linewidth=0.8)
            axis.plot(*chosen, "o", color=INK, markerfacecolor="white", markersize=6)
            axis.plot(*other, "o", color=HUES[0], markersize=5)
        if not len(rates):
            axis.text(0.5, 0.5, "no half has both\nhard and easy tasks", color=QUIET, ha="center", va="center")
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), title=score_words(measure), xlabel="easy tasks called hard")
    plot.axes[0].set_ylabel("hard tasks called hard")
    return plot


@styled
def plot_prediction(scores: Sequence[Score]) -> Plot:
    """Errors of predicted accuracy beside those of the mean, and the coverage of intervals."""
    plot = Plot(figsize=(7.4, 3.0), layout="constrained")
    errors, coverage = plot.subplots(1, 2)
    panels = ((errors, ("absolute_error", "absolute_error_of_the_mean")), (coverage, ("coverage_90",)))
    for axis, names in panels:
        shown = [score for score in scores if score.name in names]
        for at, score in enumerate(shown):
            axis.plot((at, at), score.ci95, color=INK, linewidth=1.6)
            axis.plot([at], [score.value], "o", color=HUES[0], markersize=6)
        axis.set(xticks=range(len(shown)), xticklabels=[score.agent for score in shown], xlim=(-0.6, len(shown) - 0.4))
    errors.set(ylabel="mean absolute error", ylim=(0, None))
    coverage.axhline(0.9, color=QUIET, linestyle="--", linewidth=1)
    coverage.set(ylabel="coverage of 90 % intervals", ylim=(0.7, 1))
    return plot


@styled
def plot_labelling(found: dict[str, np.ndarray], budgets: Sequence[int]) -> Plot:
    """Accuracy by number of labels: on what remains, and on held-out samples; below, gains over random labels. In rounds:
    dashed."""
    plot = Plot(figsize=(8.4, 5.4), layout="constrained")
    axes = plot.subplots(2, 2, sharex=True, sharey="row", height_ratios=(1.4, 1))
    for side, title in enumerate(("samples that remain unlabelled", "held-out samples")):
        colours = dict(zip(POLICIES, (HUES[0], HUES[1], HUES[2], INK), strict=True))
        for protocol, every in found.items():
            values, colour = every[:, :, side], colours[protocol.removesuffix(IN_ROUNDS)]
            line = "--o" if protocol.endswith(IN_ROUNDS) else "-o"
            axes[0, side].plot(budgets, values.mean(axis=0), line, color=colour, markersize=4, label=protocol)
            if protocol != "random":
                gain = values - found["random"][:, :, side]
                mean, reach = gain.mean(axis=0), 1.96 * gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
                axes[1, side].plot(budgets, mean, line, color=colour, markersize=4)
                axes[1, side].fill_between(budgets, mean - reach, mean + reach, color=colour, alpha=0.15, linewidth=0)
        axes[0, side].set_title(title)
        axes[1, side].axhline(0, color=QUIET, linewidth=0.8)
        axes[1, side].set_xlabel("labelled samples")
    axes[0, 0].set_ylabel("accuracy")
    axes[1, 0].set_ylabel("gain over random")
    axes[0, 0].legend(fontsize=9)
    return plot


@styled
def plot_choice(scores: Sequence[Score]) -> Plot:
    """Share of the error that is left, by penalty; a panel per kind of tasks, a line per set of measures."""
    cells = list(dict.fromkeys(score.concept for score in scores))
    sets = list(dict.fromkeys(score.agent.split(", penalty ")[0] for score in scores))
    plot = Plot(figsize=(2.5 * len(cells) + 1.6, 3.0), layout="constrained")
    axes = plot.subplots(1, len(cells), sharey=True, squeeze=False)[0]
    for axis, cell in zip(axes, cells, strict=True):
        for label, colour in zip(sets, (*HUES, INK), strict=False):
            mine = [s for s in scores if s.concept == cell and s.agent.startswith(f"{label}, penalty ")]
            x, y = [float(s.agent.rsplit(" ", 1)[1]) for s in mine], [s.value for s in mine]
            axis.plot(x, y, "-o", color=colour, markersize=4, label=label)
            axis.vlines(x, [s.ci95[0] for s in mine], [s.ci95[1] for s in mine], color=colour, alpha=0.35)
        axis.set(title=cell, xscale="log", xlabel="penalty")
        axis.set_xticks(x, labels=[f"{penalty:g}" for penalty in x], fontsize=8)  # as text: SVG has no mathematics
        axis.minorticks_off()
    axes[0].set_ylabel("share of the error left")
    plot.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=9)
    return plot


@styled
def plot_explanations(scores: Sequence[Score]) -> Plot:
    """Each correlation, lead or share as a dot with its interval, in groups by question."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(score.agent, []).append(score)
    plot = Plot(figsize=(9.2, 0.25 * (len(scores) + 2 * len(groups)) + 0.8), layout="constrained")
    axis, at, places, told = plot.subplots(), 0, list[int](), list[str]()
    for question, some in groups.items():
        places.append(at)
        told.append(question)
        for score in some:
            at += 1
            if not np.isnan(score.ci95[0]):
                axis.plot(score.ci95, (at, at), color=INK, linewidth=1.4)
            axis.plot([score.value], [at], "o", color=HUES[0], markersize=4)
            places.append(at)
            told.append(", ".join(filter(None, (score_words(score.name), score.concept, score.variant))))
        at += 2
    axis.axvline(0, color=QUIET, linewidth=0.8)
    axis.set(yticks=places, yticklabels=told, xlim=(-1.02, 1.02), ylim=(at - 1, -1))
    axis.tick_params(axis="y", labelsize=8)
    for label in axis.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in groups else "normal")
    return plot
