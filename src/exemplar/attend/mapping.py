"""The verb `maps`: an agent marks the drawings of a task; a record, and a sheet to look at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, format_pairs
from exemplar.attend.agents import Agent, make_agent
from exemplar.attend.figures.overlays import write_map_sheet
from exemplar.attend.map_files import save_maps
from exemplar.attend.measures.blurring import resize_maps
from exemplar.attend.tasks import AttendTask, make_task
from exemplar.errors import UserError
from exemplar.options import check_path
from exemplar.records import Maps
from exemplar.user_code import guarded, seeded_globals


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MapsAnswer(Answer):
    """maps: the record; task: what was marked."""

    maps: Maps
    task: AttendTask


def map_drawings(
    agent: Any,
    data: Any,
    split: str | None,
    concepts: int,
    drawings: int,
    only: Sequence[str],
    size: int | None,
    out: Path | str,
    seed: int,
) -> MapsAnswer:
    path = check_path(out, ".npz", "The record of maps")
    task = make_task(data, split, n_concepts=concepts, n_drawings=drawings, only=only, size=size, seed=seed)
    name, marks = make_agent(agent, task)
    start = time.process_time()
    record = mark(marks, task, name, seed=seed)
    seconds = round(time.process_time() - start, 2)
    save_maps(path, record)
    sheet = path.with_suffix(".png")
    write_map_sheet(sheet, record, task)
    values = {
        "agent": name,
        "data": task.data,
        "concepts": len(task.concepts),
        "drawings": drawings,
        "maps": len(record),
        "size": list(record.map.shape[1:]),
        "cpu_seconds": seconds,
        "fingerprint": task.fingerprint,
        "seed": seed,
        "out": str(path),
        "sheet": str(sheet),
    }
    return MapsAnswer(
        values=values,
        text=format_pairs(values),
        warnings=task.warnings,
        figures={"sheet": sheet},
        maps=record,
        task=task,
    )


def mark(agent: Agent, task: AttendTask, name: str, *, seed: int = 0) -> Maps:
    """An agent's maps of every drawing of a task, on the drawings' own grid; wrong ones are refused in a sentence."""
    images, exemplars = (part.astype(np.float32) / 255 for part in (task.image, task.exemplar))
    rng = seeds.rng("attend maps", name, seed)
    with (
        guarded(f"{name} failed to mark {len(task)} drawings"),
        seeded_globals(seeds.seed("attend globals", name, seed)),
    ):
        found = agent(images, task.label.copy(), exemplars, rng)
    marked = task.image
    if getattr(agent, "draws", False):
        own, found = found
        marked = np.rint(np.clip(own, 0, 1) * 255).astype(np.uint8)
    maps = check_maps(found, len(task), (marked.shape[1], marked.shape[2]), name)
    return Maps.of(agent=name, participant=name, concept=task.names, image=marked, map=maps)


def check_maps(found: Any, n: int, size: tuple[int, int], name: str) -> np.ndarray:
    """What an agent returned as (n, *size) float32: numbers, of the drawings' proportions, none of them constant."""
    if hasattr(found, "detach"):
        found = found.detach().cpu()
    try:
        maps = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError) as problem:
        raise UserError(
            f"{name} returned a {type(found).__name__} that is no array of numbers of one size: return (n, h, w)."
        ) from problem
    if maps.ndim != 3 or len(maps) != n or 0 in maps.shape:
        raise UserError(
            f"{name} returned an array of shape {maps.shape} for {n} drawings: return ({n}, h, w), a map for each."
        )
    if maps.shape[1] * size[1] != maps.shape[2] * size[0]:
        raise UserError(
            f"{name} returned maps of {maps.shape[1]} × {maps.shape[2]} for drawings of {size[0]} × {size[1]}: keep their "
            "proportions."
        )
    flat = maps.reshape(n, -1)
    for wrong, what in (
        (~np.isfinite(flat).all(axis=1), "has values that are NaN or infinite: every importance must be a number"),
        (flat.min(axis=1) < 0, "has values below 0: return absolute values, or only what speaks for the concept"),
        (flat.max(axis=1) == 0, "is empty: something must matter"),
        (np.ptp(flat, axis=1) == 0, "is constant: something must matter more than the rest"),
    ):
        if wrong.any():
            raise UserError(f"The map of drawing {int(np.flatnonzero(wrong)[0])} by {name} {what}.")
    return resize_maps(maps, size)
