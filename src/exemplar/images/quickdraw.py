"""Quick, Draw! (Google): drawings made in 20 s each, as pen strokes (ndjson, raw or simplified) or as 28 px bitmaps.

Strokes are kept as strokes and drawn when asked for, at the size asked for: `load_quickdraw(folder, "strokes", size=48)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.files import reading
from exemplar.images import ink
from exemplar.images.bitmap_files import BITMAP, list_bitmap_files, open_bitmaps
from exemplar.images.concepts import ConceptSet
from exemplar.images.lists import read_list
from exemplar.images.pixels import CHUNK, Plain
from exemplar.unpacking import open_stream

SPLITS = {
    "strokes": "every drawing there is as pen strokes (345 categories)",
    "train": "the drawings of about four fifths of the categories, chosen by a hash of their names",
    "val": "the drawings of 40 of train's categories, to choose critics on",
    "test": "the drawings of the other categories",
    "bitmaps": "drawings as 28 px bitmaps (all categories there are)",
}
SIZE = 48  # px, of drawings made from strokes
# The proportions of Google's bitmaps, where a drawing of 256 has a pen of 16 and 16 more of paper around: 304 in all.
PEN, MARGIN = 16 / 304, 24 / 304
FIELDS = ("word", "drawing")  # what a line must have; copies of the files often lack the others
UNKEYED = "unkeyed-"  # how the key of a drawing that has none begins


@dataclass(frozen=True, eq=False)
class Sketch:
    """One line of ndjson. points: (p, 3) float32 x, y and t in ms (raw), or (p, 2) x and y (simplified), y down;
    strokes: (s + 1,) offsets into points; recognized: whether the game guessed the word, None where the line does not say;
    key_id: where the line has none, "unkeyed-" and a hash of word and strokes."""

    word: str
    key_id: str
    countrycode: str
    timestamp: str
    recognized: bool | None
    points: np.ndarray
    strokes: np.ndarray


@dataclass(frozen=True, eq=False)
class Sketches:
    """A store of drawings as strokes: each is scaled to fill the frame and drawn when asked for.

    points, strokes, images: as in `ink.render`, in any unit; shape: (h, w) of what comes out.
    """

    points: np.ndarray
    strokes: np.ndarray
    images: np.ndarray
    shape: tuple[int, ...]

    @classmethod
    def of(cls, sketches: Sequence[Sketch], size: int) -> Sketches:
        """At least one drawing; size: px of the square they are drawn in."""
        return cls(
            np.concatenate([sketch.points[:, :2] for sketch in sketches]),
            _offsets(np.concatenate([np.diff(sketch.strokes) for sketch in sketches])),
            _offsets(np.asarray([len(sketch.strokes) - 1 for sketch in sketches])),
            (size, size),
        )

    def __len__(self) -> int:
        return len(self.images) - 1

    def take(self, rows: np.ndarray) -> np.ndarray:
        size, side = (self.shape[0], self.shape[1]), min(self.shape)
        out = np.empty((len(rows), *size), np.uint8)
        for start in range(0, len(rows), CHUNK):
            points, strokes, images = self._gathered(np.asarray(rows[start : start + CHUNK]))
            fitted = ink.fit(points, strokes, images, size=size, margin=MARGIN * side)
            out[start : start + CHUNK] = ink.render(fitted, strokes, images, size=size, width=PEN * side)
        return out

    def digest(self, rows: np.ndarray) -> str:
        return seeds.digest("sketches", self.shape, PEN, MARGIN, self._gathered(np.asarray(rows)))

    def _gathered(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, strokes and images of these rows alone."""
        stroke = spans(self.images[:-1][rows], self.images[1:][rows])
        point = spans(self.strokes[:-1][stroke], self.strokes[1:][stroke])
        strokes, images = _offsets(np.diff(self.strokes)[stroke]), _offsets(np.diff(self.images)[rows])
        return self.points[point], strokes, images


