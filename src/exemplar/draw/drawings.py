"""Drawings from anywhere as one record: a folder of images, an npz, a record or run folder, or a function that draws.

sample(exemplars, n, rng) -> (k, n, h, w)     # exemplars: (k, h, w) float32 in [0, 1], ink 1; n drawings of each

What torch users have is taken, too: tensors on any device, a channel of one, values from −1 to 1; and it is said.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from exemplar import seeds
from exemplar.draw.tasks import FEWEST, DrawingTask, as_drawings
from exemplar.errors import UserError, shortened, unknown
from exemplar.images.arrays import to_array, to_levels, without_channel
from exemplar.images.concepts import ConceptSet
from exemplar.images.folder import composed, load_folder, load_npz
from exemplar.records import Drawings
from exemplar.spaces.inputs import as_bytes
from exemplar.user_code import guarded, seeded_globals

Sample = Callable[[np.ndarray, int, np.random.Generator], Any]
TINY = 16  # px: below, a character can no longer be read
LAYOUT = "give a folder with one sub-folder of images per concept, an npz, a Drawings record or a run folder"


def read_drawings(
    path: Path | str | Drawings,
    task: DrawingTask,
    *,
    agent: str | None = None,
    invert: bool = False,
    size: int | None = None,
    said: list[str] | None = None,
) -> Drawings:
    """Drawings of every concept of the task, whoever made them.

    path: FOLDER/CONCEPT/IMAGE (or FOLDER/GROUP/CONCEPT/IMAGE), an npz of `images` (n, h, w) and `concept` (n,), a Drawings
    record (its parquet) or a run folder that holds one. agent: who drew, by default the record's, or the path's own name;
    invert: for dark ink on bright paper; size: px, where the files of a folder differ in size; said: where sentences go about
    what was changed.
    """
    said = [] if said is None else said
    if isinstance(path, Drawings):
        return _of_record(path, task, "the record", agent, invert, said)
    path = Path(path).expanduser()
    if not path.exists():
        raise UserError(f"there is no {path}: {LAYOUT}")
    if (path / "drawings.parquet").is_file() or path.suffix == ".parquet":
        folder, name = (path.parent, path.stem) if path.suffix == ".parquet" else (path, "drawings")
        return _of_record(Drawings.load(folder, name), task, str(path), agent, invert, said)
    found = _of_concepts(path, size, said)
    if len(found.shape) != 2:
        raise UserError(f"the drawings in {path} have colour: save them with one channel, ink bright on dark paper")
    if task.left_out & set(found.concepts):
        found = found.only(concepts=[name for name in found.concepts if name not in task.left_out])
    names = np.array(found.concepts, dtype=object)
    place = _place(names, task, str(path))
    _check_size(found.shape, task, str(path))
    order = np.argsort(found.concept.code, kind="stable")
    code = found.concept.code[order]
    images = found.take(order)
    drawings = Drawings.of(
        agent=agent or composed(path.resolve().stem),
        data=task.data.name,
        concept=names[code],
        exemplar=task.exemplar_rows[place[code]],
        index=np.arange(len(code)) - np.searchsorted(code, code),
        seed=0,
        image=255 - images if invert else images,
    )
    _check_drawings(drawings, str(path))
    return drawings


def sample_drawings(
    sample: Sample, task: DrawingTask, *, agent: str | None = None, seed: int = 0, said: list[str] | None = None
) -> Drawings:
    """The task's n drawings of each concept by anything that can be called; its randomness is the seed's, whatever its name.

    said: where sentences go about what was changed, and about an agent that differs from itself; two small calls more find
    that out.
    """
    agent = agent or str(getattr(sample, "__name__", type(sample).__name__))
    images = call_agent(sample, task.exemplars.astype(np.float32) / 255, task.n, agent, seed)
    drawings = arrange_drawings(images, task, agent=agent, seed=seed, said=said)
    if said is not None and not repeats_itself(sample, task, agent, seed):
        said.append(f"two calls of {agent} with the same seed differ: the scores hold for these drawings only")
    return drawings


def call_agent(sample: Sample, exemplars: np.ndarray, n: int, agent: str, seed: int, **of_globals: int) -> np.ndarray:
    """What an agent returns, as an array. The global generators are seeded, too, in case it uses them; of_globals: other seeds
    for some of them, see `seeded_globals`."""
    with guarded(f"{agent} failed to draw"), seeded_globals(seeds.seed("draw", seed), **of_globals):
        return to_array(sample(exemplars, n, seeds.rng("draw", seed)))


def repeats_itself(sample: Sample, task: DrawingTask, agent: str, seed: int) -> bool:
    """Whether two calls with the same arguments give the same: of the first two exemplars, and few drawings, since that is
    cheap and does not depend on how an agent shares out its randomness. Who cannot draw so few is believed."""
    shown = task.exemplars[:2].astype(np.float32) / 255
    try:
        one, other = (call_agent(sample, shown.copy(), FEWEST, agent, seed) for _ in range(2))
    except UserError:
        return True
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")


def arrange_drawings(
    images: Any, task: DrawingTask, *, agent: str, seed: int = 0, said: list[str] | None = None
) -> Drawings:
    """A record of n drawings of each of the task's k concepts: (k, n, h, w), with a channel of one before or after the px, or
    all in one row, (k·n, 1, h, w), the first concept's n first."""
    k, n = len(task.concepts), task.n
    images = to_array(images)
    shape = images.shape
    images = without_channel(images, 4)
    if n > 1 and images.ndim == 4 and images.shape[:2] == (k * n, 1):
        images = images.reshape(k, n, *images.shape[2:])
    if images.ndim != 4 or images.shape[:2] != (k, n):
        raise UserError(
            f"The drawings of {agent} are an array of shape {shape}: ({k}, {n}, h, w) is needed, n drawings of each exemplar; "
            "a function sample(exemplars, n, rng) returns it"
        )
    _check_size(images.shape[2:], task, agent)
    changed: list[str] = []
    try:
        drawings = as_drawings(to_levels(images, changed), task, agent=agent, seed=seed)
    except UserError as problem:
        raise UserError(f"the drawings of {agent} cannot be used: {problem}") from problem
    if said is not None:
        said += [f"the drawings of {agent}: {sentence}" for sentence in changed]
    _check_drawings(drawings, agent)
    return drawings


