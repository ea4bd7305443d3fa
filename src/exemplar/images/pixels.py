"""Where the pixels of a concept set live: plain, in pieces, one bit each, as image files, or resized on the way out.

Each store answers `take(rows) -> (k, h, w[, 3]) uint8` and holds no more than it must: Omniglot at 105 px is 358 MB
plain and 45 MB packed. For drawings ink is 255 on paper 0.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.report.resizing import resize

SMALL = 4096  # bytes of a file: a drawing, whose decoded pixels are worth remembering
CHUNK = 2048  # images resized or hashed at once: large enough for BLAS, small enough to stay in memory


class Pixels(Protocol):
    """Images of one shape, given out by row."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(h, w) or (h, w, 3) of one image."""

    def __len__(self) -> int: ...

    def take(self, rows: np.ndarray) -> np.ndarray:
        """rows: (k,) whole numbers. Returns (k, *shape) uint8."""

    def digest(self, rows: np.ndarray) -> str:
        """A name for the content of these rows, in this order."""


@dataclass(frozen=True, eq=False)
class Plain:
    """array: (n, h, w) or (n, h, w, 3) uint8."""

    array: np.ndarray

    def __post_init__(self) -> None:
        a = self.array
        if a.dtype != np.uint8 or a.ndim not in (3, 4) or (a.ndim == 4 and a.shape[3] != 3):
            raise UserError(f"images must be (n, h, w) or (n, h, w, 3) uint8, these are {a.shape} {a.dtype}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape[1:]

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self.array[rows]

    def digest(self, rows: np.ndarray) -> str:
        return _digest(self, rows)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Several arrays, end to end. arrays: (n, h, w) uint8 each, of one shape; of those that are memory-mapped files nothing is
    read before it is asked for. Its digest is that of a `Plain` with the same images."""

    arrays: Sequence[np.ndarray]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays[0].shape[1:]

    @cached_property
    def start(self) -> np.ndarray:
        """(k + 1,) the row at which each array begins, and the number of all."""
        return np.cumsum([0, *map(len, self.arrays)])

    def __len__(self) -> int:
        return int(self.start[-1])

    def take(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), *self.shape), np.uint8)
        piece = np.searchsorted(self.start, rows, side="right") - 1
        for place in np.unique(piece):
            mine = piece == place
            out[mine] = self.arrays[place][rows[mine] - self.start[place]]
        return out

    def digest(self, rows: np.ndarray) -> str:
        return _digest(self, rows)


@dataclass(frozen=True, eq=False)
class Decoded:
    """Some rows of another store, decoded when first asked for and then kept. source: that store; origin: (n,) its rows."""

    source: Pixels
    origin: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape

    def __len__(self) -> int:
        return len(self.origin)

    @cached_property
    def array(self) -> np.ndarray:
        """(n, h, w[, 3]) uint8."""
        return self.source.take(self.origin)

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self.array[rows]

    def digest(self, rows: np.ndarray) -> str:
        return self.source.digest(self.origin[rows])


@dataclass(frozen=True, eq=False)
class Packed:
    """Binary drawings, one bit per pixel, each image padded to whole bytes.

    bits: (n, ⌈h·w / 8⌉) uint8 as np.packbits(axis=1) gives them, ink 1; shape: (h, w).
    """

    bits: np.ndarray
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        wanted = -(-self.shape[0] * self.shape[1] // 8)
        if self.bits.dtype != np.uint8 or self.bits.ndim != 2 or self.bits.shape[1] != wanted:
            raise UserError(
                f"packed drawings of {self.shape[0]} × {self.shape[1]} px need (n, {wanted}) uint8, "
                f"these are {self.bits.shape} {self.bits.dtype}"
            )

    @classmethod
    def of(cls, ink: np.ndarray) -> Packed:
        """ink: (n, h, w), anything above 0 is ink."""
        return cls(np.packbits((ink > 0).reshape(len(ink), -1), axis=1), ink.shape[1:])

    def __len__(self) -> int:
        return len(self.bits)

    def take(self, rows: np.ndarray) -> np.ndarray:
        h, w = self.shape
        images = np.unpackbits(self.bits[rows], axis=1, count=h * w).reshape(len(rows), h, w)
        images *= 255
        return images

    def digest(self, rows: np.ndarray) -> str:
        return seeds.digest("packed", self.shape, self.bits[rows])


@dataclass(frozen=True, eq=False)
class Encoded:
    """Image files in one byte array: image i is data[offset[i]:offset[i + 1]]; all of one shape."""

    data: np.ndarray
    offset: np.ndarray
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.offset) - 1

    def take(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), *self.shape), np.uint8)
        for place, row in enumerate(rows):
            content = self.data[self.offset[row] : self.offset[row + 1]].tobytes()
            out[place] = decode(io.BytesIO(content), self.shape, f"image {row}")
        return out

    def digest(self, rows: np.ndarray) -> str:
        start, end = self.offset[rows], self.offset[rows + 1]
        parts = [self.data[a:b].tobytes() for a, b in zip(start, end, strict=True)]
        return seeds.digest("encoded", self.shape, parts)


@dataclass(frozen=True, eq=False)
class Files:
    """Image files on disk, read when asked for and brought to one shape; `invert` turns ink on white into ink 255."""

    paths: Sequence[Path]
    shape: tuple[int, ...]
    invert: bool = False

    def __len__(self) -> int:
        return len(self.paths)

    def take(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), *self.shape), np.uint8)
        for place, row in enumerate(rows):
            out[place] = decode(self.paths[row], self.shape, str(self.paths[row]))
        return 255 - out if self.invert else out

    def digest(self, rows: np.ndarray) -> str:
        return seeds.digest("files", self.shape, self.invert, [self.paths[row].read_bytes() for row in rows])


@dataclass(frozen=True, eq=False)
class Resized:
    """A view at another size; bilinear with anti-aliasing. Nothing is computed before it is asked for.

    binarise: None, or the threshold in (0, 1) applied after each image is rescaled to fill [0, 1]; then pixels are 0 or 255.
    """

    source: Pixels
    size: tuple[int, int]
    binarise: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.size, *self.source.shape[2:])

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), *self.shape), np.uint8)
        for start in range(0, len(rows), CHUNK):
            images = resize(self.source.take(rows[start : start + CHUNK]), self.size)
            out[start : start + CHUNK] = images if self.binarise is None else binarised(images, self.binarise)
        return out

    def digest(self, rows: np.ndarray) -> str:
        return seeds.digest("resized", self.size, self.binarise, self.source.digest(rows))


def decode(file: io.BytesIO | Path, shape: tuple[int, ...], name: str) -> np.ndarray:
    """One image file as uint8 of this shape: grey for (h, w), RGB for (h, w, 3), resized where its size differs.

    Small files are remembered for a while: whoever looks at a folder first (is it in colour, is its paper white?) and then
    reads it decodes each once.
    """
    try:
        if isinstance(file, Path) and (about := file.stat()).st_size <= SMALL:
            flat = _remembered(file, about.st_mtime_ns, about.st_size)
        else:
            flat = _open_flat(file)
        pixels = np.asarray(flat.convert("RGB" if len(shape) == 3 else "L"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as problem:
        raise UserError(f"{name} is not an image that can be read ({problem}): remove or replace it") from problem
    if pixels.shape == tuple(shape):
        return pixels
    return resize(pixels[None], (shape[0], shape[1]))[0]


@lru_cache(maxsize=4096)
def _remembered(path: Path, changed: int, size: int) -> Image.Image:
    """changed, size: of the file, so that one that was written again is read again."""
    return _open_flat(path)


def _open_flat(file: io.BytesIO | Path) -> Image.Image:
    """The image of a file, decoded, on white paper where it is transparent."""
    with Image.open(file) as opened:
        if opened.mode in ("RGBA", "LA", "PA") or "transparency" in opened.info:  # transparent means paper
            rgba = opened.convert("RGBA")
            return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
        opened.load()
        return opened.copy()


def binarised(images: np.ndarray, threshold: float) -> np.ndarray:
    """images: (n, h, w) uint8 → {0, 255} uint8: each image rescaled to fill [0, 1], ink where above the threshold."""
    flat = images.reshape(len(images), int(np.prod(images.shape[1:]))).astype(np.float32)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    ink = flat - low > threshold * (high - low)
    return (ink.astype(np.uint8) * 255).reshape(images.shape)


def _digest(store: Pixels, rows: np.ndarray) -> str:
    """Of images that are kept as they are, whatever holds them."""
    return seeds.digest("plain", [seeds.digest(store.take(part)) for part in _chunks(rows)])


def _chunks(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
