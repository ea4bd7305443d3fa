"""Figures of the studies of one agent: scores along guidance or steps, curves with their envelope, the plane, a sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from exemplar.draw.figures.plots import plot_plane, plot_ranked
from exemplar.draw.figures.studies import Show, ShownFigure, StudyRecord
from exemplar.draw.figures.study_plots import plot_along, plot_rows
from exemplar.draw.figures.tables import words
from exemplar.draw.figures.verdicts import written
from exemplar.records import Score
from exemplar.report.figures import HUES, INK, styled

MOST_ROWS = 12  # ways to draw on a sheet


def show_guidance(record: StudyRecord) -> list[ShownFigure]:
    gamma = record.arrays["gamma"]
    found = []
    for name in ("diversity", _ways(record)):
        scores = [_of(record, name, f"γ = {value:g}") for value in gamma]
        figure = plot_along({words(name): (gamma.tolist(), scores)}, xlabel="guidance γ", ylabel=words(name))
        found.append(
            ShownFigure(
                f"guidance-{name}",
                figure,
                f"{words(name).capitalize()} (up) at each guidance γ (across); bars are 95 % intervals over concepts.",
            )
        )
    lines = {str(name): record.arrays[f"curve of {name}"] for name in record.arrays["curves"]}
    caption = (
        "Recognizability (up) of drawings by their originality (across), a line per γ; dashed: the best at each place."
    )
    if record.arrays["n"] < 50:
        caption += f" With {int(record.arrays['n'])} drawings per concept these curves are an illustration."
    found.append(ShownFigure("curves", plot_envelope(lines, record.arrays["envelope"]), caption))
    return [
        *found,
        _sheet(
            record, "What the network drew at each γ after the exemplars in the red frames, from the same first noise."
        ),
    ]


def show_samplers(record: StudyRecord) -> list[ShownFigure]:
    found = []
    for name in ("diversity", _ways(record)):
        rows: dict[str, list[Score]] = {}
        for score in record.named(f"change_of_{name}"):
            who, _, _ = score.agent.partition(" less ")
            sampler, _, steps = who.partition(", ")
            rows.setdefault(steps, []).append(replace(score, agent=sampler))
        figure = plot_rows(rows, xlabel=f"{words(name)}, difference from the paper's sampler")
        caption = (
            f"{words(name).capitalize()} less that with every step of the paper's sampler, a row per number of steps, "
            "a colour per "
            "sampler; paired over concepts, bars are 95 % intervals."
        )
        found.append(ShownFigure(f"samplers-{name}", figure, caption))
    return [
        *found,
        _sheet(record, "What each sampler drew after the exemplars in the red frames, from the same first noise."),
    ]


def show_grid(record: StudyRecord) -> list[ShownFigure]:
    names = [str(name) for name in record.arrays["names"]]
    ways = _ways(record)
    plane = plot_plane(
        {name: _of(record, "diversity", name) for name in names}, {name: _of(record, ways, name) for name in names},
        ylabel=words(ways),
    )  # fmt: skip
    return [
        ShownFigure(
            "plane",
            plane,
            "Each trained network: diversity (across) and recognizability (up); bars are 95 % intervals over concepts.",
        ),
        _sheet(record, "What each network drew after the exemplars in the red frames."),
    ]


@styled
def plot_envelope(lines: Mapping[str, np.ndarray], envelope: np.ndarray) -> Figure:
    """Curves (2, m) each, and above them the best of all, dashed."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for place, (name, (x, y)) in enumerate(lines.items()):
        axes.plot(x, y, color=HUES[place % len(HUES)], linewidth=1.7, label=name)
    axes.plot(*envelope, color=INK, linestyle="--", linewidth=1.3, label="the best")
    axes.set(xlabel="originality", ylabel="recognizability", ylim=(0, 1.03))
    axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def conclude_guidance(record: StudyRecord) -> str:
    changes = {s.name.removeprefix("change_of_"): s for s in record.scores if s.name.startswith("change_of_")}
    if not changes:
        return ""
    most = f"{float(record.arrays['gamma'].max()):g}"
    parts = [f"{words(name)} changes by {written(score)}" for name, score in changes.items()]
    return f"From no guidance to γ = {most}, {', '.join(parts)}."


def conclude_samplers(record: StudyRecord) -> str:
    ways = _ways(record)
    near = [s for s in record.named(f"change_of_{ways}") if s.agent.startswith("dpm-solver, 20 ")]
    if not near:
        return ""
    change = f"{words(ways).capitalize()}, changes by {written(near[0])}"
    return f"{change} with 20 steps of DPM-Solver++ instead of all ancestral ones."


def conclude_grid(record: StudyRecord) -> str:
    ways = _ways(record)
    found = sorted(record.named(ways), key=lambda score: score.value)
    if not found:
        return ""
    low, high = (f"{written(score)} ({score.agent})" for score in (found[0], found[-1]))
    return f"{words(ways).capitalize()} goes from {low} to {high}."


def _ways(record: StudyRecord) -> str:
    return next(score.name for score in record.scores if score.name.startswith("recognizability_"))


def _of(record: StudyRecord, name: str, agent: str) -> Score:
    return next(score for score in record.of(agent, name))


def _sheet(record: StudyRecord, caption: str) -> ShownFigure:
    names = [str(name) for name in record.arrays["names"]]
    some = [names[k] for k in np.unique(np.linspace(0, len(names) - 1, min(MOST_ROWS, len(names))).round().astype(int))]
    exemplars = record.arrays["exemplars"]
    drawn = np.concatenate([record.arrays[f"drawings of {name}"] for name in some])
    labels = [name if row == 0 else "" for name in some for row in range(len(exemplars))]
    shown = np.tile(exemplars, (len(some), 1, 1))
    breaks = list(range(len(exemplars), len(labels), len(exemplars)))
    return ShownFigure("sheet", plot_ranked(shown, drawn, labels, breaks=breaks), caption, pixels=True)


SHOW_AGENT: dict[str, Show] = {"guidance": show_guidance, "samplers": show_samplers, "diffusion-grid": show_grid}
CONCLUDE_AGENT: dict[str, Callable[[StudyRecord], str]] = {
    "guidance": conclude_guidance, "samplers": conclude_samplers, "diffusion-grid": conclude_grid,
}  # fmt: skip
