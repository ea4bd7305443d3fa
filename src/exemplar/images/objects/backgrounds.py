"""What objects are seen before: 1/f fields made here, or a folder of photographs; an image takes a part of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.folder import ENDINGS, natural
from exemplar.images.pixels import decode

N_FIELDS = 32
ROOM = 1.25  # a photograph's shorter side, in image sides: what is left to choose a part of


class Backgrounds(Protocol):
    """Grey pictures, each larger than an image."""

    def __len__(self) -> int: ...

    def picture(self, number: int) -> np.ndarray:
        """(h, w) uint8, both at least an image's side."""

    def digest(self) -> str:
        """A name for the content of all pictures."""


@dataclass(frozen=True)
class Fields:
    """Random fields whose amplitude falls about as 1/f, as that of natural scenes does. size: px of an image's side."""

    size: int
    seed: int

    def __len__(self) -> int:
        return N_FIELDS

    def picture(self, number: int) -> np.ndarray:
        return _field(2 * self.size, self.seed, number)

    def digest(self) -> str:
        return seeds.digest("1/f fields", self.size, self.seed, N_FIELDS)


@dataclass(frozen=True)
class Photographs:
    """Image files, read when asked for and shrunk or enlarged to leave a little room around an image of `size` px."""

    paths: tuple[Path, ...]
    size: int

    def __len__(self) -> int:
        return len(self.paths)

    def picture(self, number: int) -> np.ndarray:
        return _photograph(self.paths[number], round(ROOM * self.size))

    def digest(self) -> str:
        return seeds.digest("photographs", self.size, ROOM, [path.read_bytes() for path in self.paths])


def photographs(folder: Path, size: int) -> Photographs:
    """Every image in the folder and its sub-folders, by name."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give one with photographs to see the objects before")
    paths = [path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and not path.name.startswith(".")]
    if not paths:
        raise UserError(f"{folder} holds no photographs ({', '.join(ENDINGS)}): put some there, or leave it out")
    return Photographs(tuple(sorted(paths, key=lambda path: natural(str(path)))), size)


def part(backgrounds: Backgrounds, place: np.ndarray, size: int) -> np.ndarray:
    """(size, size) uint8: a part of a picture, perhaps mirrored. place: (4,) in [0, 1), which picture, where down and
    across, and whether mirrored."""
    picture = backgrounds.picture(int(place[0] * len(backgrounds)))
    top, left = (int(p * (side - size + 1)) for p, side in zip(place[1:3], picture.shape, strict=True))
    piece = picture[top : top + size, left : left + size]
    return piece[:, ::-1] if place[3] < 0.5 else piece


@lru_cache(maxsize=2 * N_FIELDS)
def _field(side: int, seed: int, number: int) -> np.ndarray:
    """(side, side) uint8. Fields differ in slope, in direction (streaks one way), in brightness and contrast."""
    rng = seeds.rng("objects", seed, "background", number)
    slope, stretch, angle = rng.uniform(1.0, 1.6), np.exp(rng.normal(0, 0.35)), rng.uniform(0, np.pi)
    level, contrast = rng.uniform(0.36, 0.6), rng.uniform(0.1, 0.2)
    down, across = np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)
    u = (np.cos(angle) * across + np.sin(angle) * down) * stretch
    v = (np.cos(angle) * down - np.sin(angle) * across) / stretch
    frequency = np.sqrt(u * u + v * v)
    frequency[0, 0] = np.inf  # no mean
    noise = np.fft.rfft2(rng.standard_normal((side, side)))
    values = np.fft.irfft2(noise / frequency**slope, s=(side, side))
    values *= contrast / values.std()
    return np.rint(255 * np.clip(values + level, 0, 1)).astype(np.uint8)


@lru_cache(maxsize=1024)
def _photograph(path: Path, side: int) -> np.ndarray:
    """(h, w) uint8, the shorter of both `side`."""
    try:
        with Image.open(path) as opened:
            width, height = opened.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as problem:
        raise UserError(f"{path} is not an image that can be read ({problem}): remove or replace it") from problem
    scale = side / min(width, height)
    return decode(path, (max(side, round(height * scale)), max(side, round(width * scale))), str(path))
