"""The drawings of one category at a time, from the public files: one file per category, or files that hold many.

A file that holds many categories is first dealt into one file a category, so that nothing has to be in memory at once.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.files import npz_names, read_npz, reading
from exemplar.images.pixels import Packed, Pixels, Plain, Resized
from exemplar.images.quickdraw import BITMAP, Sketch, Sketches, read_sketches

FORMS = {"strokes": ("*.ndjson", "*.ndjson.gz"), "bitmaps": ("*.npy", "*.npz")}
NAME = re.compile(r"(?:full_(?:raw|simplified)_)?(.+?)\.ndjson(?:\.gz)?")  # as the public files are called
BLOCK = 1024  # lines dealt at once


@dataclass(frozen=True)
class Category:
    """Where the drawings of a word are. form: "strokes" or "bitmaps"; n_bytes: of the file, so that a job whose file has
    changed is another job."""

    word: str
    path: Path
    form: str
    n_bytes: int

    @classmethod
    def of(cls, word: str, path: Path, form: str) -> Category:
        return cls(word, path, form, path.stat().st_size)


@dataclass(frozen=True)
class Deal:
    """A job: deal a file of many categories into `folder`, at most n drawings of each, the first ones. n_bytes: as above."""

    path: Path
    folder: Path
    n: int
    n_bytes: int

    def __str__(self) -> str:
        return self.path.name


def find_files(folder: Path, form: str) -> list[Path]:
    """The files of Quick, Draw! in a folder, by name."""
    if form not in FORMS:
        raise unknown("form of Quick, Draw! drawings", form, FORMS)
    paths = sorted(path for pattern in FORMS[form] for path in folder.glob(pattern))
    if not paths:
        endings = " or ".join(pattern.removeprefix("*") for pattern in FORMS[form])
        raise UserError(f"{folder} has no {form} of Quick, Draw!: put its {endings} files there, or take another form")
    return paths


def fingerprint(paths: list[Path]) -> str:
    """A name for these files by their names and sizes: the public ones are too large to be read for it."""
    return seeds.digest([(path.name, path.stat().st_size) for path in paths])


def find_categories(paths: list[Path], form: str) -> tuple[list[Category], list[Path]]:
    """The categories that have a file of their own (or an array, in an npz), and the files that hold many: for strokes,
    those not called after the word of their first drawing."""
    found: list[Category] = []
    mixed: list[Path] = []
    for path in paths:
        if path.suffix == ".npz":
            found += [Category.of(word, path, form) for word in npz_names(path)]
        elif path.suffix == ".npy":
            found.append(Category.of(path.stem.removeprefix("full_numpy_bitmap_"), path, form))
        else:
            first = next(read_sketches(path, chunk=1), None)
            if first is None:
                raise UserError(f"{path} holds no drawings: fetch it again, or remove it")
            name = NAME.fullmatch(path.name)
            if name and name[1] == first[0].word:
                found.append(Category.of(first[0].word, path, form))
            else:
                mixed.append(path)
    return found, mixed


def check_alone(categories: list[Category]) -> list[Category]:
    """The categories by word, if each has but one file: two would hold the same drawings, raw and simplified."""
    by_word: dict[str, Category] = {}
    for category in categories:
        other = by_word.setdefault(category.word, category)
        if other is not category:
            raise UserError(
                f"{category.word} is in two files ({other.path.name} and {category.path.name}): keep one of them"
            )
    return [by_word[word] for word in sorted(by_word)]


def deal(job: Deal) -> list[list[str]]:
    """Word and file of each category found. Lines are written as they were read, a block at a time."""
    shutil.rmtree(job.folder, ignore_errors=True)  # what a kill left half-dealt
    job.folder.mkdir(parents=True)
    dealt: dict[str, int] = {}
    with reading(job.path, "drawings"), _opened(job.path) as lines:
        number = 0
        while block := list(islice(lines, BLOCK)):
            by_word: dict[str, list[bytes]] = {}
            for line in block:
                number += 1
                if line.strip():
                    by_word.setdefault(_word(line, f"line {number} of {job.path}"), []).append(line.rstrip() + b"\n")
            for word, several in by_word.items():
                some = several[: job.n - dealt.setdefault(word, 0)]
                dealt[word] += len(some)
                if some:
                    with (job.folder / file_name(word, "ndjson")).open("ab") as file:
                        file.writelines(some)
    return [[word, file_name(word, "ndjson")] for word in dealt]


def file_name(word: str, ending: str) -> str:
    """The name of a category's file: the word, with what file systems do not take written as %XX."""
    return f"{quote(word, safe=' ')}.{ending}"


