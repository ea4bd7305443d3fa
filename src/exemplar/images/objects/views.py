"""What each image of an object shows: from where, how large, where in the image, before what, and how it was changed.

A view's numbers follow from the seed, the object's name and the view's index alone: a part of a set is exactly that part
of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from exemplar import seeds
from exemplar.images.concepts import Labels
from exemplar.images.objects.poses import random_rotation, turned

SIZES = (0.25, 0.5)  # of an object in a high-variation view: the circle around it, as a share of the image's side
# How far it may lie from the middle, along each axis, in half image sides, the unit in which the public data give
# translations (0.125 for 16 of 256 px): so that all of an object is always in the image.
REACH = 0.4
N_COMBINED = 4  # high-variation views in the one-shot set: shown to people, not scored

# The nine transformations of the one-shot set by their names in the public data, with their four levels.
TRANSFORMATIONS: dict[str, tuple[float, float, float, float]] = {
    "inplanetranslation": (0.125, 0.25, 0.5, 0.75),  # half image sides: 16, 32, 64, 96 of 256 px, in any direction
    "backgrounds": (0.1, 10 ** (-2 / 3), 10 ** (-1 / 3), 1.0),  # share of the background in place of grey
    "scale": (0.125, 0.25, 0.5, 1.5),  # of the training image's size
    "outplanerotation": (45.0, 90.0, 135.0, 180.0),  # degrees, either way about the horizontal and the vertical axis
    "inplanerotation": (45.0, 90.0, 135.0, 180.0),  # degrees, either way
    "contrast": (-0.8, -0.4, 0.4, 0.8),  # c of 10^c · p + 0.5 · (1 − 10^c)
    "delpixels": (0.25, 0.5, 0.75, 0.95),  # share of the object's pixels that become grey
    "blur": (2 / 256, 4 / 256, 8 / 256, 16 / 256),  # standard deviation of the Gaussian, in image sides
    "noise": (0.125, 0.25, 0.375, 0.5),  # standard deviation of what is added to a pixel in [0, 1]
}
TRAINING, COMBINED, HIGH_VARIATION = "training", "combinednat", "high-variation"


@dataclass(frozen=True, eq=False)
class Views:
    """A table, one row per image.

    concept: whose; index: (n,) the view's number among its object's; transformation, level: (n,) what was done (see
    TRANSFORMATIONS; level 0 where there is no such thing); scored: (n,) bool, whether it is one of the 36 tests.
    rotation: (n, 3, 3) the pose at which the object has its size; turn: (n, 3, 3) how it is turned from there, without
    growing or shrinking; size: (n,) diameter of the circle around it, in image sides; x, y: (n,) of that circle's centre
    from the image's, right and down, in half image sides; background: (n,) its share, 0 plain grey; place: (n, 4) in
    [0, 1), which background and what part of it.
    """

    concept: Labels
    index: np.ndarray
    transformation: np.ndarray
    level: np.ndarray
    scored: np.ndarray
    rotation: np.ndarray
    turn: np.ndarray
    size: np.ndarray
    x: np.ndarray
    y: np.ndarray
    background: np.ndarray
    place: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    def parameters(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """All that decides how these rows look, the objects' shapes excepted."""
        numbers = (self.rotation, self.turn, self.size, self.x, self.y, self.background, self.place, self.level)
        kinds = np.array([str(kind) for kind in self.transformation[rows]])
        return (kinds, self.index[rows], *(column[rows] for column in numbers))


@dataclass(frozen=True)
class _View:
    """One row of Views."""

    transformation: str
    level: float
    rotation: np.ndarray
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    size: float = SIZES[1]
    x: float = 0.0
    y: float = 0.0
    background: float = 0.0
    place: np.ndarray = field(default_factory=lambda: np.zeros(4))


def high_variation_views(concepts: Sequence[str], n: int, seed: int) -> Views:
    """n views of each object: size, position and pose uniform over their ranges, each before a random background."""
    return _table(concepts, [[_varied(name, k, seed, HIGH_VARIATION) for k in range(n)] for name in concepts])


def one_shot_views(concepts: Sequence[str], seed: int) -> Views:
    """61 views of each object: the training image; 56 tests of 9 transformations at 4 levels, some with two or four images
    a level; and 4 that combine everything."""
    return _table(concepts, [list(_one_shot(name, seed)) for name in concepts])


def _varied(concept: str, index: int, seed: int, transformation: str) -> _View:
    rng = seeds.rng("objects", seed, "view", concept, index)
    rotation, size = random_rotation(rng), rng.uniform(*SIZES)
    x, y = rng.uniform(-REACH, REACH, size=2)
    return _View(
        transformation, 0.0, rotation, size=float(size), x=float(x), y=float(y), background=1.0, place=rng.random(4)
    )


def _one_shot(concept: str, seed: int) -> Iterator[_View]:
    rotation = random_rotation(seeds.rng("objects", seed, "training view", concept))
    yield _View(TRAINING, 0.0, rotation)
    index = 1
    for kind, levels in TRANSFORMATIONS.items():
        for level in levels:
            for turn in _turns(kind, level):
                rng = seeds.rng("objects", seed, "view", concept, index)
                index += 1
                if kind == "inplanetranslation":
                    angle = rng.uniform(0, 2 * np.pi)
                    yield _View(kind, level, rotation, x=float(level * np.cos(angle)), y=float(level * np.sin(angle)))
                elif kind == "backgrounds":
                    yield _View(kind, level, rotation, background=level, place=rng.random(4))
                elif kind == "scale":
                    yield _View(kind, level, rotation, size=level * SIZES[1])
                else:
                    yield _View(kind, level, rotation, turn)
    for k in range(N_COMBINED):
        yield _varied(concept, index + k, seed, COMBINED)


def _turns(kind: str, level: float) -> list[np.ndarray]:
    """How the object is turned in each image of a level: 8, 8, 4, 13, 7, 4, 4, 4 and 4 images of the nine kinds in all.

    Half a turn is the same either way, and about the horizontal axis shows what it shows about the vertical, upside down.
    """
    if kind == "inplanerotation":
        return [turned(2, angle) for angle in ([level, -level] if level < 180 else [level])]
    if kind == "outplanerotation":
        about = [(axis, way * level) for axis in (0, 1) for way in (1, -1)] if level < 180 else [(1, level)]
        return [turned(*each) for each in about]
    return [np.eye(3)] * (2 if kind in ("inplanetranslation", "backgrounds") else 1)


def _table(concepts: Sequence[str], views: list[list[_View]]) -> Views:
    rows = [view for some in views for view in some]

    def column(name: str) -> np.ndarray:
        return np.array([getattr(view, name) for view in rows])

    transformation = np.array([view.transformation for view in rows], dtype=object)
    return Views(
        Labels.of(name for name, some in zip(concepts, views, strict=True) for _ in some),
        np.concatenate([np.arange(len(some)) for some in views]),
        transformation,
        column("level"),
        np.isin(transformation, list(TRANSFORMATIONS)),
        column("rotation"),
        column("turn"),
        column("size"),
        column("x"),
        column("y"),
        column("background"),
        column("place"),
    )
