"""The drawings of one category at a time, from the public files: one file per category, or files that hold many.

A file that holds many categories, and bitmaps in any of their forms, are first dealt into one file per category, so that
nothing has to be in memory at once.
"""

from __future__ import annotations

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
from exemplar.files import reading
from exemplar.images.pixels import Packed, Pixels, Plain, Resized
from exemplar.images.quickdraw import UNKEYED, Sketches, read_sketches
from exemplar.images.quickdraw_bitmaps import bitmap_hashes, read_category_bitmaps
from exemplar.unpacking import open_stream

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
    """A job: deal a file of many categories, or a folder of bitmaps, into `folder`, at most n drawings of each, the first ones.
    n_bytes: as above, of all files."""

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
    """The categories that have a file of their own, and what has to be dealt: files of strokes that are not called after the
    word of their first drawing, or the folder of bitmaps."""
    if form == "bitmaps":
        return [], [paths[0].parent]
    found: list[Category] = []
    mixed: list[Path] = []
    for path in paths:
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
    """Word and file of each category found."""
    shutil.rmtree(job.folder, ignore_errors=True)  # what a kill left half-dealt
    job.folder.mkdir(parents=True)
    return _deal_bitmaps(job) if job.path.is_dir() else _deal_strokes(job)


def _deal_bitmaps(job: Deal) -> list[list[str]]:
    """One npy per category, (n, 28, 28) uint8, each bitmap once."""
    dealt = []
    for word, images in read_category_bitmaps(job.path):
        name = file_name(word, "npy")
        np.save(job.folder / name, images[: job.n])
        dealt.append([word, name])
    return dealt


def _deal_strokes(job: Deal) -> list[list[str]]:
    """Lines are written as they were read, a block at a time."""
    dealt: dict[str, int] = {}
    with reading(job.path, "drawings"), open_stream(job.path) as lines:
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


def count_drawings(category: Category, most: int) -> int:
    """How many drawings a category has, counted up to `most`: nothing is parsed."""
    if category.form == "bitmaps":
        return min(len(_bitmaps(category)), most)
    with reading(category.path, "drawings"), open_stream(category.path) as lines:
        return sum(1 for _ in islice((line for line in lines if line.strip()), most))


def read_category(
    category: Category, start: int, stop: int, *, size: int, threshold: float
) -> tuple[Packed, np.ndarray]:
    """Drawings start … stop − 1 of a category, or those of them there are: size px, binarised; and (n,) text, the key of
    each, the hash of a bitmap, which has none. Strokes are drawn a block at a time and read no further than needed."""
    if category.form == "bitmaps":
        images = np.array(_bitmaps(category)[start:stop])
        hashes = np.array([f"{number:016x}" for number in bitmap_hashes(images)], dtype="<U16")
        return Packed(_binary(Plain(images), size, threshold), (size, size)), hashes
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
            blocks.append(_binary(Sketches.of(wanted, size), size, threshold))
            keys += [sketch.key_id for sketch in wanted]
        place += len(sketches)
        if place >= stop:
            break
    keyed = [key for key in keys if not key.startswith(UNKEYED)]  # the same drawing without a key is taken once later
    if len(set(keyed)) < len(keyed):
        again = next(key for key in keyed if keyed.count(key) > 1)
        raise UserError(f"{category.path} has drawing {again} of {category.word} twice: keep one of them")
    return Packed(np.concatenate(blocks), (size, size)), np.array(keys, dtype=np.str_)


def _word(line: bytes, where: str) -> str:
    """The word of a line; everything else in it is checked when it is drawn."""
    try:
        word = json.loads(line)["word"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise UserError(f"{where} is no drawing, or is cut off: remove the line, or fetch the file again") from problem
    if not isinstance(word, str):
        raise UserError(f"{where}: word must be text")
    return word


def _bitmaps(category: Category) -> np.ndarray:
    """(n, 28, 28) uint8, ink 255, as they were dealt; nothing is read yet."""
    with reading(category.path, "bitmaps"):
        images: np.ndarray = np.load(category.path, mmap_mode="r", allow_pickle=False)
    return images


def _binary(images: Pixels, size: int, threshold: float) -> np.ndarray:
    """(n, ⌈size² / 8⌉) uint8, one bit a pixel."""
    ink = Resized(images, (size, size), threshold).take(np.arange(len(images)))
    return np.packbits(ink.reshape(len(ink), size * size) > 0, axis=1)