def read_category(
    category: Category, start: int, stop: int, *, size: int, threshold: float
) -> tuple[Packed, np.ndarray]:
    """Drawings start … stop − 1 of a category, or those of them there are: size px, binarised; and (n,) text, the key of
    each ("" where a bitmap has none). Strokes are drawn a block at a time and read no further than needed."""
    if category.form == "bitmaps":
        images = Plain(np.array(_bitmaps(category)[start:stop]))
        return Packed(_binary(images, size, threshold), (size, size)), np.full(len(images), "")
    blocks, keys, place = [np.empty((0, -(-size * size // 8)), np.uint8)], [], 0
    for sketches in read_sketches(category.path):
        wanted = sketches[max(start - place, 0) : stop - place]
        for sketch in sketches:
            if sketch.word != category.word:
                raise UserError(
                    f"{category.path} holds drawings of {category.word} and {sketch.word}: give it another name than a "
                    "category's, then it is read as a file of many"
                )
        if wanted:
            blocks.append(_binary(_strokes(wanted, size), size, threshold))
            keys += [sketch.key_id for sketch in wanted]
        place += len(sketches)
        if place >= stop:
            break
    if len(set(keys)) < len(keys):
        again = next(key for key in keys if keys.count(key) > 1)
        raise UserError(f"{category.path} has drawing {again} of {category.word} twice: keep one of them")
    return Packed(np.concatenate(blocks), (size, size)), np.array(keys, dtype=np.str_)


def _opened(path: Path) -> gzip.GzipFile:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _word(line: bytes, where: str) -> str:
    """The word of a line; everything else in it is checked when it is drawn."""
    try:
        word = json.loads(line)["word"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise UserError(f"{where} is no drawing, or is cut off: remove the line, or fetch the file again") from problem
    if not isinstance(word, str):
        raise UserError(f"{where}: word must be text")
    return word


def _strokes(sketches: list[Sketch], size: int) -> Sketches:
    n_points = [n for sketch in sketches for n in np.diff(sketch.strokes)]
    n_strokes = [len(sketch.strokes) - 1 for sketch in sketches]
    points = np.concatenate([sketch.points[:, :2] for sketch in sketches])
    return Sketches(points, np.cumsum([0, *n_points]), np.cumsum([0, *n_strokes]), (size, size))


def _bitmaps(category: Category) -> np.ndarray:
    """(n, 28, 28) uint8, ink 255; of an npy file nothing is read yet."""
    path, word = category.path, category.word
    if path.suffix == ".npz":
        images = read_npz(path, **{word: ("u", 3)})[word]
    else:
        with reading(path, "bitmaps"):
            images = np.load(path, mmap_mode="r", allow_pickle=False)
        if images.ndim == 2 and images.shape[1] == BITMAP * BITMAP:
            images = images.reshape(-1, BITMAP, BITMAP)
    if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (BITMAP, BITMAP):
        raise UserError(f"{path}: {word} must be {BITMAP} px bitmaps, uint8, it is {images.shape} {images.dtype}")
    return images


def _binary(images: Pixels, size: int, threshold: float) -> np.ndarray:
    """(n, ⌈size² / 8⌉) uint8, one bit a pixel."""
    ink = Resized(images, (size, size), threshold).take(np.arange(len(images)))
    return np.packbits(ink.reshape(len(ink), size * size) > 0, axis=1)
