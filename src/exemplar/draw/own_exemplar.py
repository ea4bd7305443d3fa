"""An exemplar of your own: one image file, brought to ink on paper, and a sentence for everything that was changed about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from exemplar.draw.tasks import DrawingTask
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.images.folder import ENDINGS, composed
from exemplar.images.pixels import decode

BETWEEN = 0.2  # of all px neither ink nor paper: beyond, it is a photograph; smooth pens leave a few per cent
LARGEST = 4096  # px: the largest side that is read


@dataclass(frozen=True, eq=False)
class OwnExemplar:
    """image: (side, side) uint8, ink 255; said: what was changed, a sentence each; name: the file's."""

    name: str
    image: np.ndarray
    said: tuple[str, ...]

    def task(self, n: int) -> DrawingTask:
        """n drawings after this one."""
        return DrawingTask(
            ConceptSet.of("own", self.image[None], [self.name]), np.zeros(1, np.intp), "your own image", n
        )


def is_image(text: str) -> bool:
    """Whether this is meant as an image file, there or not."""
    return Path(text).suffix.lower() in ENDINGS


def read_exemplar(path: str | Path, size: tuple[int, int] | None = None) -> OwnExemplar:
    """One drawing from an image file: dark ink on bright paper is inverted, a photograph is thresholded, what is not square
    gets paper at its sides. size: (h, w) px that the agent will see it at, None if it takes any."""
    place = Path(path).expanduser()
    if not place.is_file():
        raise UserError(
            f"there is no image {path}: give --exemplar a file ({', '.join(ENDINGS)}), or a way to choose them"
        )
    levels, said = _levels(place), []
    if levels.min() == levels.max():
        raise UserError(f"{path} is blank, all its px are alike: give a drawing")
    edges = np.concatenate([levels[0], levels[-1], levels[:, 0], levels[:, -1]])
    on_white = bool(np.median(edges) > 127)
    if on_white:
        levels = 255 - levels  # the usual case: a pen on paper
    share = (levels - float(levels.min())) / (float(levels.max()) - float(levels.min()))
    if ((share > 0.2) & (share < 0.8)).mean() > BETWEEN:
        level = otsu(levels)
        levels = np.where(levels > level, 255, 0).astype(np.uint8)
        beyond = f"darker than level {255 - level}" if on_white else f"brighter than level {level}"
        said.append(
            f"{place.name} looks like a photograph, not a drawing: {(levels > 0).mean():.0%} of it, what is {beyond} of 255, "
            "was taken as ink"
        )
    h, w = levels.shape
    if h != w:
        side = max(h, w)
        top, left = (side - h) // 2, (side - w) // 2
        levels = np.pad(levels, ((top, side - h - top), (left, side - w - left)))
        said.append(f"{place.name} is {h} × {w} px, not square: paper was added at its sides")
    if size is not None and levels.shape != tuple(size):
        said.append(f"{place.name} was resized from {' × '.join(map(str, levels.shape))} to {size[0]} × {size[1]} px")
    return OwnExemplar(composed(place.stem), levels, tuple(said))


def otsu(levels: np.ndarray) -> int:
    """The level that splits the px into two groups whose means lie farthest apart, weighted by how many they are (Otsu 1979);
    the first group is at or below it."""
    share = np.bincount(levels.ravel(), minlength=256) / levels.size
    below = np.cumsum(share)
    mean = np.cumsum(share * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mean[-1] * below - mean) ** 2 / (below * (1 - below))
    return int(np.nanargmax(np.where(np.isfinite(between), between, np.nan)))


def _levels(path: Path) -> np.ndarray:
    try:
        with Image.open(path) as image:
            width, height = image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as problem:
        raise UserError(f"{path} is not an image that can be read ({problem}): give another one") from problem
    scale = min(1.0, LARGEST / max(width, height))
    return decode(path, (max(round(height * scale), 1), max(round(width * scale), 1)), str(path))
