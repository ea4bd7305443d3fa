"""How many steps are enough: one trained network, several samplers and numbers of steps, beside the paper's sampler."""

from __future__ import annotations

import numpy as np

from exemplar.draw.diffusion.agent import DiffusionAgent
from exemplar.draw.diffusion.loading import load_agent
from exemplar.draw.studies.agent_study import (
    AgentQuestion,
    AgentStudy,
    draw_variants,
    overall,
    score_variants,
    sheet_arrays,
    with_setting,
)
from exemplar.draw.studies.known_answers import mean_changes
from exemplar.errors import UserError
from exemplar.files import write_npz
from exemplar.records import Score, Scores
from exemplar.runs import Run, write_json

STEPS = (5, 10, 20, 50)
SAMPLERS = ("dpm-solver", "ddim", "ancestral")
REPORTED = ("diversity", "originality", "copy_rate")


def samplers(run: Run, seed: int, question: AgentQuestion) -> Scores:
    """Scores of each sampler at each number of steps, and their paired differences from the paper's, all T ancestral steps."""
    agent = load_agent(question.agent)
    if not isinstance(agent, DiffusionAgent):
        raise UserError(f"{question.agent} draws in one pass, and has no sampler to study: name a diffusion agent")
    total = agent.schedule.steps
    ways = {
        f"{sampler}, {steps} steps": with_setting(question.agent, sampler=sampler, steps=steps)
        for sampler in SAMPLERS
        for steps in STEPS
        if steps < total
    }
    paper = f"ancestral, {total} steps"
    ways[paper] = with_setting(question.agent, sampler="ancestral", steps="all")
    drawings, seconds = draw_variants(run, question, ways, seed, kept=False)
    scored = score_variants(question, drawings, seed)
    named = next(score.name for score in scored[paper].scores if score.name.startswith("recognizability_"))
    scores: list[Score] = []
    for name, found in scored.items():
        scores += overall(found, REPORTED)
        if name != paper:
            scores += mean_changes(
                scored[paper], found, ("diversity", named, "originality"), f"{name} less {paper}", seed
            )
    write_json(run.folder / "seconds.json", {name: round(value, 3) for name, value in seconds.items()})
    arrays = {"n": np.array(question.task.n), "steps": np.array([*STEPS, total])}
    write_npz(run.folder / "samplers.npz", {**arrays, **sheet_arrays(question, drawings)})
    return Scores.collect(scores)


SAMPLER_STUDY = AgentStudy(
    "samplers",
    "How many steps are enough?",
    "One trained network draws with three samplers and several numbers of steps, each after the same exemplars and from the "
    "same first noise. Differences are paired over concepts with the sampler of the paper, which takes every step; how many "
    "seconds each took is in seconds.json.",
    samplers,
)
