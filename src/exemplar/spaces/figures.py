"""Figures of the spaces: whose drawings lie near each other, how many are named right, learning curves, and the control S17."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from exemplar import stats
from exemplar.records import Drawings
from exemplar.report.figures import ACCENT, INK, QUIET, STYLE, as_svg
from exemplar.report.sheets import sheet_png
from exemplar.runs import read_json

RIGHT = "#2e8b57"
LEARNERS = {  # of the control S17
    "standard classifier": ACCENT,
    "1-shot ProtoNet": INK,
    "1-shot ProtoNet, 100 episodes an epoch": QUIET,
    "5-shot ProtoNet": "#1f5f9e",
}
HELD_OUT = "held_out_"  # how validation's numbers are called in a curve


def nearest_sheet(drawings: Drawings, names: Mapping[str, str]) -> bytes:
    """For each drawing asked about, one row per space: the drawing, then its nearest, framed where of the same character.

    drawings: agent is the space, exemplar the drawing asked about, index 0 itself; names: space → what to call it.
    """
    n = int(drawings["index"].max()) + 1
    agent, asked, concept = (drawings[key].to_numpy().reshape(-1, n) for key in ("agent", "exemplar", "concept"))
    order = sorted(range(len(agent)), key=lambda row: (list(dict.fromkeys(asked[:, 0])).index(asked[row, 0]), row))
    images = drawings.image.reshape(-1, n, *drawings.image.shape[1:])[order]
    same = (concept == concept[:, :1])[order]
    frames = {(int(row), int(column)): RIGHT if column else INK for row, column in np.argwhere(same)}
    return sheet_png(images, [f"nearest in {names[agent[row, 0]]}" for row in order], cell=62, frames=frames)


def plot_s17(path: Path) -> str:
    """The control S17 with the network of Table S1, as SVG: training loss, the loss on what is held out next to what it was
    early in the training (Fig. S21 a–c), and below accuracy on what is trained on, where it was kept, and on what is held out
    (d–f); the mean of seeds, in a band that is its 95 % interval. path: of the curves."""
    trainings = [t for t in read_json(path)["trainings"] if t["network"] == "conv4"]
    with mpl.rc_context({**STYLE, "figure.facecolor": "white", "axes.titlesize": 11}):
        figure = Figure(figsize=(10.5, 7.6), layout="constrained")
        (trained, tested), (right, named) = figure.subplots(2, 2)
        for who, colour in LEARNERS.items():
            own = [training for training in trainings if training["who"] == who]
            curves = [training["curve"] for training in own if not training["before"]]
            label = f"{who}, {len(curves)} seeds"
            losses = np.log([[entry["loss"] for entry in curve] for curve in curves])
            _band(trained, curves, losses, colour, label, np.exp)
            _band(tested, curves, np.array([relative_loss(curve) for curve in curves]), colour, label)
            _band(named, curves, np.array([held_out_accuracy(curve) for curve in curves]), colour, label)
            kept = [
                training["curve"] for training in own if "accuracy" in training["curve"][0]
            ]  # earlier trainings only
            if kept:
                accuracy = np.array([[entry["accuracy"] for entry in curve] for curve in kept])
                _band(right, kept, accuracy, colour, f"{who}, {len(kept)} earlier seeds")
        trained.set(title="loss on what is trained on", xlabel="epochs", ylabel="cross-entropy", yscale="log")
        tested.set(title="loss on what is held out", xlabel="epochs", ylabel="1 in the second quarter", ylim=(0.7, 2))
        tested.axhline(1, color=QUIET, linewidth=0.8, linestyle="--")
        tested.legend(frameon=False, fontsize=9.5, loc="upper right")
        right.set(title="accuracy on what is trained on", xlabel="epochs", ylabel="share right", ylim=(0.5, 1.02))
        right.legend(frameon=False, fontsize=9.5, loc="lower right")
        named.set(title="accuracy on what is held out", xlabel="epochs", ylabel="share right", ylim=(0.5, 1.02))
        return as_svg(figure)


def _band(
    axes: Axes,
    curves: Sequence[Sequence[Mapping[str, Any]]],
    values: np.ndarray,
    colour: str,
    label: str,
    scale: Callable[[Any], Any] = np.asarray,
) -> None:
    """The mean over curves and its interval, along epochs of which each has 80. values: (curves, evaluations)."""
    epoch = 80 * np.array([entry["step"] for entry in curves[0]]) / curves[0][-1]["step"]
    found = stats.mean(values)
    axes.fill_between(epoch, scale(found.lo), scale(found.hi), color=colour, alpha=0.18, linewidth=0)
    axes.plot(epoch, scale(found.value), color=colour, linewidth=2, label=label)


def held_out_accuracy(curve: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(evaluations,) among all classes for a classifier; 20-way after the exemplar for a few-shot learner."""
    name = next(name for name in ("held_out_accuracy", "held_out_accuracy_exemplar") if name in curve[0])
    return np.array([entry[name] for entry in curve])


def relative_loss(curve: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(evaluations,) the held-out loss over its mean in the second quarter of the training."""
    step, loss = (np.array([entry[name] for entry in curve]) for name in ("step", "held_out_loss"))
    return loss / stats.quarter_means(step, loss)[1]


def plot_training(curve: Sequence[Mapping[str, Any]], title: str = "") -> str:
    """A training's curve as SVG: a panel per measure, on what is trained on, and on what is held out where it was evaluated."""
    measures = dict.fromkeys(
        name.removeprefix(HELD_OUT) for entry in curve for name in entry if name != "step" and not name.endswith("_se")
    )
    with mpl.rc_context({**STYLE, "figure.facecolor": "white", "axes.titlesize": 11}):
        figure = Figure(figsize=(3.4 * min(3, len(measures)), 2.6 * -(-len(measures) // 3)), layout="constrained")
        figure.suptitle(title, fontsize=12)
        panels = figure.subplots(-(-len(measures) // 3), min(3, len(measures)), squeeze=False).ravel()
        for panel, measure in zip(panels, measures, strict=False):
            for name, colour, label in ((measure, QUIET, "trained on"), (HELD_OUT + measure, ACCENT, "held out")):
                points = [(entry["step"], entry[name]) for entry in curve if name in entry]
                if points:
                    panel.plot(*zip(*points, strict=True), color=colour, label=label, marker="." * (len(points) < 3))
            panel.set_title(measure.replace("_", " "))
            panel.set_xlabel("steps")
            panel.legend(frameon=False, fontsize=8.5)
            panel.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        for panel in panels[len(measures) :]:
            panel.set_axis_off()
        return as_svg(figure)
