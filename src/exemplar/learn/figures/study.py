"""Figures of a study: its models against simulated participants, and which encoder of a population is found."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from exemplar.learn.figures.curves import TRANSFORMATIONS
from exemplar.learn.figures.strong import plot_model_levels, plot_strong_curves, plot_strong_tests, within
from exemplar.learn.studies.study_results import StudyResults, load_populations, load_study_results
from exemplar.report.figures import ACCENT, INK, QUIET, STYLE, settled

NETWORK_HUES = ("#1f5f9e", "#2e8b57", "#b8860b", "#8e44ad", "#0e8c8c", "#d6438a", "#5a6b1f", "#a0522d")
N_NAMED = 12  # networks in a legend
PAPER: Any = {**STYLE, "figure.facecolor": "white", "font.size": 10, "axes.titlesize": 10.5}
SHADES = "viridis"  # low errors dark


def plot_figures(folder: Path) -> dict[str, Figure]:
    """Every figure of a study, from its run folder."""
    study = load_study_results(folder)
    figures = {name: plot(study) for name, plot in FIGURES.items() if has_figure(name, study)}
    if study.true is not None:
        figures["confusion"] = plot_confusion(folder)
    return figures


def plot_errors(study: StudyResults) -> Figure:
    """How many models have which √MSE_n, the strong ones shaded, with the noise floor, guessing and the true model."""
    root = np.sqrt(np.maximum(study["mse_n"], 0))
    guess = float(np.sqrt(np.square(study.participants - study.chance).mean()))
    with mpl.rc_context(PAPER):
        figure, axes = _one(6.4, 3.4)
        reach = 1.12 * max(guess, root.max())
        bins = np.linspace(0, reach, 45).tolist()
        axes.hist(root.ravel(), bins=bins, color="#b9c6d6", edgecolor="white", linewidth=0.5, label="all models")
        axes.hist(root[study.strong], bins=bins, color=ACCENT, edgecolor="white", linewidth=0.5, label="the best 1 %")
        height = axes.get_ylim()[1]
        marks = {"noise floor": (study.floor, INK), "guessing": (guess, QUIET)}
        if study.true is not None:
            marks["the true model"] = (float(root[study.true]), ACCENT)
        for k, (name, (place, colour)) in enumerate(marks.items()):
            axes.axvline(place, color=colour, linewidth=1.4, linestyle="--" if k < 2 else "-")
            spot = (place, height * (0.97 - 0.09 * k))
            axes.annotate(
                name, spot, xytext=(4, 0), textcoords="offset points", color=colour, backgroundcolor="#ffffffb0"
            )
        axes.set(xlabel=f"√MSE$_n$ to {study.who}", ylabel="models", xlim=(0, reach))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=9, ncols=2)
        return settled(figure)


def plot_matrix(study: StudyResults) -> Figure:
    """√MSE_n of every encoder (columns, by network and depth) with every rule (rows)."""
    root = np.sqrt(np.maximum(study["mse_n"], 0)).T
    with mpl.rc_context(PAPER):
        figure, axes = _one(10.5, 2.9)
        drawn = axes.imshow(root, aspect="auto", cmap=SHADES, interpolation="nearest")
        for network, places in study.networks.items():
            axes.axvline(places[-1] + 0.5, color="white", linewidth=2.5)
            if len(places) > 1:
                axes.text(places.mean(), -0.75, f"{network} →", ha="center", fontsize=9)
        for encoder, rule in [study.true] if study.true is not None else []:
            axes.plot(encoder, rule, marker="o", markerfacecolor="none", markeredgecolor=ACCENT, markersize=9, mew=1.8)
        for encoder, rule in np.argwhere(study.strong):
            axes.plot(encoder, rule, marker="*", color="white", markeredgecolor=INK, markersize=8, mew=0.8)
        axes.set_yticks(range(len(study.rules)), list(study.rules))
        axes.set_xticks(*_encoder_ticks(study), fontsize=7.5)
        axes.set_xlabel("encoders; the stages of a network from the first to the last")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(drawn, ax=axes, label="√MSE$_n$", fraction=0.03, pad=0.01)
        return settled(figure)


def plot_depth(study: StudyResults) -> Figure:
    """Accuracy overall and in the first five trials, and √MSE_n, over depth; a band spans the rules."""
    panels = {
        "accuracy over all trials": study["accuracy"],
        "accuracy in trials 1–5": study["early"],
        f"√MSE$_n$ to {study.who}": np.sqrt(np.maximum(study["mse_n"], 0)),
    }
    strong = study.strong
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(10.5, 3.5), layout="constrained")
        for axes, (title, table) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            for hue, (network, places) in zip(cycle(NETWORK_HUES), _stages(study).items(), strict=False):
                depth = study["depth"][places]
                axes.fill_between(depth, table[places].min(1), table[places].max(1), color=hue, alpha=0.18, linewidth=0)
                axes.plot(depth, table[places].mean(1), color=hue, marker="o", markersize=3, label=network)
            marked = np.argwhere(strong)
            axes.plot(
                study["depth"][marked[:, 0]], table[strong], "*", color=ACCENT, markersize=9, label="the best 1 %"
            )
            for name, (place,) in ((name, some) for name, some in study.networks.items() if len(some) == 1):
                axes.plot(study["depth"][place], table[place].mean(), "s", color=INK, markersize=5, label=name)
            axes.set(title=title, xlabel="depth in the network (0 first, 1 last stage)", xlim=(-0.03, 1.03))
        figure.axes[0].legend(frameon=False, fontsize=9)
        return settled(figure)


def plot_consistency(study: StudyResults) -> Figure:
    """Accuracy of every model and its consistency with people, in shades of its √MSE_n; a box spans what people would give, had
    they done it all again, on both axes."""
    with mpl.rc_context(PAPER):
        figure, axes = _one(5.6, 4.0)
        _scatter(figure, axes, study, study["accuracy"], study["consistency"])
        axes.axvline(float(study.participants.mean()), color=QUIET, linewidth=1, linestyle="--")
        if "people_accuracy" in study:
            (_, left, right), (_, low, high) = study["people_accuracy"], study["people_ceiling"]
            axes.add_patch(Rectangle((left, low), right - left, high - low, facecolor=INK, alpha=0.18, linewidth=0))
            axes.autoscale_view()
        axes.set(xlabel="accuracy over all trials", ylabel="consistency over subtasks (Spearman)")
        box = f"box: 95 % of repeats of {study.who}" if "people_accuracy" in study else f"dashed: {study.who}"
        axes.set_title(f"{box}\n{_marks(study)}", loc="left", color="#555", fontsize=9)
        return settled(figure)


def plot_phases(study: StudyResults) -> Figure:
    """Accuracy in the first five and the last six trials of every model."""
    n_trials = study.participants.shape[1]
    with mpl.rc_context(PAPER):
        figure, axes = _one(5.6, 4.0)
        _scatter(figure, axes, study, study["early"], study["late"])
        early, late = study.participants[:, :5].mean(), study.participants[:, max(n_trials - 6, 0) :].mean()
        axes.plot(early, late, marker="P", color=INK, markersize=9, linestyle="")
        axes.set(xlabel="accuracy in trials 1–5", ylabel="accuracy in the last 6 trials")
        axes.set_title(f"cross: {study.who}, who lapse\n{_marks(study)}", loc="left", color="#555", fontsize=9)
        return settled(figure)


def plot_profile(study: StudyResults) -> Figure:
    """One-shot accuracy at the levels of each transformation: simulated participants, the true model, and the range of all."""
    kind, level = (np.array(column) for column in zip(*(name.split(" | ") for name in study.tests), strict=True))
    models = study["one_shot"].reshape(-1, len(study.tests))
    people = study["people_one_shot"]
    shown = study["one_shot"][study.strong].mean(axis=0) if study.true is None else study["one_shot"][study.true]
    name_shown = "the best 1 %, their mean" if study.true is None else "the true model"
    reach = 1.96 * np.sqrt(study["people_one_shot_variance"])
    with mpl.rc_context(PAPER):
        columns = min(5, len(set(kind.tolist())))
        rows = -(-len(set(kind.tolist())) // columns)
        figure = Figure(figsize=(2.1 * columns, 2.2 * rows + 0.3), layout="constrained")
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for axes, name in zip(panels, dict.fromkeys(kind.tolist()), strict=False):
            mine = np.flatnonzero(kind == name)
            x = np.arange(len(mine))
            low, middle, high = np.quantile(models[:, mine], (0.05, 0.5, 0.95), axis=0)
            axes.fill_between(x, low, high, color="#d5dce6", linewidth=0, label="9 in 10 models")
            axes.plot(x, middle, color="#7d8ea5", linewidth=1.2, label="median model")
            axes.plot(x, shown[mine], color=ACCENT, label=name_shown)
            axes.errorbar(
                x, people[mine], yerr=within(people[mine], reach[mine]), color=INK, marker="o", markersize=4, linestyle="",
                capsize=2, label=study.who,
            )  # fmt: skip
            axes.axhline(study.chance, color=QUIET, linewidth=0.8, linestyle="--")
            axes.set_title(TRANSFORMATIONS.get(name, name))
            axes.set_xticks(x, [f"{round(float(step), 3):g}" for step in level[mine]], fontsize=8)
            axes.set_ylim(min(0.35, float(models.min()) - 0.03, float(people.min()) - 0.03), 1.03)
        for axes in panels[::columns]:
            axes.set_ylabel("accuracy")
        handles, labels = panels[0].get_legend_handles_labels()
        for axes in panels[len(set(kind.tolist())) :]:
            axes.axis("off")
        figure.legend(handles, labels, frameon=False, loc="outside lower center", fontsize=9, ncols=min(columns, 4))
        return settled(figure)


def plot_experiments(study: StudyResults) -> Figure:
    """√MSE_n of every model in Experiment 1 and in Experiment 2."""
    first, second = (np.sqrt(np.maximum(study[name], 0)) for name in ("mse_n", "one_shot_mse_n"))
    with mpl.rc_context(PAPER):
        figure, axes = _one(5.6, 4.0)
        for hue, (network, places) in zip(cycle((INK, *NETWORK_HUES)), study.networks.items(), strict=False):
            axes.plot(
                first[places].ravel(), second[places].ravel(), ".", color=hue, markersize=5, alpha=0.7, label=network
            )
        _ring(axes, study, first, second)
        axes.axvline(study.floor, color=QUIET, linewidth=1, linestyle="--")
        axes.axhline(study.one_shot_floor, color=QUIET, linewidth=1, linestyle="--")
        axes.set(xlabel="√MSE$_n$ in Experiment 1", ylabel="√MSE$_n$ in Experiment 2", xlim=(0, None), ylim=(0, None))
        axes.set_title(f"dashed: noise floors\n{_marks(study)}", loc="left", color="#555", fontsize=9)
        if len(study.networks) <= N_NAMED:
            figure.legend(
                *axes.get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=9, ncols=4
            )
        return settled(figure)


FIGURES: dict[str, Callable[[StudyResults], Figure]] = {
    "errors": plot_errors,
    "matrix": plot_matrix,
    "depth": plot_depth,
    "consistency": plot_consistency,
    "phases": plot_phases,
    "one-shot": plot_profile,
    "experiments": plot_experiments,
    "levels": plot_model_levels,
    "strong": plot_strong_curves,
    "strong-one-shot": lambda study: plot_strong_tests(study, TRANSFORMATIONS),
}
NEEDS = {
    "depth": lambda study: bool(np.isfinite(study["depth"]).all()),
    "one-shot": lambda study: bool(study.tests),
    "experiments": lambda study: bool(study.tests),
    "strong-one-shot": lambda study: bool(study.tests),
    "levels": lambda study: "levels" in study,
}  # figures that not every study has what it takes for


def has_figure(name: str, study: StudyResults) -> bool:
    return name not in NEEDS or NEEDS[name](study)


def plot_confusion(folder: Path) -> Figure:
    """Of simulated populations of each encoder (rows), the share taken for each (columns); one panel per number of sessions."""
    data = load_populations(folder)
    encoders, n_rules = data["encoders"].tolist(), len(data["rules"])
    sizes = np.unique(data["n_sessions"])
    networks = [name.rpartition("/")[0] or name for name in encoders]
    edges = [k for k in range(1, len(networks)) if networks[k] != networks[k - 1]]
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(5.2 * len(sizes) + 0.6, 5.0), layout="constrained")
        for axes, size in zip(np.atleast_1d(figure.subplots(1, len(sizes))), sizes, strict=True):
            mine = data["n_sessions"] == size
            share = np.zeros((len(encoders), len(encoders)))
            np.add.at(share, (data["true"][mine] // n_rules, data["found"][mine] // n_rules), 1)
            share /= np.maximum(share.sum(axis=1, keepdims=True), 1)
            drawn = axes.imshow(share, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
            for edge in edges:
                axes.axhline(edge - 0.5, color=ACCENT, linewidth=0.7)
                axes.axvline(edge - 0.5, color=ACCENT, linewidth=0.7)
            middle = [
                float(np.mean([k for k, n in enumerate(networks) if n == name])) for name in dict.fromkeys(networks)
            ]
            short = [name.removeprefix("efficientnet-") for name in dict.fromkeys(networks)]
            if len(short) <= 2:
                middle, short = [float(k) for k in range(len(encoders))], [name.rpartition("/")[2] for name in encoders]
            axes.set_xticks(middle, short, rotation=90 if len(short) > 8 else 0, fontsize=8)
            axes.set_yticks(middle, short, fontsize=8)
            axes.tick_params(length=0)
            axes.set(xlabel="encoder found", title=f"{size} simulated sessions per subtask")
        figure.axes[0].set_ylabel("true encoder of the population")
        figure.colorbar(drawn, ax=figure.axes, label="share of populations", fraction=0.03, pad=0.01)
        return settled(figure)


def _one(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _stages(study: StudyResults) -> dict[str, np.ndarray]:
    return {name: places for name, places in study.networks.items() if len(places) > 1}


def _scatter(figure: Figure, axes: Axes, study: StudyResults, x: np.ndarray, y: np.ndarray) -> None:
    """Every model, in shades of √MSE_n, the true one ringed."""
    root = np.sqrt(np.maximum(study["mse_n"], 0))
    drawn = axes.scatter(x.ravel(), y.ravel(), c=root.ravel(), cmap=SHADES, s=14, linewidths=0)
    _ring(axes, study, x, y)
    figure.colorbar(drawn, ax=axes, label="√MSE$_n$", fraction=0.05, pad=0.02)


def _ring(axes: Axes, study: StudyResults, x: np.ndarray, y: np.ndarray) -> None:
    """Mark the strong baseline models by a star and the true one, where there is one, by a ring."""
    strong = study.strong
    axes.plot(x[strong], y[strong], "*", color="white", markeredgecolor=INK, markersize=9, mew=0.8)
    if study.true is not None:
        place = study.true
        axes.plot(x[place], y[place], "o", markerfacecolor="none", markeredgecolor=ACCENT, markersize=10, mew=1.8)


def _marks(study: StudyResults) -> str:
    return "star: the best 1 %" + ("" if study.true is None else "; ring: the true model")


def _encoder_ticks(study: StudyResults) -> tuple[list[int], list[str]]:
    """Every encoder by name where there is room; else the first and the last stage of each network."""
    short = [name.rpartition("/")[2] for name in study.encoders]
    if len(short) <= 16:
        return list(range(len(short))), short
    places = sorted({int(place) for some in study.networks.values() for place in (some[0], some[-1])})
    return places, [short[place] for place in places]
