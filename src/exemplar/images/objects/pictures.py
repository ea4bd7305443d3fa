"""Views to pixels: the object is drawn, put before its background, and changed as its transformation says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from exemplar import seeds
from exemplar.images.objects import backgrounds, shapes
from exemplar.images.objects.backgrounds import Backgrounds
from exemplar.images.objects.fields import field
from exemplar.images.objects.meshes import Mesh, mesh
from exemplar.images.objects.poses import smallest_circle
from exemplar.images.objects.renderer import draw
from exemplar.images.objects.views import Views

RECIPE = 1  # raise it when the same names would give other pixels
GREY = 0.5  # the plain background, in [0, 1]


@dataclass(frozen=True, eq=False)
class Pictures:
    """A store of objects' views, drawn when asked for, each by itself: no image depends on which others are asked for."""

    views: Views
    backgrounds: Backgrounds
    size: int
    seed: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size, self.size)

    def __len__(self) -> int:
        return len(self.views)

    def take(self, rows: np.ndarray) -> np.ndarray:
        rows = np.arange(len(self))[np.asarray(rows)]
        out = np.empty((len(rows), *self.shape), np.uint8)
        for place in np.argsort(self.views.concept.code[rows], kind="stable"):  # object by object: few meshes at a time
            out[place] = np.rint(255 * self.picture(rows[place]))
        return out

    def digest(self, rows: np.ndarray) -> str:
        rows = np.arange(len(self))[np.asarray(rows)]
        names = self.views.concept.names
        limbs = {
            names[code]: [_whole(vars(limb)) for limb in shapes.shape(names[code], self.seed)]
            for code in np.unique(self.views.concept.code[rows])
        }
        order = [names[code] for code in self.views.concept.code[rows]]
        views = _whole(dict(enumerate(self.views.parameters(rows))))
        drawn = (self.backgrounds.digest(), self.size, self.seed, order, views)
        return seeds.digest("objects", RECIPE, limbs, drawn)

    def picture(self, row: int) -> np.ndarray:
        """(size, size) float32 in [0, 1]."""
        light, cover = self.layers(row)
        views, share = self.views, np.float32(self.views.background[row])
        behind: np.ndarray | np.float32 = np.float32(GREY)
        if share > 0:
            picture = backgrounds.part(self.backgrounds, views.place[row], self.size)
            behind = picture * np.float32(share / 255) + (1 - share) * np.float32(GREY)
        image = light + (1 - cover) * behind
        rng = seeds.rng("objects", self.seed, "pixels", views.concept[row], int(views.index[row]))
        return changed(image, cover, str(views.transformation[row]), float(views.level[row]), rng=rng)

    def layers(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The object alone: light times coverage, and coverage, as `renderer.draw` gives them."""
        body, rotation, scale, centre = self.placed(row)
        return draw(body, rotation, scale=scale, centre=centre, size=self.size)

    def placed(self, row: int) -> tuple[Mesh, np.ndarray, float, tuple[float, float]]:
        """An object and its rotation, scale and centre, as `renderer.draw` takes them."""
        views = self.views
        body = build(views.concept[row], self.seed)
        rotation = views.turn[row] @ views.rotation[row]
        radius = circle(body, views.rotation[row])[2]
        x, y, _ = circle(body, rotation)
        scale, half = float(views.size[row] * self.size / (2 * radius)), self.size / 2
        centre = (float(half * (1 + views.x[row]) - scale * x), float(half * (1 + views.y[row]) + scale * y))
        return body, rotation, scale, centre


@lru_cache(maxsize=128)
def build(name: str, seed: int) -> Mesh:
    """The mesh of an object, about 0.1 s and 0.5 MB."""
    return mesh(field(shapes.shape(name, seed)))


def circle(body: Mesh, rotation: np.ndarray) -> tuple[float, float, float]:
    """x (right), y (up) and radius of the smallest circle around what is seen of an object, in its own unit."""
    return smallest_circle(body.vertices[body.hull] @ rotation[:2].T)


def changed(
    image: np.ndarray, cover: np.ndarray, transformation: str, level: float, *, rng: np.random.Generator
) -> np.ndarray:
    """The transformations that change pixels, not the view; others leave the image as it is.

    image: (h, w) float32 in [0, 1]; cover: (h, w) share of each pixel that the object covers.
    """
    if transformation == "contrast":
        gain = np.float32(10**level)
        return np.clip(gain * image + np.float32(0.5) * (1 - gain), 0, 1)
    if transformation == "noise":
        return np.clip(image + rng.normal(0, level, image.shape).astype(np.float32), 0, 1)
    if transformation == "blur":
        return gaussian_filter(image, level * image.shape[1], mode="nearest")
    if transformation == "delpixels":
        of_object = np.flatnonzero(cover)
        out = image.copy()
        out.flat[rng.permutation(of_object)[: round(level * len(of_object))]] = GREY
        return out
    return image


def _whole(numbers: dict[Any, Any]) -> dict[Any, Any]:
    """Those with a fraction as billionths: sines and cosines differ in their last digits from processor to processor, and a set
    of objects is the same on all of them."""
    return {key: np.rint(1e9 * one) + 0.0 if np.asarray(one).dtype.kind == "f" else one for key, one in numbers.items()}
