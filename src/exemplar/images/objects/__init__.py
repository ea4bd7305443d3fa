"""Invented 3-D objects and images of them, made here: nothing to download, and nobody has seen them before.

An object is a body with bent, tapered, ribbed limbs (`shapes`), blended into one surface (`fields`, `meshes`) and drawn
when asked for (`renderer`, `pictures`) from the viewpoints of Lee & DiCarlo (2023), whose two experiments the splits serve.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exemplar.errors import UserError, unknown
from exemplar.images.concepts import ConceptSet
from exemplar.images.objects.backgrounds import Backgrounds, Fields, photographs
from exemplar.images.objects.familiar import ANIMALS
from exemplar.images.objects.pictures import Pictures
from exemplar.images.objects.views import TRANSFORMATIONS, Views, high_variation_views, one_shot_views

__all__ = ["SPLITS", "TRANSFORMATIONS", "ObjectsConfig", "Views", "load_objects", "views"]

SPLITS = {
    "high-variation": "128 objects, 100 views each: any pose, size, position and background (Experiment 1, 64 pairs)",
    "one-shot": "64 others, 61 views each: a training image and its transformations (Experiment 2, 32 pairs)",
    "warm-up": "8 others, 50 high-variation views each (4 pairs)",
    "familiar": "an elephant and a bear, 100 high-variation views each (prescreening)",
}
N_OBJECTS = {"high-variation": 128, "one-shot": 64, "warm-up": 8, "familiar": 2}
N_VIEWS = {
    "high-variation": 100,
    "warm-up": 50,
    "familiar": 100,
}  # of the one-shot set each has its place: there are always 61
PREFIX = {"high-variation": "object", "one-shot": "oneshot", "warm-up": "warmup"}  # no object is in two splits


@dataclass(frozen=True)
class ObjectsConfig:
    """objects: how many, the split's own number unless given; views: of each, likewise (not for one-shot); size: px;
    backgrounds: a folder of photographs, 1/f fields unless given."""

    objects: int | None = None
    views: int | None = None
    size: int = 256
    backgrounds: Path | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (("objects", 1, 100_000), ("views", 1, 100_000), ("size", 16, 2048)):
            value = getattr(self, name)
            given = value is not None or name == "size"
            if given and (not isinstance(value, int) or not least <= value <= most):
                raise UserError(f"objects with {name}={value}: give a whole number from {least} to {most:,}")


DEFAULT = ObjectsConfig()


def load_objects(split: str, config: ObjectsConfig = DEFAULT) -> ConceptSet:
    """The images of a split (see SPLITS), object by object, grey, drawn when asked for, about 2 ms each; the first of an
    object takes 0.1 s more.

    Concepts are "object007", "oneshot007" or "warmup007"; makers "view012", so that `views(split, config)`, row by row,
    tells what each image shows.
    """
    table = views(split, config)
    seen_before: Backgrounds = (
        Fields(config.size, config.seed)
        if config.backgrounds is None
        else photographs(Path(config.backgrounds), config.size)
    )
    pictures = Pictures(table, seen_before, config.size, config.seed)
    views_of = [f"view{k:03d}" for k in table.index]
    return ConceptSet.of(f"objects/{split}", pictures, table.concept, maker=views_of, simulated=True, family="objects")


def views(split: str, config: ObjectsConfig = DEFAULT) -> Views:
    """What each image of a split shows, in the order of `load_objects`."""
    if split not in SPLITS:
        raise unknown("split of objects", split, SPLITS)
    n = N_OBJECTS[split] if config.objects is None else config.objects
    if split == "familiar" and n > len(ANIMALS):
        raise UserError(f"there are {len(ANIMALS)} familiar objects ({', '.join(ANIMALS)}), not {n}: leave objects out")
    concepts = [f"{PREFIX[split]}{k + 1:03d}" for k in range(n)] if split != "familiar" else list(ANIMALS)[:n]
    if split != "one-shot":
        return high_variation_views(concepts, config.views or N_VIEWS[split], config.seed)
    if config.views is not None:
        raise UserError("the one-shot set always has 61 views of each object: leave views out, or pick another split")
    return one_shot_views(concepts, config.seed)
