"""Learning curves of a few learners on one figure, and accuracies on the tests of Experiment 2, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from exemplar.learn.measures.oneshot import Points
from exemplar.report.figures import ACCENT, INK, QUIET, STYLE, settled
from exemplar.stats import Estimate

COLOURS = (ACCENT, INK, "#d9a08f")  # the learner, whom it is compared with, and the learner once more
TRANSFORMATIONS: dict[str, str] = {
    "inplanetranslation": "shifted (half sides)", "backgrounds": "background (share)", "scale": "size (factor)",
    "outplanerotation": "turned in depth (°)", "inplanerotation": "turned in the plane (°)",
    "contrast": "contrast (log$_{10}$)",
    "delpixels": "pixels deleted (share)", "blur": "blur (sides)", "noise": "noise (s.d.)",
}  # fmt: skip
CURVE_HUES = ("#9a9aa2", "#b8860b", "#2e8b57", "#1f5f9e", ACCENT)


def plot_learning(curves: Mapping[str, Estimate], *, chance: float, title: str = "") -> Figure:
    """Accuracy over trials, each curve (trials,) with its 95 % band. The first trials are where learners differ: log scale."""
    with mpl.rc_context({**STYLE, "figure.facecolor": "white", "axes.titlesize": 10}):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        axes = figure.add_subplot()
        n_trials = 1
        for place, (name, curve) in enumerate(curves.items()):
            n_trials = len(curve.value)
            trial, colour = np.arange(1, n_trials + 1), COLOURS[place]
            axes.fill_between(trial, curve.lo, curve.hi, color=colour, alpha=0.25, linewidth=0)
            axes.plot(trial, curve.value, color=colour, linewidth=1.6, linestyle="-" if place < 2 else ":", label=name)
        axes.axhline(chance, color=QUIET, linestyle="--", linewidth=1, label="guessing")
        axes.set(xlabel="trial (log scale)", ylabel="accuracy over subtasks", xscale="log", ylim=(0, 1.02), title=title)
        axes.set_xlim(1, max(n_trials, 2))
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= n_trials]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.legend(frameon=False, loc="lower right", fontsize=9.5)
        return settled(figure)


def band(points: Points) -> Estimate:
    """Accuracies on tests with intervals of two standard errors."""
    reach = 1.96 * np.sqrt(points.variance)
    lo, hi = np.clip(points.accuracy - reach, 0, 1), np.clip(points.accuracy + reach, 0, 1)
    return Estimate(points.accuracy, lo, hi, len(points.tests))


def plot_tests(tests: Sequence[str], sides: Mapping[str, Estimate], *, chance: float, title: str = "") -> Figure:
    """Accuracy on each test, "scale | 0.5", a panel per transformation; each side (tests,) with its interval."""
    kinds = list(dict.fromkeys(name.split(" | ")[0] for name in tests))
    columns = min(3, len(kinds))
    rows = -(-len(kinds) // columns)
    with mpl.rc_context(
        {**STYLE, "figure.facecolor": "white", "axes.titlesize": 10, "figure.titlesize": 10, "font.size": 9.5}
    ):
        figure = Figure(figsize=(2.7 * columns, 2.1 * rows + 0.5), layout="constrained")
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for panel, kind in zip(panels, kinds, strict=False):
            mine = [place for place, name in enumerate(tests) if name.split(" | ")[0] == kind]
            mine.sort(key=lambda place: float(tests[place].split(" | ")[1]))
            for colour, (name, side) in zip(COLOURS, sides.items(), strict=False):
                value, lo, hi = (np.asarray(part)[mine] for part in (side.value, side.lo, side.hi))
                reach = np.maximum([value - lo, hi - value], 0)
                panel.errorbar(
                    range(len(mine)), value, reach, color=colour, marker="o", markersize=3.5, capsize=2, label=name
                )
            panel.axhline(chance, color=QUIET, linestyle="--", linewidth=1)
            panel.set(title=TRANSFORMATIONS.get(kind, kind), ylim=(0, 1.05), xlim=(-0.4, len(mine) - 0.6))
            panel.set_xticks(range(len(mine)), [f"{float(tests[place].split(' | ')[1]):.3g}" for place in mine])
        figure.suptitle(title or None)  # type: ignore[arg-type]
        for panel in panels[len(kinds) :]:
            panel.set_axis_off()
        for panel in panels[::columns]:
            panel.set_ylabel("accuracy")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=2)
        return settled(figure)


def plot_curves(curves: Mapping[str, np.ndarray], names: Mapping[str, str]) -> Figure:
    """Learning curves with 95 % bands. curves: key → (3, trials) value, lo, hi; names: key → label, in order; the last is
    drawn in ink, dashed.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 3.8), layout="constrained")
        axes = figure.add_subplot()
        for place, (key, label) in enumerate(names.items()):
            value, low, high = curves[key]
            last = place == len(names) - 1
            colour = INK if last else CURVE_HUES[place % len(CURVE_HUES)]
            trial = np.arange(1, len(value) + 1)
            axes.fill_between(trial, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(trial, value, color=colour, linewidth=1.8, linestyle="--" if last else "-", label=label)
        axes.axhline(0.5, color=QUIET, linewidth=1, linestyle=":")
        spot = (axes.get_xlim()[1], 0.5)
        axes.annotate("guessing", spot, textcoords="offset points", xytext=(3, -3), color=QUIET, fontsize=9)
        axes.set(xlabel="trial", ylabel="share of right answers", ylim=(0.42, 1.0))
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return settled(figure)
