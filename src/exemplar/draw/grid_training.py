"""The verb `train_grid`: every network of a grid, one job each, over this machine or a Ray cluster; what is done stays done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exemplar import runs
from exemplar.answers import Answer, format_pairs, format_table
from exemplar.draw.diffusion.loading import is_trained
from exemplar.draw.grids import Grid, find_grid, parse_grid
from exemplar.draw.presets import find_preset, with_settings
from exemplar.draw.training import TrainingRequest, train_agent
from exemplar.engine import Backend
from exemplar.errors import UserError
from exemplar.spaces.zoo import load_card


@dataclass(frozen=True)
class GridJob:
    """One network. settings: NAME=VALUE each; out: the folder that all of them share."""

    preset: str
    data: str
    settings: tuple[str, ...]
    seed: int
    steps: int | None
    every: int
    device: str
    out: str

    @property
    def name(self) -> str:
        return TrainingRequest.of(self.preset, self.data, None, self.settings, self.steps, None, self.seed).name


def train_point(job: GridJob) -> dict[str, Any]:
    """What a worker does: train one network, resuming where it was stopped, unless it is there already."""
    path = f"{job.out}/{job.name}"
    if is_trained(path):
        card = load_card(path, room="draw")
        if job.steps is None or card.training.get("steps") == job.steps:
            return {"name": job.name, "loss": card.curve[-1]["loss"], "steps": card.training["steps"]}
    trained = train_agent(
        job.preset, job.data, None, job.settings, job.steps, None, job.out, job.every, job.device, 1, job.seed
    )
    return {"name": job.name, "loss": trained["loss"], "steps": trained["steps"]}


def train_all(
    name: str,
    vary: Sequence[str],
    preset: str | None,
    data: str | None,
    steps: int | None,
    every: int,
    out: Path | str,
    device: str,
    backend: Backend,
) -> Answer:
    """Every network of a named grid, or of one's own where the name is `own`."""
    if name == "own":
        if preset is None or data is None:
            raise UserError("a grid of your own needs --preset and --data")
        chosen = parse_grid(preset, data, vary)
    else:
        if vary or preset:
            raise UserError(f"{name} is the paper's grid: leave --vary and --preset out, or call it own")
        chosen = find_grid(name)
    folder = Path(out).expanduser()
    jobs = make_jobs(chosen, data or chosen.data, steps, every, str(folder.resolve()), device)
    asked = {
        "grid": name,
        "preset": chosen.preset,
        "axes": dict(chosen.axes),
        "data": data or chosen.data,
        "steps": steps,
    }
    with runs.open_run(folder, command="draw grid", config=asked, seed=0, backend=backend, keep="*.safetensors") as run:
        found = run.map(train_point, jobs, label=f"training {len(jobs)} networks")
        runs.write_json(
            folder / "grid.json", {"grid": name, "text": chosen.text, "guidance": chosen.guidance, "networks": found}
        )
    rows = [(row["name"], row["steps"], f"{row['loss']:.4f}") for row in found]
    values = {"grid": name, "networks": found, "guidance": list(chosen.guidance), "run": str(folder)}
    text = f"{format_table(('network', 'steps', 'loss'), rows)}\n\n{format_pairs({'folder': folder, 'about': chosen.text})}"
    hint = f"\n\nScore them: exemplar draw study diffusion-grid --agent {folder} --data …"
    return Answer(values=values, text=text + hint, folder=folder)


def make_jobs(chosen: Grid, data: str, steps: int | None, every: int, out: str, device: str) -> list[GridJob]:
    """One job per network; what no network can have is refused before any is trained."""
    jobs = []
    for point in chosen.trainings:
        settings = {name: value for name, value in point.items() if name != "seed"}
        with_settings(find_preset(chosen.preset), settings).objective.check_settings()
        words = tuple(f"{name}={value}" for name, value in settings.items())
        jobs.append(GridJob(chosen.preset, data, words, int(point.get("seed", 0)), steps, every, device, out))
    return jobs
