"""The images of an experiment, object by object: made here, or the very ones people saw, in the layout of the public files.

An image's name stands for what is seen in it. Names of built-in images end with a digest of whatever decides their pixels
besides object and view, so that images of another seed, size or background have other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError, shortened
from exemplar.files import reading
from exemplar.images.concepts import ConceptSet
from exemplar.images.objects import ObjectsConfig, load_objects, views
from exemplar.images.objects.pictures import RECIPE, Pictures
from exemplar.images.pixels import Files
from exemplar.learn.people import ImageTable, data_folder, load_images, read_pairs, test_name

SPLITS = {1: "high-variation", 2: "one-shot"}
PUBLIC = {1: "highvar", 2: "oneshot"}  # what the public files call the experiments
TRAINING = "original"  # what they call the image of an object that is trained on


@dataclass(frozen=True, eq=False)
class Stimuli:
    """What the subtasks of an experiment show.

    subtasks: names, "A,B" after their objects; image: (subtasks, objects, images) names of images; test: the same shape,
    which test an image belongs to ("scale | 0.5"), "" for none that is scored; pictures: the images, in the order of
    `image`; warmup: images of other objects, by which features are centred and scaled.
    """

    subtasks: tuple[str, ...]
    image: np.ndarray
    test: np.ndarray
    pictures: ConceptSet
    warmup: ConceptSet

    @property
    def shape(self) -> tuple[int, int, int]:
        """(subtasks, objects, images)."""
        n_subtasks, n_objects, n_images = self.image.shape
        return n_subtasks, n_objects, n_images


def built_in_stimuli(experiment: int, config: ObjectsConfig | None = None, *, n_objects: int = 2) -> Stimuli:
    """Objects of the package's own, neighbours in one subtask. config: how many objects and views, size, backgrounds, seed;
    n_objects: of a subtask."""
    split, config = _split(experiment), config or ObjectsConfig()
    pictures = load_objects(split, config)
    if pictures.n_concepts % n_objects:
        raise UserError(
            f"{pictures.n_concepts} objects cannot be divided among subtasks of {n_objects}: give a multiple of it"
        )
    n_subtasks = pictures.n_concepts // n_objects
    table = views(split, config)
    shape = (n_subtasks, n_objects, len(table) // pictures.n_concepts)
    kinds = zip(table.transformation.tolist(), table.level.tolist(), table.scored.tolist(), strict=True)
    test = [test_name(kind, level) if scored else "" for kind, level, scored in kinds]
    return Stimuli(
        tuple(",".join(pictures.concepts[n_objects * k : n_objects * (k + 1)]) for k in range(n_subtasks)),
        np.array(image_names(pictures)).reshape(shape),
        np.array(test).reshape(shape),
        pictures,
        load_objects("warm-up", replace(config, objects=None, views=None)),
    )


def public_stimuli(folder: Path | str, experiment: int) -> Stimuli:
    """Images on disk: those people saw, or a folder that `exemplar learn objects` wrote.

    Subtasks are those in people's behaviour; where there is none, neighbours among the objects' names.
    """
    _split(experiment)
    table = load_images(folder, PUBLIC[experiment])
    objects = sorted(set(table.category.tolist()))
    pairs = read_pairs(folder, PUBLIC[experiment])
    if pairs is None:
        if len(objects) % 2:
            raise UserError(f"{folder} has {len(objects)} objects, which cannot be paired: add or remove one")
        pairs = tuple(f"{first},{second}" for first, second in zip(objects[::2], objects[1::2], strict=True))
    else:
        strange = sorted({name for pair in pairs for name in pair.split(",")} - set(objects))
        if strange:
            raise UserError(f"{folder} has behaviour with objects that are not in the metadata: {shortened(strange)}")
    rows = {name: _rows(table, name, experiment) for name in objects}
    sizes = {len(rows[name]) for pair in pairs for name in pair.split(",")}
    if len(sizes) != 1:
        raise UserError(
            f"{folder} has objects of {min(sizes)} to {max(sizes)} images: keep as many of each (in Experiment 2, one of "
            f"them the {TRAINING} one)"
        )
    order = np.array([[rows[name] for name in pair.split(",")] for pair in pairs])
    test = np.where(np.isin(table.test, table.tests), table.test, "")
    warmup = load_images(folder, "warmup")
    return Stimuli(
        pairs, table.image[order], test[order], _pictures(folder, table, order.ravel()), _pictures(folder, warmup)
    )


def image_names(pictures: ConceptSet) -> list[str]:
    """Names of built-in images, one per row: "object007-view012-1a2b3c4d.png"."""
    store = pictures.pixels
    if not isinstance(store, Pictures):
        raise UserError(f"{pictures.name} are not built-in objects: use the names of their files")
    ending = seeds.digest(RECIPE, store.backgrounds.digest(), store.size, store.seed, size=4)
    labels = zip(pictures.concept.code, pictures.maker.code, strict=True)
    return [f"{pictures.concept.names[c]}-{pictures.maker.names[m]}-{ending}.png" for c, m in labels]


def _rows(table: ImageTable, name: str, experiment: int) -> list[int]:
    """The rows of one object's images, by name; in Experiment 2 the one that is trained on comes first."""
    rows = sorted(np.flatnonzero(table.category == name).tolist(), key=lambda row: str(table.image[row]))
    if experiment == 1:
        return rows
    first = [row for row in rows if str(table.test[row]).split(" | ")[0] == TRAINING]
    if len(first) != 1:
        raise UserError(f"{name} has {len(first)} images whose transformation is {TRAINING}: it must have one")
    return first + [row for row in rows if row not in first]


def _pictures(folder: Path | str, table: ImageTable, order: Sequence[int] | np.ndarray | None = None) -> ConceptSet:
    """The images of a metadata table, read when asked for; that all of them exist is checked now."""
    data = data_folder(folder)
    rows = np.arange(len(table.image)) if order is None else np.asarray(order)
    paths = [data / str(table.relpath[row]) for row in rows]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        packed = (data / "images.tar.gz").is_file()
        advice = (
            f"unpack {data / 'images.tar.gz'} there" if packed else "fetch the images, or name the folder above them"
        )
        raise UserError(f"{len(missing)} of {len(paths)} images are missing (the first is {missing[0]}): {advice}")
    with reading(paths[0], "an image"), Image.open(paths[0]) as first:
        width, height = first.size
    names = [str(table.image[row]).removesuffix(".png") for row in rows]
    return ConceptSet.of(str(folder), Files(paths, (height, width)), table.category[rows].tolist(), maker=names)


def _split(experiment: int) -> str:
    if experiment not in SPLITS:
        raise UserError(f"there is no Experiment {experiment}: choose 1 (ever new views) or 2 (one view, then others)")
    return SPLITS[experiment]