def stack(drawings: Drawings, task: DrawingTask, n: int | None = None) -> np.ndarray:
    """(k, n, h, w) uint8, ink 255, concepts in the task's order, of each the first n drawings by index.

    n: by default the task's, or as many as there are of every concept if these are fewer.
    """
    place = _place(drawings["concept"], task, "the record")
    order = np.lexsort((drawings["index"], drawings["seed"], place))
    counts = np.bincount(place, minlength=len(task.concepts))
    n = min(task.n, int(counts.min())) if n is None else n
    if n > counts.min():
        few = [name for name, count in zip(task.concepts, counts, strict=True) if count < n]
        raise UserError(f"there are fewer than {n} drawings of {shortened(few, 3)}: ask for {counts.min()} or fewer")
    rows = order[np.cumsum(counts)[:, None] - counts[:, None] + np.arange(n)]
    return as_bytes(drawings.image[rows.ravel()]).reshape(*rows.shape, *drawings.image.shape[1:])


def count_each(drawings: Drawings) -> int:
    """How many drawings the record has of every concept; 0 where they are not as many of each."""
    counts = drawings["concept"].value_counts()
    return int(counts.min()) if counts.min() == counts.max() else 0


def find_warnings(drawings: Drawings, task: DrawingTask) -> tuple[str, ...]:
    """What may be a mistake, or may be intended: one sentence each, for the user to decide."""
    counts = np.bincount(_place(drawings["concept"], task, "the record"), minlength=len(task.concepts))
    images = stack(drawings, task)
    k, n = images.shape[:2]
    who = f"the drawings of {drawings['agent'].iloc[0]}"
    found = []
    if is_on_white(images) != is_on_white(task.exemplars):
        paper = "dark ink on bright paper" if is_on_white(images) else "bright ink on dark paper"
        found.append(f"{who} look like {paper}, unlike the exemplars: --invert inverts them")
    if is_on_white(task.exemplars):
        found.append(f"{task.data.name} looks like dark ink on bright paper, critics expect the opposite: invert it")
    flat = images.reshape(k, n, -1)
    blank = int((flat.min(axis=2) == flat.max(axis=2)).sum())
    if blank:
        found.append(f"{blank} of {who} are blank")
    if np.array_equal(flat.min(axis=1), flat.max(axis=1)):
        found.append(f"{who} are the same image repeated within each concept: diversity is 0")
    if n < task.n:
        found.append(f"{who} are {n} of some concept, fewer than the {task.n} asked for: everyone is compared at {n}")
    if left := counts.sum() - k * n:
        found.append(f"{who} are compared at {n} per concept, the first ones: {left} are not used")
    return tuple(found)


def is_on_white(images: np.ndarray) -> bool:
    """Whether the paper is bright: whether most pixels along the borders are. images: (…, h, w) uint8."""
    border = [images[..., 0, :], images[..., -1, :], images[..., :, 0], images[..., :, -1]]
    return bool(np.median(np.concatenate([edge.ravel() for edge in border])) > 127)