def spans(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """start[0] … end[0] − 1, start[1] … end[1] − 1 and so on, in one array.

    >>> spans(np.array([3, 0]), np.array([5, 2]))
    array([3, 4, 0, 1])
    """
    length = end - start
    return np.repeat(end - np.cumsum(length), length) + np.arange(length.sum())


def load_quickdraw(
    folder: Path,
    split: str = "strokes",
    *,
    size: int | None = None,
    recognized: bool = False,
    most: int | None = None,
) -> ConceptSet:
    """Every *.ndjson and *.ndjson.gz in the folder, or for `bitmaps` every *.npz and *.npy (in a form that
    `bitmap_files` reads). Categories by name; drawings in the order of the files. No groups; the maker is the drawing's
    key_id, since the game does not say who drew (bitmaps: unnamed).

    size: px, of the square drawings are made at (48), or bitmaps resized to (28); recognized: only drawings of which the
    file says that the game guessed them; most: at most so many of each category, the first ones: the official files hold
    100,000 and more each. A category is in `test` or `train` whatever else is in the folder, so that partial downloads
    never mix the two.
    """
    if split not in SPLITS:
        raise unknown("split of quickdraw", split, SPLITS)
    if size is not None and size < 1:
        raise UserError(f"drawings cannot be {size} px: give a size of at least 1")
    if most is not None and most < 1:
        raise UserError(f"The number of drawings per category must be at least 1, got {most}.")
    if split != "bitmaps":
        return _load_strokes(folder, split, size or SIZE, recognized, most)
    if recognized:
        raise UserError("bitmaps do not say which drawings were recognized: use the split strokes, or leave this out")
    return _load_bitmaps(folder, most).resized(size or BITMAP)


def in_test(word: str) -> bool:
    """Whether a category belongs to the split `test`: one in five, by a hash of its name."""
    return seeds.seed("quickdraw test", word) % 5 == 0


def in_split(word: str, split: str) -> bool:
    """Whether a category's drawings are in a split of strokes; all are in `strokes`, those of `val` in `train` too."""
    if split == "val":
        return word in read_list("quickdraw_val")
    return split == "strokes" or in_test(word) == (split == "test")


def read_sketches(path: Path, *, chunk: int = 1024) -> Iterator[list[Sketch]]:
    """The drawings of an ndjson file, plain or .gz, `chunk` at a time: memory stays flat however large the file."""
    batch: list[Sketch] = []
    with reading(path, "drawings"), open_stream(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                batch.append(_parsed(line, f"line {number} of {path}"))
            if len(batch) == chunk:
                yield batch
                batch = []
    if batch:
        yield batch


def _parsed(line: bytes, where: str) -> Sketch:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{where} is not JSON, or is cut off: remove the line, or fetch the file again") from problem
    missing = FIELDS if not isinstance(record, dict) else [field for field in FIELDS if field not in record]
    if missing:
        raise UserError(f"{where} has no {', '.join(missing)}: each line must be a drawing of Quick, Draw!")
    recognized = record.get("recognized")
    if not isinstance(record["word"], str) or not isinstance(recognized, bool | None):
        raise UserError(f"{where}: word must be text, and recognized true or false")
    points, strokes = _parsed_strokes(record["drawing"], where)
    key, country, time = (str(record.get(field, "")) for field in ("key_id", "countrycode", "timestamp"))
    key = key or UNKEYED + seeds.digest(record["word"], points, strokes, size=8)
    return Sketch(record["word"], key, country, time, recognized, points, strokes)


def _parsed_strokes(drawing: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Points (p, 2 or 3) float32 and stroke offsets, of a list of [x, y] or [x, y, t], each a list of numbers."""
    wrong = UserError(f"{where}: drawing must be strokes [x, y] or [x, y, t], each a list of as many finite numbers")
    if not isinstance(drawing, list) or not drawing:
        raise wrong
    if not all(isinstance(stroke, list) and all(isinstance(axis, list) for axis in stroke) for stroke in drawing):
        raise wrong
    n_axes = len(drawing[0])
    lengths = [len(stroke[0]) if stroke else 0 for stroke in drawing]
    if n_axes not in (2, 3) or min(lengths) < 1:
        raise wrong
    for stroke, length in zip(drawing, lengths, strict=True):
        if len(stroke) != n_axes or any(len(axis) != length for axis in stroke):
            raise wrong
    try:
        columns = [np.asarray(list(chain.from_iterable(stroke[k] for stroke in drawing))) for k in range(n_axes)]
    except (ValueError, OverflowError) as problem:
        raise wrong from problem
    for column in columns:
        # Not finite, or so large (1e9 px, or ms: 12 days) that float32 loses the pen's steps: no drawing.
        if column.ndim != 1 or column.dtype.kind not in "iuf" or not (np.abs(column) < 1e9).all():
            raise wrong
    return np.stack(columns, axis=1).astype(np.float32), _offsets(np.asarray(lengths))


def _load_strokes(folder: Path, split: str, size: int, recognized: bool, most: int | None) -> ConceptSet:
    paths = sorted([*folder.glob("*.ndjson"), *folder.glob("*.ndjson.gz")])
    if not paths:
        raise UserError(f"{folder} has no drawings of Quick, Draw!: put its .ndjson or .ndjson.gz files there")
    by_word: dict[str, list[Sketch]] = {}
    keys: set[str] = set()
    for sketch in (sketch for path in paths for batch in read_sketches(path) for sketch in batch):
        if recognized and not sketch.recognized:
            continue
        if not in_split(sketch.word, split):
            continue
        same = by_word.setdefault(sketch.word, [])
        if most is not None and len(same) >= most:
            continue
        if sketch.key_id in keys:
            if sketch.key_id.startswith(UNKEYED):
                continue
            raise UserError(
                f"{folder} has drawing {sketch.key_id} twice ({sketch.word}): keep its raw or its simplified file, not both"
            )
        keys.add(sketch.key_id)
        same.append(sketch)
    chosen = [sketch for word in sorted(by_word) for sketch in by_word[word]]
    if not chosen:
        raise UserError(f"no drawing in {folder} belongs to quickdraw/{split}: add categories, or take another split")
    store = Sketches.of(chosen, size)
    words, makers = [sketch.word for sketch in chosen], [sketch.key_id for sketch in chosen]
    return ConceptSet.of(f"quickdraw/{split}", store, words, maker=makers, family="quickdraw")


def _load_bitmaps(folder: Path, most: int | None) -> ConceptSet:
    bitmaps: dict[str, np.ndarray] = {}
    for path in list_bitmap_files(folder):
        for word, read in open_bitmaps(path).items():
            if word in bitmaps:
                raise UserError(f"{folder} has bitmaps of {word} in two files: keep one of them")
            bitmaps[word] = np.array(read()[:most])  # a copy, so that the rest of the file is let go
    words = sorted(word for word, images in bitmaps.items() if len(images))
    if not words:
        raise UserError(f"{folder} has no bitmaps of Quick, Draw!: put its .npy files, or an npz of them, there")
    store = Plain(np.concatenate([bitmaps[word] for word in words]))
    return ConceptSet.of(
        "quickdraw/bitmaps", store, [word for word in words for _ in bitmaps[word]], family="quickdraw"
    )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])
