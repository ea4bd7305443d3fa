"""What the studies of diffusion models share: the model and the task, both found before anything long begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exemplar.attend.agents.denoiser import load_denoiser
from exemplar.attend.studies.study import Asked, StudyRequest
from exemplar.attend.tasks import AttendTask, make_task


@dataclass(frozen=True, eq=False)
class DiffusionInput:
    """model: as `ex.draw.load_agent` gives it; task: what it marks; name: of the model."""

    model: Any
    task: AttendTask
    name: str


def prepare(request: StudyRequest, seed: int) -> Asked:
    """A model by name, or an object that answers as draw's agents do."""
    given = request.agent
    model = load_denoiser(given) if isinstance(given, str) else given
    name = given if isinstance(given, str) else getattr(given, "name", type(given).__name__)
    task = make_task(
        request.data,
        request.split,
        n_concepts=request.concepts,
        n_drawings=request.drawings,
        size=model.size[0],
        seed=seed,
    )
    config = {"agent": name, "concepts": request.concepts, "drawings": request.drawings}
    lead = f"{name} on {task.data}: {len(task.concepts)} concepts, {request.drawings} drawings of each."
    inputs = DiffusionInput(model, task, name)
    return Asked(config, lead, {task.data: task.fingerprint}, task.warnings, inputs)