def _of_concepts(path: Path, size: int | None, said: list[str]) -> ConceptSet:
    if path.is_dir():
        if not any(path.iterdir()):
            raise UserError(f"the folder {path} is empty: {LAYOUT}")
        if (path / "config.json").is_file():
            raise UserError(f"{path} is a run folder without drawings: give one of exemplar draw score")
        return load_folder(path, size=size, invert=False)  # the user says, and is warned
    if path.suffix == ".py":
        raise UserError(f"{path} is a Python file: name its function too, {path}:FUNCTION")
    if path.suffix != ".npz":
        raise UserError(f"{path} is no npz and no folder: {LAYOUT}")
    changed: list[str] = []
    found = load_npz(path, changed)
    said += [f"{path}: {sentence}" for sentence in changed]
    return found if size is None else found.resized(size)


def _of_record(
    found: Drawings, task: DrawingTask, where: str, agent: str | None, invert: bool, said: list[str]
) -> Drawings:
    """A record as it is (its names composed), if it answers this task."""
    if not len(found):
        raise UserError(f"{where} holds no drawings: {LAYOUT}")
    for column in ("agent", "data"):
        several = found[column].unique().tolist()
        if len(several) != 1:
            raise UserError(
                f"{where} holds drawings of {len(several)} {column}s ({shortened(several)}): save one by itself"
            )
    if (data := composed(found["data"].iloc[0])) != task.data.name:
        raise UserError(f"the drawings in {where} are of {data}, the task is on {task.data.name}: give that --data")
    concept = found["concept"].map({name: composed(name) for name in found["concept"].unique()})
    if (passed := concept.isin(task.left_out).to_numpy()).any():
        kept = {name: found[name].to_numpy()[~passed] for name in Drawings.COLUMNS}
        found, concept = (
            Drawings.of(**kept, image=found.image[~passed]),
            concept.astype(object)[~passed].reset_index(drop=True),
        )
    place = _place(concept, task, where)
    if (found["exemplar"].to_numpy() != task.exemplar_rows[place]).any():
        raise UserError(
            f"{where} was drawn after other exemplars than {task.chosen_by}: give --exemplar as it was then"
        )
    _check_size(found.image.shape[1:], task, where)
    changed: list[str] = []
    images = to_levels(found.image, changed)
    said += [f"{where}: {sentence}" for sentence in changed]
    columns = {name: found[name] for name in Drawings.COLUMNS} | {"data": data, "concept": concept}
    drawings = Drawings.of(**columns | ({"agent": agent} if agent else {}), image=255 - images if invert else images)
    _check_drawings(drawings, where)
    return drawings


def _place(concepts: object, task: DrawingTask, where: str) -> np.ndarray:
    """(n,) each drawing's concept as its place in the task; concepts that are unknown, or have no drawing, are refused."""
    words = pd.Categorical(concepts)
    known = {name: place for place, name in enumerate(task.concepts)}
    strange = [str(word) for word in words.categories if word not in known]
    if strange:
        problem = unknown("concept", strange[0], known, where=task.data.name)
        several = "1 concept that is" if len(strange) == 1 else f"{len(strange)} concepts that are"
        raise UserError(f"{where} contains {several} not part of the task: {problem}")
    missing = [name for name in task.concepts if name not in set(words.categories)]
    if missing:
        raise UserError(
            f"{where} has no drawings of {len(missing)} of the {len(known)} concepts of {task.data.name} "
            f"({shortened(missing, 3)}): draw these too, or give another --split"
        )
    return np.array([known[word] for word in words.categories])[words.codes]


def _check_size(shape: tuple[int, ...], task: DrawingTask, where: str) -> None:
    height, width = shape
    if min(height, width) < TINY:
        raise UserError(
            f"{where}: drawings of {height} × {width} px are too small to be read: draw them at {TINY} or more"
        )
    tall, wide = task.data.shape
    if abs(height * wide - width * tall) > max(tall, wide):  # more than a pixel's rounding
        raise UserError(
            f"{where}: the drawings are {height} × {width} px, the exemplars {tall} × {wide}: pad them to the same shape"
        )


def _check_drawings(drawings: Drawings, where: str) -> None:
    counts = drawings["concept"].value_counts()
    if counts.min() < FEWEST:
        few = shortened(counts.index[counts < FEWEST], 3)
        raise UserError(
            f"{where} has fewer than {FEWEST} drawings of {few}: diversity and its interval need {FEWEST} or more"
        )
    if np.array_equal(drawings.image.min(axis=0), drawings.image.max(axis=0)):
        raise UserError(f"{where}: all {len(drawings)} drawings are the same image: check how they were saved")
