"""An agent at the task: the verb `sample` leaves a record of what it drew, and a sheet to look at."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from exemplar import runs, seeds
from exemplar.answers import Answer, format_pairs
from exemplar.draw.agents import make_agent
from exemplar.draw.drawings import find_warnings, sample_drawings, stack
from exemplar.draw.own_exemplar import read_exemplar
from exemplar.draw.requests import Request, find_drawings, name_drawer
from exemplar.draw.sample_store import keep_samples
from exemplar.errors import UserError
from exemplar.files import whole_file
from exemplar.records import Drawings
from exemplar.report.resizing import resize
from exemplar.report.sheets import sheet_png

SHEET_CONCEPTS, SHEET_DRAWINGS = 12, 10
OWN_DRAWINGS = 8  # after an image of one's own


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SampledDrawings(Answer):
    """What an agent drew. drawings: the record, with `image` (n, h, w) uint8, ink 255."""

    folder: Path
    drawings: Drawings


def sample_into_folder(
    who: Any,
    request: Request,
    out: Path | str | None,
    *,
    agent: str | None = None,
    drawn: Mapping[str, Any] | None = None,
) -> SampledDrawings:
    """Let an agent draw what the request asks for, into the folder `out`. agent: another name for it; drawn: how its drawings
    were made, where that is known of a file."""
    task, seed = request.task, request.seed
    said: list[str] = []
    drawings = find_drawings(who, task, agent=agent, seed=seed, said=said)
    name = str(drawings["agent"].iloc[0])
    stem = re.sub(r"[^\w.@-]+", "-", f"{name}-{task.data.name}-s{seed}")
    folder = Path(out).expanduser() if out is not None else Path("runs/draw") / f"drawings-of-{stem}"
    asked = {"agent": name, "asked": request.plain(task.n), "exemplar": task.chosen_by}
    asked |= {} if drawn is None else {"drawn": dict(drawn)}
    fingerprint = {task.data.name: task.data.fingerprint}
    with runs.open_run(folder, command="draw sample", config=asked, seed=seed, data=fingerprint) as run:
        if not run.finished:
            run.save(drawings)
            images = stack(drawings, task)[:, :SHEET_DRAWINGS]
            framed = resize(task.exemplars, (images.shape[2], images.shape[3]))
            images = np.concatenate([framed[:, None], images], axis=1)
            with whole_file(folder / "sheet.png") as part:
                part.write_bytes(_sheet(images[:SHEET_CONCEPTS], task.concepts))
    drawings, warnings = Drawings.load(folder), (*said, *find_warnings(drawings, task))
    values = {"agent": name, "data": task.data.name, "exemplar": task.chosen_by, "n": task.n}
    values |= {"concepts": len(task.concepts), "seed": seed, "warnings": list(warnings), "run": str(folder)}
    shown = {key: value for key, value in values.items() if key != "warnings"}
    text = (
        format_pairs({**shown, "sheet": folder / "sheet.png"})
        + f"\n\nScore them: exemplar draw score {folder} --data {request.data}{_concept_options(request)}"
    )
    return SampledDrawings(
        values=values,
        text=text,
        warnings=warnings,
        folder=folder,
        figures={"sheet": folder / "sheet.png"},
        drawings=drawings,
    )


def sample_after_image(
    agent: Any, path: Path | str, n: int | None, out: Path | str | None, seed: int
) -> SampledDrawings:
    """Let an agent draw after an image file of the user's own, into the folder `out`: a record, a sheet, and an image each."""
    if not isinstance(agent, str):
        raise UserError("After an image of your own draws an agent that has a name: give one, such as cfgdm-small.")
    read_exemplar(path)  # a mistake in it is found before weights are loaded
    sample = make_agent(agent, read_exemplar(path).task(n or OWN_DRAWINGS))
    own = read_exemplar(path, getattr(sample, "size", None))
    task, name = own.task(n or OWN_DRAWINGS), name_drawer(agent)
    drawings = sample_drawings(keep_samples(sample), task, agent=name, seed=seed)
    stem = re.sub(r"[^\w.@-]+", "-", f"{name}-{own.name}-s{seed}")
    folder = Path(out).expanduser() if out is not None else Path("runs/draw") / f"drawings-of-{stem}"
    asked = {"agent": name, "exemplar": seeds.digest(own.image), "n": task.n}
    with runs.open_run(folder, command="draw sample", config=asked, seed=seed) as run:
        if not run.finished:
            run.save(drawings)
            images = stack(drawings, task)
            with whole_file(folder / "sheet.png") as part:
                framed = resize(own.image[None], (images.shape[2], images.shape[3]))
                part.write_bytes(_sheet(np.concatenate([framed[:, None], images], axis=1), task.concepts))
            for index, image in enumerate(images[0]):
                with whole_file(folder / "images" / f"{own.name}-{index + 1:02}.png") as part:
                    Image.fromarray(255 - image).save(part, "PNG")
    warnings = (*own.said, *find_warnings(drawings, task))
    values = {"agent": name, "exemplar": str(path), "n": task.n, "seed": seed, "warnings": list(warnings)}
    values |= {"run": str(folder)}
    shown = {key: value for key, value in values.items() if key != "warnings"}
    text = format_pairs({**shown, "sheet": folder / "sheet.png", "images": folder / "images"})
    return SampledDrawings(
        values=values, text=text, warnings=warnings, folder=folder, figures={"sheet": folder / "sheet.png"},
        drawings=Drawings.load(folder),
    )  # fmt: skip


def _concept_options(request: Request) -> str:
    """What `draw score` must be told where only some concepts were drawn; the seed chooses those that are a number."""
    words = "".join(f" --concepts {shlex.quote(word)}" for word in request.only)
    return f"{words} --seed {request.seed}" if words and request.seed else words


def _sheet(images: np.ndarray, concepts: tuple[str, ...]) -> bytes:
    """One concept per row, its exemplar framed. images: (rows, 1 + drawings, h, w) uint8."""
    frames = {(row, 0): "#c8472b" for row in range(len(images))}
    return sheet_png(images, list(concepts[: len(images)]), frames=frames)
