"""The format of drawings: at how many px they were drawn, how wide their strokes are, whether they are grey; and the same
drawings in another format.

A stroke's width is measured as twice its area over its outline, which needs no skeleton and works on grey levels: the outline
is the sum of all steps from pixel to pixel, times π/4, since a curve of all directions takes 4/π steps per px of its length.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt, maximum_filter

from exemplar import seeds
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import CHUNK, Pixels, Plain, binarised
from exemplar.report.resizing import resize

N_MEASURED = 1000  # drawings, spread evenly over a set, whose median is taken
N_FITTED = 150  # likewise, by which strokes are made as wide as others'
FAINT = 0.1  # of an image's range: less is paper, and less below the darkest is full ink
GREY_SHARE = 0.05  # of inked pixels that are neither paper nor full ink: more is a grey drawing
THRESHOLD = 0.5
CLOSE = 0.03  # of a stroke's width: nearer than this is the same
LARGEST_GRAIN = 0.75  # of the px shown: blocks of so little cannot be told from rows that happen to be alike
N_HALVINGS = 8  # of the interval in which the change of width is looked for


@dataclass(frozen=True)
class Format:
    """size: (h, w) px of the images; grain: (h, w) px they were drawn at, smaller where each is shown as a block of several;
    stroke: median width, as a share of the longer side; grey: whether there is more than paper and ink."""

    size: tuple[int, int]
    grain: tuple[int, int]
    stroke: float
    grey: bool

    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    def describe(self) -> str:
        """28 × 28 px, strokes 5.7 % of the image's side, ink or paper."""
        shown = "" if self.grain == self.size else f" shown at {self.size[0]} × {self.size[1]}"
        kind = "grey" if self.grey else "ink or paper"
        return f"{self.grain[0]} × {self.grain[1]} px{shown}, strokes {self.stroke:.1%} of the side, {kind}"


def measure_format(images: np.ndarray) -> Format:
    """images: (n, h, w) uint8, ink high."""
    some = images[_spread_out(len(images), N_MEASURED)]
    size = (int(images.shape[1]), int(images.shape[2]))
    grain = (_grain(some), _grain(some.transpose(0, 2, 1)))
    levels = _levels(some)
    inked, full = (levels > FAINT).sum(), (levels >= 1 - FAINT).sum()
    grey = bool(inked - full > GREY_SHARE * max(inked, 1))
    return Format(size, grain, float(np.median(stroke_widths(some))) / max(size), grey)


def stroke_widths(images: np.ndarray) -> np.ndarray:
    """(n,) px, 0 where an image is blank. images: (n, h, w) uint8, ink high."""
    levels = np.pad(_levels(images), ((0, 0), (1, 1), (1, 1)))
    outline = np.abs(np.diff(levels, axis=1)).sum(axis=(1, 2)) + np.abs(np.diff(levels, axis=2)).sum(axis=(1, 2))
    area = levels.sum(axis=(1, 2))
    return np.divide(2 * area, outline * np.pi / 4, out=np.zeros(len(images)), where=outline > 0)


def bring_to(data: ConceptSet, format: Format) -> ConceptSet:
    """The same drawings as if they had been made in this format: at no more px than it has, and strokes by as much wider or
    thinner as makes the medians equal. What needs no change is the set itself."""
    pixels = _reformatted(data.pixels, data.take(_spread_out(len(data), N_FITTED)), format)
    return data if pixels is None else replace(data, pixels=pixels)


def bring_images(images: np.ndarray, format: Format) -> np.ndarray:
    """As `bring_to`, of (n, h, w) uint8."""
    pixels = _reformatted(Plain(images), images[_spread_out(len(images), N_FITTED)], format)
    return images if pixels is None else pixels.take(np.arange(len(images)))


def _reformatted(source: Pixels, some: np.ndarray, format: Format) -> Reformatted | None:
    """some: (n, h, w), drawings of the source by which the strokes are fitted."""
    height, width = source.shape[:2]
    coarser = format.grain[0] < height or format.grain[1] < width
    size, grain = (format.size, format.grain) if coarser else ((height, width),) * 2
    reached = Format(size, grain, format.stroke, format.grey)
    widen = fit_widening(some, reached)
    return Reformatted(source, size, grain, format.grey, widen) if coarser or widen else None


