"""A training that is done on another machine: what is sent there, and what is made of what comes back.

What happens between is `python -m exemplar.draw.diffusion.elsewhere`, which needs torch, NumPy and lightning_fabric alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, format_pairs
from exemplar.draw.diffusion.gathering import find_setting
from exemplar.draw.diffusion.keeping import save_agent
from exemplar.draw.diffusion.prepared import (
    PreparedTraining,
    read_training,
    read_weights,
    write_exemplars,
    write_training,
)
from exemplar.draw.presets import NETWORKS, read_objective
from exemplar.draw.requests import Request
from exemplar.draw.sampling import SampledDrawings, sample_into_folder
from exemplar.draw.tasks import DrawingTask
from exemplar.draw.training import TrainingRequest, describe_training
from exemplar.errors import UserError
from exemplar.files import check_folder
from exemplar.options import check_path
from exemplar.runs import read_json
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.training.loop import Trained

THERE = "PYTHONPATH=src python -m exemplar.draw.diffusion.elsewhere"


def prepare_training(
    agent: str,
    data: str,
    split: str | None,
    settings: Sequence[str],
    steps: int | None,
    hold_out: str | None,
    out: Path | str,
    device: str,
    seed: int,
) -> Answer:
    """Drawings and recipe of a training into one file."""
    place = check_path(out, ".npz", "A prepared training")
    request = TrainingRequest.of(agent, data, split, settings, steps, hold_out, seed)
    images, recipe = request.gather(device)
    write_training(place, PreparedTraining(request.name, recipe, seed, images))
    values = {
        "file": str(place), "agent": request.name, "concepts": images.n_classes, "drawings": len(images.pixels),
        "steps": recipe.steps, "megabytes": round(place.stat().st_size / 1e6, 1),
    }  # fmt: skip
    there = f"{THERE} train {place.name} --work build/{request.name} --out OUT --minutes 9"
    back = f"exemplar draw elsewhere finish {place} OUT/{request.name}.pt"
    text = f"{format_pairs(values)}\n\nThere, until it says done:  {there}\nHere, afterwards:  {back}"
    return Answer(values=values, text=text)


def prepare_exemplars(
    data: str, split: str | None, exemplar: str, only: tuple[str, ...], out: Path | str, size: int, seed: int
) -> Answer:
    """The exemplars of a task into one file. size: px, those of the network."""
    place = check_path(out, ".npz", "A file of exemplars")
    request = Request(
        data=data, split=split, exemplar=exemplar, n=3, seed=seed, only=only, people=False, allow_seen=True
    )
    task = request.task  # nothing is scored here, so critics may have seen these concepts
    prepared = DrawingInput((size, size), find_setting(data, split).threshold).prepare(task.exemplars)
    about = {"data": task.data.name, "exemplar": task.chosen_by}
    told = about | {"task": digest_task(task)}
    write_exemplars(place, (prepared[:, 0] * 255).astype(np.uint8), task.concepts, told)
    values = {"file": str(place), **about, "concepts": len(task.concepts), "size": size}
    there = f"{THERE} draw {place.name} WEIGHTS.pt --n 19 --out OUT"
    return Answer(values=values, text=f"{format_pairs(values)}\n\nThere:  {there}")


def digest_task(task: DrawingTask) -> str:
    """Of the concepts and the very images that are shown."""
    return seeds.digest(task.concepts, task.exemplars)


def record_drawings(
    drawn: Path | str, agent: str, data: str, split: str | None, exemplar: str, only: tuple[str, ...], out: Path | str | None,
    seed: int,
) -> SampledDrawings:  # fmt: skip
    """What came back, as `draw sample` would have left it; config.json says by which weights it was drawn, and how."""
    path = Path(drawn).expanduser()
    told = path.with_suffix(".json")
    if not told.is_file():
        raise UserError(f"there is no {told}: bring it back with the drawings, it says how they were made")
    about = read_json(told)
    shown = about.get("exemplars", {})
    if not isinstance(shown, dict) or "task" not in shown or not isinstance(about.get("n"), int):
        raise UserError(f"{told} does not say what was shown: draw again, after exemplars of `elsewhere exemplars`")
    request = Request(data=data, split=split, exemplar=exemplar, n=about["n"], seed=seed, only=only, people=False)
    if shown["task"] != digest_task(request.task):
        raise UserError(
            f"{path} was drawn after other exemplars ({shown.get('data')}, {shown.get('exemplar')}) than asked here "
            f"({request.task.data.name}, {request.task.chosen_by}): name those"
        )
    return sample_into_folder(path, request, out, agent=agent, drawn={**about, "exemplars": shown["task"]})


def finish_training(prepared: Path | str, weights: Path | str, out: Path | str) -> Answer:
    """Weights and card, as `train` leaves them, of what was trained elsewhere."""
    folder = Path(out).expanduser()
    check_folder(folder)
    training, content = read_training(Path(prepared).expanduser()), read_weights(Path(weights).expanduser())
    about = content["training"]
    if about.get("digest") != training.digest:
        raise UserError(
            f"{weights} was not trained on {prepared} (other drawings, settings or seed): give the file that was sent"
        )
    objective, step = read_objective(about), int(content["step"])
    network = NETWORKS[about["architecture"]](**about["config"])
    network.load_state_dict(content["weights"])
    trained = Trained(network.eval(), content["curve"], float(content["seconds"]))
    recipe, name = replace(training.recipe, objective=objective, steps=step), training.name
    if getattr(objective, "average", 0.0) != getattr(training.objective, "average", 0.0):
        name = f"{name}-raw"
    planned = getattr(objective, "last_step", training.recipe.steps)
    if step < planned:
        name = f"{name}-at-{step}"
        recipe = replace(recipe, chosen=f"{recipe.chosen} Stopped at step {step:,} of a schedule of {planned:,}.")
    save_agent(
        name, recipe, training.seed, trained, folder, concepts=training.images.names, machine=content["machine"],
        torch_version=content["torch"],
    )  # fmt: skip
    return describe_training(name, folder, recipe, training.images, trained, ())
