"""The strong baseline models beside people: their learning curves, their one-shot bars, and who is rejected where."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from exemplar.learn.figures.subtasks import PAPER
from exemplar.learn.studies.study_results import StudyResults
from exemplar.report.figures import ACCENT, INK, QUIET, settled

LEVEL = 0.05
GROUPS = ("all", "hardest", "hard", "easy", "easiest")
N_NAMED = 6  # models in a legend


def plot_strong_curves(study: StudyResults) -> Figure:
    """Learning curves over subtasks of the strong baseline models, and of people with a 95 % band."""
    people = study.participants
    n = np.broadcast_to(study["people_sessions"], (len(people),))
    spread = np.sqrt((people * (1 - people) / np.maximum(n[:, None] - 1, 1)).sum(axis=0)) / len(people)
    mean, trial = people.mean(axis=0), np.arange(1, people.shape[1] + 1)
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(6.8, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for k, (encoder, rule) in enumerate(np.argwhere(study.strong)):
            label = f"{study.encoders[encoder]}, {study.rules[rule]}" if k < N_NAMED else None
            axes.plot(
                trial, study.models[encoder, rule].mean(axis=0), color=ACCENT, linewidth=1.1, alpha=0.8, label=label
            )
        axes.fill_between(trial, mean - 1.96 * spread, mean + 1.96 * spread, color=INK, alpha=0.2, linewidth=0)
        axes.plot(trial, mean, color=INK, linewidth=1.8, label=study.who)
        axes.axhline(study.chance, color=QUIET, linestyle="--", linewidth=1)
        axes.set(xlabel="trial (log scale)", ylabel="accuracy over subtasks", xscale="log", ylim=(0, 1.02))
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= len(trial)]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=9, ncols=2)
        return settled(figure)


def plot_strong_tests(study: StudyResults, names: Mapping[str, str]) -> Figure:
    """Experiment 2: accuracy over the levels of each transformation, people's bar beside those of the strong models.

    names: transformation → what to call it.
    """
    kind = np.array([name.split(" | ")[0] for name in study.tests])
    kinds = list(dict.fromkeys(kind.tolist()))
    strong = study["one_shot"][study.strong]
    people = np.array([study["people_one_shot"][kind == name].mean() for name in kinds])
    reach = np.array(
        [1.96 * np.sqrt(study["people_one_shot_variance"][kind == name].sum()) / (kind == name).sum() for name in kinds]
    )
    x = np.arange(len(kinds))
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(8.6, 3.8), layout="constrained")
        axes = figure.add_subplot()
        axes.bar(x - 0.2, people, 0.38, color=INK, alpha=0.75, label=study.who)
        axes.errorbar(x - 0.2, people, within(people, reach), color="#333", linestyle="", capsize=3, linewidth=1)
        each = np.array([[row[kind == name].mean() for name in kinds] for row in strong])
        axes.bar(x + 0.2, each.mean(axis=0), 0.38, color=ACCENT, alpha=0.75, label="strong baseline models, their mean")
        shift = np.linspace(-0.12, 0.12, len(each)) if len(each) > 1 else [0.0]
        for row, step in zip(each, shift, strict=True):
            axes.plot(x + 0.2 + step, row, ".", color="#5e1f10", markersize=4)
        axes.plot([], [], ".", color="#5e1f10", label="one model")
        axes.axhline(study.chance, color=QUIET, linestyle="--", linewidth=1)
        axes.set(ylabel="accuracy after one view", ylim=(0, 1.05))
        axes.set_xticks(x, [names.get(name, name).partition(" (")[0].replace(" in ", "\nin ") for name in kinds])
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=9, ncols=3)
        return settled(figure)


def within(accuracy: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """(2, n) how far intervals reach down and up: an accuracy is not above 1 or below 0."""
    return np.stack([np.minimum(reach, accuracy), np.minimum(reach, 1 - accuracy)])


def plot_model_levels(study: StudyResults) -> Figure:
    """Early and late accuracy of every model, over all subtasks and four levels of difficulty for people; strong models marked,
    people as bars, and the share of models rejected at each."""
    levels, p = study["levels"], study["levels_p"]
    n_trials, strong = study.participants.shape[1], study.strong
    windows = {"trials 1–5": slice(0, 5), "the last 6 trials": slice(max(n_trials - 6, 0), n_trials)}
    order = np.argsort(study.participants.mean(axis=1), kind="stable")
    places = [order, *np.array_split(order, 4)][: levels.shape[3]]
    rng = np.random.Generator(np.random.PCG64(0))  # where points lie beside each other; no score uses it
    with mpl.rc_context(PAPER):
        figure = Figure(figsize=(9.6, 4.0), layout="constrained")
        for axes, (phase, (title, window)) in zip(
            figure.subplots(1, 2, sharey=True), enumerate(windows.items()), strict=True
        ):
            for k, some in enumerate(places):
                values = levels[:, :, phase, k]
                x = k + rng.uniform(-0.28, 0.28, values.shape)
                axes.plot(x[~strong], values[~strong], ".", color="#8aa0bb", markersize=3.5, alpha=0.7)
                axes.plot(x[strong], values[strong], "o", color=ACCENT, markersize=4.5)
                level = study.participants[some][:, window].mean()
                axes.plot([k - 0.38, k + 0.38], [level, level], color=INK, linewidth=2.4)
            rejected = [(p[:, :, phase, k] < LEVEL) for k in range(len(places))]
            labels = [
                f"{GROUPS[k]}\n{100 * one.mean():.0f} % rejected\n({int(one[strong].sum())} of {int(strong.sum())} strong)"
                for k, one in enumerate(rejected)
            ]
            axes.set_xticks(range(len(places)), labels, fontsize=8)
            axes.axhline(study.chance, color=QUIET, linestyle="--", linewidth=1)
            axes.set(title=title, ylim=(max(0.0, study.chance - 0.15), 1.02))
        figure.axes[0].set_ylabel("accuracy")
        for label, style in ((study.who, dict(color=INK, linewidth=2.4)),
                             ("strong baseline model", dict(color=ACCENT, marker="o", linestyle="", markersize=4.5)),
                             ("another model", dict(color="#8aa0bb", marker=".", linestyle=""))):  # fmt: skip
            figure.axes[0].plot([], [], label=label, **style)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=3)
        return settled(figure)
