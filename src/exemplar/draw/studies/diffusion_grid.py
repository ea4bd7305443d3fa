"""Where trained networks lie: every agent of a folder on the plane of diversity and recognizability. Fig. 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from exemplar.draw.diffusion.agent import DiffusionAgent
from exemplar.draw.diffusion.loading import ROOM, load_agent
from exemplar.draw.studies.agent_study import (
    AgentQuestion,
    AgentStudy,
    draw_variants,
    overall,
    score_variants,
    sheet_arrays,
    with_setting,
)
from exemplar.errors import UserError
from exemplar.files import write_npz
from exemplar.records import Score, Scores
from exemplar.runs import Run
from exemplar.spaces.zoo import list_networks

REPORTED = ("diversity", "originality", "copy_rate", "distance_to_people", "distance_to_simulated_drawers")


def diffusion_grid(run: Run, seed: int, question: AgentQuestion) -> Scores:
    """Scores of every network in the folder, at each guidance of its grid where it can be guided."""
    agents = list_agents(question.agent)
    drawings, _ = draw_variants(run, question, agents, seed)
    scored = score_variants(question, drawings, seed)
    scores: list[Score] = [score for found in scored.values() for score in overall(found, REPORTED)]
    parameters = [_parameters(agent) for agent in agents.values()]
    arrays = {"n": np.array(question.task.n), "parameters": np.array(parameters)}
    write_npz(run.folder / "diffusion-grid.npz", {**arrays, **sheet_arrays(question, drawings, n_concepts=1)})
    return Scores.collect(scores)


def list_agents(given: str) -> dict[str, str]:
    """What it is called → FOLDER/NAME with settings. given: a folder, with settings of drawing after an @."""
    place, _, settings = given.partition("@")
    folder = Path(place).expanduser()
    if not folder.is_dir():
        raise UserError(f"{place} is no folder of trained agents: give the one that `exemplar draw grid` wrote")
    names = list_networks(ROOM, folder)
    if not names:
        raise UserError(f"there are no trained agents in {place}: train some with exemplar draw grid")
    gammas = _guidance(folder)
    found: dict[str, str] = {}
    for name in names:
        agent = f"{folder}/{name}" + (f"@{settings}" if settings else "")
        loaded = load_agent(agent) if gammas else None
        if isinstance(loaded, DiffusionAgent) and loaded.sampling.guidance:
            found |= {f"{name}, γ = {gamma:g}": with_setting(agent, guidance=f"{gamma:g}") for gamma in gammas}
        else:
            found[name] = agent
    return found


def _guidance(folder: Path) -> list[float]:
    path = folder / "grid.json"
    return list(json.loads(path.read_text(encoding="utf-8")).get("guidance", [])) if path.is_file() else []


def _parameters(agent: str) -> int:
    return sum(parameter.numel() for parameter in load_agent(agent).network.parameters())


DIFFUSION_GRID = AgentStudy(
    "diffusion-grid",
    "Where trained networks lie",
    "Every trained network of a folder, and where it can be guided at each strength of guidance of its grid, on the plane of "
    "diversity and recognizability (Boutin et al. 2023, Fig. 2).",
    diffusion_grid,
)
