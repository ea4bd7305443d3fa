"""What a study of an agent is: the same trained network asked to draw in several ways, each scored as any drawer is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exemplar.draw.critics import Critics
from exemplar.draw.diffusion.loading import load_agent, split_settings
from exemplar.draw.drawings import arrange_drawings, call_agent, stack
from exemplar.draw.sample_store import keep_samples
from exemplar.draw.scores import DEFAULT, ScoreConfig, ScoredDrawings
from exemplar.draw.scoring import compute_scores
from exemplar.draw.tasks import DrawingTask
from exemplar.records import Drawings, Score, Scores
from exemplar.runs import Run

SHOWN = 6  # drawings of a concept that are kept for a sheet


@dataclass(frozen=True, eq=False)
class AgentQuestion:
    """What is studied: an agent by name (FOLDER/NAME, with settings), or a folder of several; task and critics as `draw score`
    would have them; with_drawers: whether the data's own drawers made as many drawings."""

    agent: str
    task: DrawingTask
    critics: Critics
    with_drawers: bool

    @property
    def config(self) -> ScoreConfig:
        return replace(DEFAULT, with_drawers=self.with_drawers)


@dataclass(frozen=True)
class AgentStudy:
    """An experiment on a trained agent. compute: given an open run, a seed and the question it returns scores, and leaves in
    the run a file NAME.npz that holds what its figures need."""

    name: str
    title: str
    text: str
    compute: Callable[[Run, int, AgentQuestion], Scores]


@dataclass(frozen=True)
class DrawingJob:
    """One way to draw. agent: name and settings; weights: their digest, so that none are taken for others; exemplars: (k, h, w)
    uint8; kept: whether drawings may come from the store."""

    agent: str
    weights: str
    exemplars: np.ndarray
    n: int
    seed: int
    kept: bool


def draw_job(job: DrawingJob) -> dict[str, Any]:
    """What a worker does: drawings (k, n, h, w) uint8, and how many seconds they took."""
    agent = load_agent(job.agent)
    sample = keep_samples(agent) if job.kept else agent
    begun = time.perf_counter()
    drawn = call_agent(sample, job.exemplars.astype(np.float32) / 255, job.n, job.agent, job.seed)
    return {"drawn": drawn, "seconds": time.perf_counter() - begun}


def draw_variants(
    run: Run, question: AgentQuestion, agents: Mapping[str, str], seed: int, *, kept: bool = True
) -> tuple[dict[str, Drawings], dict[str, float]]:
    """Drawings of each, by what it is called, and seconds. agents: called → name with settings; all are loaded once before any
    draws, so that a wrong setting is found at once."""
    task = question.task
    weights = {name: str(load_agent(agent).identity["weights"]) for name, agent in agents.items()}
    jobs = [DrawingJob(agents[name], weights[name], task.exemplars, task.n, seed, kept) for name in agents]
    found = run.map(draw_job, jobs, label=f"{len(jobs)} ways to draw")
    drawings = {
        name: arrange_drawings(result["drawn"], task, agent=name, seed=seed)
        for name, result in zip(agents, found, strict=True)
    }
    return drawings, {name: result["seconds"] for name, result in zip(agents, found, strict=True)}


def score_variants(question: AgentQuestion, drawings: Mapping[str, Drawings], seed: int) -> dict[str, ScoredDrawings]:
    return {
        name: compute_scores(some, question.task, question.critics, question.config, seed=seed)
        for name, some in drawings.items()
    }


def with_setting(agent: str, **settings: object) -> str:
    """The agent's name with further settings: cfgdm@steps=50 → cfgdm@steps=50,guidance=2."""
    stem, _, before = split_settings(agent)
    words = [before] * bool(before) + [f"{name}={value}" for name, value in settings.items()]
    return f"{stem}@{','.join(words)}"


def overall(scored: ScoredDrawings, names: Sequence[str]) -> list[Score]:
    """The scores of these names over all concepts and critics, and any recognizability."""
    return [
        score
        for score in scored.scores
        if not score.concept and not score.space and score.agent == scored.agent
        and (score.name in names or score.name.startswith("recognizability_"))
    ]  # fmt: skip


def sheet_arrays(
    question: AgentQuestion, drawings: Mapping[str, Drawings], n_concepts: int = 3
) -> dict[str, np.ndarray]:
    """Some drawings of each way, after the same exemplars, for a sheet."""
    k = len(question.task.concepts)
    places = np.unique(np.linspace(0, k - 1, min(n_concepts, k)).round().astype(int))
    found = {f"drawings of {name}": stack(some, question.task)[places, :SHOWN] for name, some in drawings.items()}
    return {**found, "names": np.array(list(drawings)), "exemplars": question.task.exemplars[places]}
