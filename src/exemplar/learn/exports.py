"""Built-in objects as files, for an encoder of one's own: a folder in the layout of the public files, or one npz; the verb
`objects`."""

from __future__ import annotations

import hashlib
import io
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from scipy.spatial.transform import Rotation

from exemplar import engine
from exemplar.answers import Answer
from exemplar.errors import UserError
from exemplar.files import PART, check_place, write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.images.objects import ObjectsConfig, Views, load_objects, views
from exemplar.images.objects.views import SIZES
from exemplar.images.objects.views import TRAINING as TRAINING_VIEW
from exemplar.learn.figures.objects import choose_views
from exemplar.learn.people import IMAGE_SETS
from exemplar.learn.stimuli import PUBLIC, SPLITS, TRAINING, Stimuli, built_in_stimuli, image_names, public_stimuli
from exemplar.report.sheets import write_sheet
from exemplar.runs import plain, write_json

MOST_BYTES = 2**31  # of the images of an npz, all of which are in memory at once


@dataclass(frozen=True)
class DrawJob:
    """The images of object number `concept` of a split, as PNGs into a folder; names: one per image."""

    split: str
    config: ObjectsConfig
    concept: int
    folder: str
    names: tuple[str, ...]


def export_objects(
    out: Path | str, experiment: int, config: ObjectsConfig, *, backend: engine.Backend | None = None
) -> Answer:
    """The images of an experiment as files, and a sheet of some of them."""
    place = Path(out).expanduser()
    stimuli, written = write_objects(place, experiment, config, backend=backend)
    n_subtasks, n_objects, n_images = stimuli.shape
    one_file = place.suffix == ".npz"
    sheet = place.with_name(f"{place.stem}-sheet.png") if one_file else place / "sheet.png"
    write_sheet(sheet, *choose_views(stimuli, written, experiment), drawn=False)
    values = {
        "out": str(out),
        "sheet": str(sheet),
        "experiment": experiment,
        "subtasks": n_subtasks,
        "objects": n_subtasks * n_objects,
        "images": len(stimuli.pictures),
        "warmup_images": len(stimuli.warmup),
        "fingerprint": stimuli.pictures.fingerprint,
        "seed": config.seed,
    }
    text = (
        f"{out}: {n_subtasks} subtasks, {n_subtasks * n_objects} objects with {n_images} images each, and "
        f"{len(stimuli.warmup)} warm-up images. Look at {sheet}."
    )
    return Answer(values=values, text=text, folder=None if one_file else place, figures={"sheet": sheet})


def write_objects(
    out: Path, experiment: int, config: ObjectsConfig, *, backend: engine.Backend | None = None
) -> tuple[Stimuli, ConceptSet]:
    """Write the images of an experiment and its warm-up images; out: a new folder, or a file called something.npz.

    Returns what was written, and its images as they can be read again without being drawn again.
    """
    if out.suffix == ".npz":
        if out.exists():
            raise UserError(f"{out} already exists: give --out a new file, or remove this one")
        check_place(out)
        stimuli = built_in_stimuli(experiment, config)
        return stimuli, _write_archive(out, stimuli)
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UserError(f"{out} already exists: give --out a new folder, or remove this one")
    stimuli = built_in_stimuli(experiment, config)
    out = out.absolute()
    part = out.with_name(f".{out.name}{PART}")
    try:
        shutil.rmtree(part, ignore_errors=True)  # what a kill left
        for split, name, own in (
            (SPLITS[experiment], PUBLIC[experiment], config),
            ("warm-up", "warmup", replace(config, objects=None, views=None)),
        ):
            _write_split(part / "data", split, name, own, backend)
        about = {"experiment": experiment, "objects": asdict(config), "fingerprint": stimuli.pictures.fingerprint}
        about |= {"subtasks": stimuli.subtasks, "made_by": "exemplar learn objects", "people_saw_these": False}
        write_json(part / "objects.json", plain(about))
        if out.is_dir():
            out.rmdir()
        part.replace(out)
    except OSError as problem:
        raise UserError(f"{out} cannot be written ({problem.strerror or problem}): choose another place") from problem
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return stimuli, public_stimuli(out, experiment).pictures


