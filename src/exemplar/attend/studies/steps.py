"""How many time steps are enough for an importance map? Cost against rank correlation with the map of all T steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from exemplar import seeds, stats
from exemplar.attend.agents.misalignment import Forward, Trajectory
from exemplar.attend.measures.ranking import correlate_pairs, rank_maps
from exemplar.attend.studies.diffusion_input import DiffusionInput, prepare
from exemplar.attend.studies.study import Asked, Study
from exemplar.records import Score
from exemplar.report.figures import HUES, QUIET, styled
from exemplar.runs import Run

TIMES = (2, 5, 10, 20, 50, 100, 200)
ENOUGH = 0.95


def compute(run: Run, asked: Asked, seed: int) -> list[Score]:
    """Of each concept's mean map, as they are used; the noise of a drawing is the same at every number of steps."""
    given: DiffusionInput = asked.inputs
    task, total = given.task, given.model.schedule.steps
    images, exemplars = (part.astype(np.float32) / 255 for part in (task.image, task.exemplar))
    scores = []
    for reading in ("forward", "trajectory"):
        means, seconds = {}, {}
        for n in (*(n for n in TIMES if n < total), total):
            agent = Forward(given.model, n) if reading == "forward" else Trajectory(given.model, n)
            start = time.process_time()
            found = agent(images, task.label, exemplars, seeds.rng("attend steps", seed))
            maps = found[1] if isinstance(found, tuple) else found
            seconds[n] = (time.process_time() - start) / len(task)
            means[n] = np.stack([maps[task.label == code].mean(axis=0) for code in range(len(task.concepts))])
        k = len(task.concepts)
        ranked = rank_maps(np.concatenate(list(means.values())))
        whole = np.arange(k) + k * (len(means) - 1)
        for place, n in enumerate(means):
            label: dict[str, Any] = {"agent": given.name, "space": reading, "variant": f"{n} of {total} steps"}
            r = correlate_pairs(ranked, np.arange(k) + k * place, whole) if n < total else np.ones(k)
            estimate = stats.mean(r) if k > 1 else stats.Estimate(float(r[0]), np.nan, np.nan, 1)
            scores.append(Score.of("spearman_with_all_steps", estimate, **label))
            scores.append(Score("cpu_seconds_per_map", seconds[n], (np.nan, np.nan), 1, **label))
    return scores


def steps_of(score: Score) -> int:
    return int(score.variant.split()[0])


@styled
def plot(scores: Sequence[Score]) -> Figure:
    figure = Figure(figsize=(6.0, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for place, reading in enumerate(dict.fromkeys(score.space for score in scores)):
        found = [s for s in scores if s.space == reading and s.name == "spearman_with_all_steps"]
        x, colour = [steps_of(score) for score in found], HUES[place]
        axes.plot(x, [score.value for score in found], "o-", color=colour, label=reading)
        if found[0].n > 1:
            low, high = ([score.ci95[end] for score in found] for end in (0, 1))
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(ENOUGH, color=QUIET, linestyle="--", linewidth=1)
    axes.set(xscale="log", xlabel="time steps", ylabel="Spearman's r with all steps", ylim=(None, 1.02))
    axes.set_xticks(x, [str(steps) for steps in x])  # as text: SVG has no mathematics
    axes.minorticks_off()
    axes.legend()
    return figure


def conclude(scores: Sequence[Score]) -> str:
    said = []
    for reading in dict.fromkeys(score.space for score in scores):
        found = [s for s in scores if s.space == reading and s.name == "spearman_with_all_steps"]
        enough = next(score for score in found if score.value >= ENOUGH)
        said.append(f"{reading}: {enough.variant} give r = {enough.value:.3f} with all of them")
    return f"The fewest of those tried that reach r = {ENOUGH}, {'; '.join(said)}."


STEPS = Study(
    "How many time steps are enough?",
    "Eq. 4 sums over every time step. Each concept's mean map from fewer, evenly spaced steps is ranked and "
    "correlated with the map "
    "of all steps; the noise of each drawing is the same throughout. Along the trajectory fewer steps also change the drawing "
    "itself, which is part of what the correlation sees.",
    prepare,
    compute,
    lambda scores: {"steps": plot(scores)},
    {
        "steps": "Rank correlation (up) of maps from so many time steps (across) with those of all steps; bands are "
        "95 % intervals "
        "over concepts, dashed: enough."
    },
    conclude,
)
