"""How do the two readings of Eq. 4 differ: scores along the sampling trajectory, or on finished drawings that are noised
forward?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from exemplar import seeds
from exemplar.attend.annotations import split_agents
from exemplar.attend.figures.plots import plot_agreement
from exemplar.attend.mapping import mark
from exemplar.attend.scores import compare_sparseness, score_agreement, score_sparseness
from exemplar.attend.studies.diffusion_input import DiffusionInput, prepare
from exemplar.attend.studies.study import Asked, Study
from exemplar.records import Score
from exemplar.runs import Run

TIMES = 50


def compute(run: Run, asked: Asked, seed: int) -> list[Score]:
    """The trajectory's maps are marked on the model's own drawings; `forward` marks those same drawings, and people's too."""
    from dataclasses import replace

    from exemplar.attend.agents.misalignment import Forward, Trajectory
    from exemplar.attend.agents.score_jacobian import ScoreJacobian

    given: DiffusionInput = asked.inputs
    times = min(TIMES, given.model.schedule.steps)
    along = mark(Trajectory(given.model, times), given.task, "trajectory", seed=seed)
    own = replace(given.task, image=along.image)
    records = {
        "trajectory": along,
        "forward, on the model's own drawings": mark(Forward(given.model, times), own, "forward own", seed=seed),
        "forward, on the drawings of the task": mark(Forward(given.model, times), given.task, "forward", seed=seed),
        "score Jacobian": mark(ScoreJacobian(given.model, min(10, times)), given.task, "jacobian", seed=seed),
    }
    for name, record in records.items():
        run.save(record, f"maps-{name.split(',')[0].replace(' ', '-')}{'-own' if 'own' in name else ''}")
    found = {name: replace(split_agents(record)[0], agent=name) for name, record in records.items()}
    first, *others = found.values()
    scores = list(score_sparseness(first)[0])
    for other in others:
        rng = seeds.rng("attend readings", seed, other.agent)
        scores += score_agreement(first, other, rng=rng).scores
        scores += score_sparseness(other)[0]
        scores += compare_sparseness(first, other, rng=rng).scores
    return scores


def plot(scores: Sequence[Score]) -> Figure:
    return plot_agreement(scores, None)


def conclude(scores: Sequence[Score]) -> str:
    found = [score for score in scores if score.name == "spearman"]
    ends = [
        f"{score.agent}: {score.value:.2f}"
        + ("" if np.isnan(score.ci95[0]) else f" [{score.ci95[0]:.2f}, {score.ci95[1]:.2f}]")
        for score in found
    ]
    return f"Spearman's r of each concept's map with that along the trajectory. {'; '.join(ends)}."


READINGS = Study(
    "How do the readings of Eq. 4 differ?",
    "No code was released for Eq. 4. Here the model's own drawings are marked along the trajectory that led to "
    "them, and again when "
    "they are finished and noised forward to each time; people's drawings of the same concepts are marked forward too; and the "
    "norms of the score's derivative by the exemplar are the variant of the authors' later work.",
    prepare,
    compute,
    lambda scores: {"readings": plot(scores)},
    {
        "readings": "Correlation of concepts' mean maps with those along the trajectory, with 95 % intervals over concepts."
    },
    conclude,
)
