"""Files with 28 px bitmaps of Quick, Draw!: the official npy of a category, and npz files that hold many categories."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, shortened
from exemplar.files import npz_names, read_npz, reading

BITMAP = 28  # px
ANOTHER = "it is another file, or another version"
Reader = Callable[[], np.ndarray]  # gives one category's bitmaps, (n, 28, 28) uint8, ink 255


def list_bitmap_files(folder: Path) -> list[Path]:
    """The *.npy and *.npz of a folder, by name."""
    return sorted([*folder.glob("*.npz"), *folder.glob("*.npy")])


def open_bitmaps(path: Path) -> dict[str, Reader]:
    """Category → what reads its bitmaps, for one file of any of these forms; most of the file stays on disk until then.

    - CATEGORY.npy or full_numpy_bitmap_CATEGORY.npy, (n, 784) uint8, as Google has them: memory-mapped;
    - an npz with one array (n, 28, 28) uint8 per category, named after it;
    - an npz with `images` (n, 28, 28) uint8, `label` (n,) and `category` (c,) text: read whole, once.

    A file of thin bitmaps (`is_thin`) has no official ones: the answer is empty.
    """
    if path.suffix == ".npy":
        return {path.stem.removeprefix("full_numpy_bitmap_"): partial(_map_official, path)}
    names = npz_names(path)
    if is_thin(names):
        return {}
    if {"images", "label", "category"} & set(names):
        return _open_labelled(path)
    return {word: partial(_read_category, path, word) for word in names}


def is_thin(names: list[str]) -> bool:
    """Whether an npz with arrays of these names holds thin bitmaps: `bitmaps` (c, k, 28, 28) and `category` (c,)."""
    return {"bitmaps", "category"} <= set(names)


def read_thin(path: Path) -> tuple[list[str], np.ndarray]:
    """Categories, and (categories, k, 28, 28) uint8, ink 255, of a file of thin bitmaps."""
    arrays = read_npz(path, bitmaps=("u", 4), category=("U", 1))
    bitmaps, words = arrays["bitmaps"], _checked_names(path, arrays["category"])
    if bitmaps.dtype != np.uint8 or bitmaps.shape[0] != len(words) or bitmaps.shape[2:] != (BITMAP, BITMAP):
        raise UserError(
            f"{path}: bitmaps must be ({len(words)}, n, {BITMAP}, {BITMAP}) uint8, they are {bitmaps.shape} {bitmaps.dtype}: "
            f"{ANOTHER}"
        )
    return words, bitmaps


def _map_official(path: Path) -> np.ndarray:
    with reading(path, "bitmaps"):
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    if rows.ndim != 2 or rows.shape[1] != BITMAP * BITMAP:
        raise UserError(
            f"{path} must be (n, {BITMAP * BITMAP}) uint8, it is {rows.shape}: move it away and run "
            f"`exemplar data fetch quickdraw-bitmaps --part {path.stem.rpartition('_')[2]!r}`"
        )
    return _checked(path, path.stem, rows.reshape(-1, BITMAP, BITMAP))


def _read_category(path: Path, word: str) -> np.ndarray:
    return _checked(path, word, read_npz(path, **{word: ("u", 3)})[word])


def _open_labelled(path: Path) -> dict[str, Reader]:
    arrays = read_npz(path, label=("iu", 1), category=("U", 1))
    label, words = arrays["label"], _checked_names(path, arrays["category"])
    if len(label) and not (label.min() >= 0 and label.max() < len(words)):
        raise UserError(
            f"{path}: label goes from {label.min()} to {label.max()}, but there are {len(words)} categories: {ANOTHER}"
        )

    @cache
    def whole() -> np.ndarray:
        images = _checked(path, "images", read_npz(path, images=("u", 3))["images"])
        if len(images) != len(label):
            raise UserError(f"{path} has {len(images)} images but {len(label)} labels: {ANOTHER}")
        return images

    def read(place: int) -> np.ndarray:
        rows = np.flatnonzero(label == place)
        in_one = len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows)
        return whole()[rows[0] : rows[-1] + 1] if in_one else whole()[rows]

    return {word: partial(read, place) for place, word in enumerate(words)}


def _checked_names(path: Path, category: np.ndarray) -> list[str]:
    words = [str(word) for word in category]
    wrong = [word for word in words if not word.strip() or words.count(word) > 1]
    if wrong:
        raise UserError(f"{path}: category must name each category once ({shortened(map(repr, wrong), 3)}): {ANOTHER}")
    return words


def _checked(path: Path, word: str, images: np.ndarray) -> np.ndarray:
    if images.dtype != np.uint8 or images.shape[1:] != (BITMAP, BITMAP):
        raise UserError(f"{path}: {word} must be {BITMAP} px bitmaps, uint8, it is {images.shape} {images.dtype}")
    return images