@dataclass(frozen=True, eq=False)
class Reformatted:
    """Another store's drawings in another format. widen: px of the source by which strokes become wider on each side, below 0
    thinner; a stroke never vanishes, its middle stays."""

    source: Pixels
    size: tuple[int, int]
    grain: tuple[int, int]
    grey: bool
    widen: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.size

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), *self.size), np.uint8)
        for start in range(0, len(rows), CHUNK):
            images = self.source.take(rows[start : start + CHUNK])
            out[start : start + CHUNK] = self.apply(widened(images, self.widen) if self.widen else images)
        return out

    def digest(self, rows: np.ndarray) -> str:
        how = (self.size, self.grain, self.grey, self.widen)
        return seeds.digest("reformatted", how, self.source.digest(rows))

    def apply(self, images: np.ndarray) -> np.ndarray:
        """images: (n, h, w) uint8, their strokes widened already → (n, *size) uint8."""
        found = resize(images, self.grain)
        if not self.grey and min(self.grain) < min(images.shape[1:]):
            found = binarised(found, THRESHOLD)
        if self.grain == self.size:
            return found
        down, across = (np.arange(to) * of // to for to, of in zip(self.size, self.grain, strict=True))
        return found[:, down[:, None], across]


def widened(images: np.ndarray, by: float) -> np.ndarray:
    """Strokes wider by so many px on each side, thinner below 0; edges are grey, so that parts of a px count.
    images: (n, h, w) uint8 → the same, uint8."""
    return _cover(*_depths(images), by)


def fit_widening(images: np.ndarray, format: Format) -> float:
    """By how many px these drawings' strokes must be widened to be as wide as the format's: 0 where they are already."""
    shape = Reformatted(Plain(images), format.size, format.grain, format.grey, 0.0)

    def stroke(wide: np.ndarray) -> float:
        return float(np.median(stroke_widths(shape.apply(wide)))) / max(format.size)

    now = stroke(images)
    if abs(now - format.stroke) <= CLOSE * format.stroke:
        return 0.0
    reach = max(images.shape[1:]) * format.stroke
    low, high = (0.0, reach) if now < format.stroke else (-reach, 0.0)
    depths = _depths(images)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if stroke(_cover(*depths, middle)) < format.stroke else (low, middle)
    return round((low + high) / 2, 3)


def _depths(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How deep each px lies in the ink, 1 at the edge, 0 and below on paper; and whether it is the middle of a stroke.
    images: (n, h, w) uint8; both (n, h, w)."""
    depth, middle = np.empty(images.shape, np.float32), np.empty(images.shape, bool)
    for place, ink in enumerate(binarised(images, THRESHOLD) > 0):
        inside = distance_transform_edt(ink)
        depth[place] = np.where(ink, inside, 1 - distance_transform_edt(~ink)) if ink.any() else -np.inf
        middle[place] = ink & (inside == maximum_filter(inside, 3))
    return depth, middle


def _cover(depth: np.ndarray, middle: np.ndarray, by: float) -> np.ndarray:
    """(n, h, w) uint8: how much ink each px has where strokes are so much wider."""
    return np.rint(np.where(middle, 1, np.clip(by + depth, 0, 1)) * 255).astype(np.uint8)


def _spread_out(n: int, most: int) -> np.ndarray:
    """Rows of at most so many of n images, evenly spread."""
    return np.arange(0, n, max(-(-n // most), 1))


def _levels(images: np.ndarray) -> np.ndarray:
    """(n, h, w) float32: each image's range as 0 to 1, the faint parts paper."""
    low = images.min(axis=(1, 2), keepdims=True).astype(np.float32)
    span = images.max(axis=(1, 2), keepdims=True) - low
    levels = (images - low) / np.maximum(span, 1)
    levels[levels < FAINT] = 0
    return levels


def _grain(images: np.ndarray) -> int:
    """Of how many rows these were enlarged, block by block: rows that differ from the next in no image are one."""
    height = images.shape[1]
    inked = np.flatnonzero((images != images[:, :1, :1]).any(axis=(0, 2)))
    if len(inked) < 2:
        return height
    span = slice(inked[0], inked[-1] + 1)
    rows = images[:, span]
    n_steps = int((rows[:, 1:] != rows[:, :-1]).any(axis=(0, 2)).sum())
    found = round(height * (n_steps + 1) / rows.shape[1])
    return found if found <= LARGEST_GRAIN * height else height
