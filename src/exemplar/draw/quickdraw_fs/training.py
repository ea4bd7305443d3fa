"""Step 2: the space that concepts are clustered in, a SimCLR trained on the drawings that are set aside."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from exemplar.answers import Answer, format_pairs
from exemplar.draw.quickdraw_fs.sources import (
    Category,
    Deal,
    check_alone,
    count_drawings,
    deal,
    find_categories,
    find_files,
    read_category,
)
from exemplar.errors import UserError
from exemplar.files import check_folder
from exemplar.images import sources
from exemplar.images.pixels import Packed
from exemplar.images.quickdraw_fs import N_ASIDE, N_CLUSTERED, SIZE, THRESHOLD, count_aside, draw_aside
from exemplar.spaces.devices import find_device
from exemplar.spaces.recipes import describe_machine, find_recipe, finish
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train

RECIPE = "simclr-quickdraw-clusters"


def train_clustering(
    out: Path | str,
    folder: Path | str | None,
    form: str,
    most: int,
    steps: int | None,
    every: int,
    device: str,
    seed: int,
) -> Answer:
    """Weights and card of the recipe's network, trained on a folder's own drawings; what was stopped resumes."""
    place, name = Path(out).expanduser(), f"{RECIPE}-s{seed}"
    recipe, _ = find_recipe(name)
    recipe = recipe if steps is None else recipe.for_steps(steps)
    find_device(device)
    check_folder(place)
    data = "quickdraw-bitmaps" if form == "bitmaps" else "quickdraw"
    recipe = replace(recipe, data=(data, "set aside", None), chosen="")  # of these files, of which nothing was chosen
    files = Path(folder).expanduser() if folder is not None else sources.obtain(data)
    images = gather_aside(files, form, most)
    trained = train(
        recipe.objective, images, steps=recipe.steps, seed=seed, folder=place / "training" / name, device=device,
        every=every, **recipe.speed_options(device),
    )  # fmt: skip
    finish(name, recipe, seed, trained, place, concepts=images.names, machine=describe_machine(device))
    values = {
        "space": f"{out}/{name}",
        "categories": images.n_classes,
        "drawings": len(images.pixels),
        "steps": recipe.steps,
        "loss": round(trained.curve[-1]["loss"], 5),
        "seconds": round(trained.seconds, 1),
    }
    text = format_pairs(values) + f"\n\nNow cluster: exemplar draw quickdraw-fs cluster --space {out}/{name}"
    return Answer(values=values, text=text, folder=place)


def gather_aside(folder: Path, form: str, most: int) -> TrainingImages:
    """At most so many of the drawings that each category sets aside, evenly from the first to the last of these: memory grows
    with the number of categories, not with that of their drawings."""
    images: list[np.ndarray] = []
    label: list[int] = []
    names: list[str] = []
    for word, drawings in _aside(folder, form):
        if len(drawings):
            rows = np.unique(np.linspace(0, len(drawings) - 1, min(most, len(drawings))).round().astype(np.intp))
            images.append(drawings.take(rows))
            label += [len(names)] * len(rows)
            names.append(word)
    if not names:
        raise UserError(f"{folder} has too few drawings to set any aside: add drawings")
    return TrainingImages.of(np.concatenate(images), np.array(label), names)


def _aside(folder: Path, form: str) -> Iterator[tuple[str, Packed]]:
    if form == "bitmaps":
        yield from draw_aside(folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        for category in _categories(find_files(folder, form), form, Path(scratch)):
            n = count_aside(count_drawings(category, N_ASIDE + N_CLUSTERED))
            yield category.word, read_category(category, 0, n, size=SIZE, threshold=THRESHOLD)[0]


def _categories(paths: list[Path], form: str, scratch: Path) -> list[Category]:
    found, mixed = find_categories(paths, form)
    for path in mixed:
        for word, name in deal(Deal(path, scratch / path.name, N_ASIDE + N_CLUSTERED, path.stat().st_size)):
            found.append(Category.of(word, scratch / path.name / name, form))
    return check_alone(found)