def _write_archive(out: Path, stimuli: Stimuli) -> ConceptSet:
    """In the file: images (subtasks, 2, images, h, w) uint8, warmup_images (n, h, w), and what goes beside `features`: subtask,
    image, test. Returns the images."""
    size = (len(stimuli.pictures) + len(stimuli.warmup)) * int(np.prod(stimuli.pictures.shape))
    if size > MOST_BYTES:
        raise UserError(
            f"{size / 2**30:.1f} GB of images are too many for one npz: write a folder, or a smaller --size"
        )
    drawn = stimuli.pictures.images
    images = drawn.reshape(*stimuli.shape, *stimuli.pictures.shape)
    names = {"subtask": np.array(stimuli.subtasks), "image": stimuli.image, "test": stimuli.test}
    write_npz(out, {"images": images, "warmup_images": stimuli.warmup.images, **names})
    return ConceptSet.of(str(out), drawn, stimuli.pictures.concept)


def _write_split(data: Path, split: str, name: str, config: ObjectsConfig, backend: engine.Backend | None) -> None:
    """The PNGs of a split and their metadata."""
    pictures, table = load_objects(split, config), views(split, config)
    names = np.array(image_names(pictures)).reshape(pictures.n_concepts, -1)
    folder = data / "images" / IMAGE_SETS[name]
    jobs = []
    for number, concept in enumerate(pictures.concepts):
        (folder / concept).mkdir(parents=True)
        jobs.append(DrawJob(split, config, number, str(folder / concept), tuple(names[number].tolist())))
    digests = engine.map(write_object, jobs, label=f"drawing {split} objects", backend=backend)
    rows: dict[str, Any] = {
        "image_id": names.ravel(),
        "category": np.repeat(pictures.concepts, names.shape[1]),
        "sha256": np.concatenate(digests),
    }
    rows |= _one_shot_columns(table, names) if split == "one-shot" else _pose_columns(table)
    frame = pd.DataFrame(rows)
    frame["relpath"] = f"images/{IMAGE_SETS[name]}/" + frame["category"] + "/" + frame["image_id"]
    frame["original_category_name"], frame["original_filename"] = frame["category"], frame["image_id"]
    frame.to_csv(data / f"meta-{IMAGE_SETS[name]}.csv", index=False)


def write_object(job: DrawJob) -> np.ndarray:
    """Write one object's PNGs; (images,) text, the SHA-256 of each file."""
    n = len(job.names)
    images = load_objects(job.split, job.config).take(np.arange(job.concept * n, (job.concept + 1) * n))
    found = []
    for name, image in zip(job.names, images, strict=True):
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "PNG")
        Path(job.folder, name).write_bytes(buffer.getvalue())
        found.append(hashlib.sha256(buffer.getvalue()).hexdigest())
    return np.array(found)


def _pose_columns(table: Views) -> dict[str, np.ndarray]:
    """rx, ry, rz: degrees about the fixed axes x, y, z, in this order; s: size, 1 for half the image; u, v: right and down."""
    angles = Rotation.from_matrix(table.rotation).as_euler("xyz", degrees=True)
    return dict(zip(("rx", "ry", "rz"), angles.T, strict=True)) | {
        "s": table.size / SIZES[1],
        "u": table.x,
        "v": table.y,
    }


def _one_shot_columns(table: Views, names: np.ndarray) -> dict[str, np.ndarray]:
    """As the public files say it: what was done to which image."""
    kind = np.where(table.transformation == TRAINING_VIEW, TRAINING, table.transformation)
    base = np.repeat(names[:, 0], names.shape[1])
    return {"base_image_id": base, "transformation": kind, "transformation_level": table.level.round(6)}
