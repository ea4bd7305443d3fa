"""Quick, Draw! as 28 px bitmaps: Google's own, one category per file, and the thin ones of another package.

Exact duplicates are found by a hash of the bitmap. Within a category a bitmap counts once: the first is kept, in the order of
the files' names. Across categories it stays in `all`, since people do draw the same line for two words; but it never stands on
two sides of a split: of train without val, val and test, only the first of these sides that has it keeps it. So what `train`
holds outside `val` does not depend on which other files there are, and neither `val` nor `test` holds what can be trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.files import npz_names
from exemplar.images.bitmap_files import BITMAP, Reader, is_thin, list_bitmap_files, open_bitmaps, read_thin
from exemplar.images.concepts import ConceptSet, Labels
from exemplar.images.pixels import Pieces
from exemplar.images.quickdraw import in_split
from exemplar.images.sources import SOURCES, Remote, quickdraw_file

SPLITS = {
    "all": "every official bitmap there is",
    "train": "the categories of quickdraw/train",
    "val": "the categories of quickdraw/val, which are in train too",
    "test": "the categories of quickdraw/test",
    "thin": "345 categories × 100, drawn with a thin pen from the top left corner: not like the official ones",
    "thin-centred": "the same, each moved to the middle",
}
SIDES = ("train without val", "val", "test")  # of a bitmap on several, the first keeps it
NEEDED = {"train": SIDES[:2], "val": SIDES[:2], "test": SIDES}  # what must be read for a split
FETCH = "put CATEGORY.npy there, or run `exemplar data fetch quickdraw-bitmaps --part cat`"


def bitmap_file(part: str) -> Remote:
    """A category's official file."""
    if "/" in part:
        raise UserError(
            f"quickdraw-bitmaps has no strokes ({part}): name a category, such as cat, or fetch that part of quickdraw"
        )
    return quickdraw_file(part)


SOURCE = replace(
    SOURCES["quickdraw"],
    name="quickdraw-bitmaps",
    folder="quickdraw_large",
    readable=(("*.npz",), ("*.npy",)),
    part=bitmap_file,
)


def load_quickdraw_bitmaps(folder: Path, split: str = "all") -> ConceptSet:
    """Official bitmaps of every file in the folder that `bitmap_files` reads, or the thin ones of one file. A concept is a
    category, in the order of their names (thin: of the file); no groups, no makers. Memory-mapped files stay on disk, though
    all that a split needs is read once, to find duplicates."""
    if split not in SPLITS:
        raise unknown("split of quickdraw-bitmaps", split, SPLITS)
    name = f"quickdraw-bitmaps/{split}"
    if split.startswith("thin"):
        words, thin = _read_thin(folder)
        images = thin.reshape(-1, BITMAP, BITMAP)
        concept = np.repeat(words, thin.shape[1])
        return ConceptSet.of(name, centred(images) if split == "thin-centred" else images, concept, family="quickdraw")
    chosen = _choose(find_categories(folder), split)
    inside = np.concatenate([mask for _, mask in chosen.values()]) if chosen else np.empty(0, bool)
    if not inside.any():
        raise UserError(f"no bitmap in {folder} belongs to {name}: add categories, or take another split")
    code = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(mask) for _, mask in chosen.values()])
    unnamed = Labels(("",), np.zeros(len(code), np.int32))
    store = Pieces([piece for pieces, _ in chosen.values() for piece in pieces])
    data = ConceptSet.of(name, store, Labels(tuple(chosen), code), unnamed, unnamed, family="quickdraw")
    return data.subset(inside)


def bitmap_hashes(images: np.ndarray) -> np.ndarray:
    """(n,) uint64: of each bitmap, blake2b of its 784 bytes, 8 bytes read as little endian. images: (n, 28, 28) uint8."""
    if images.dtype != np.uint8 or images.shape[1:] != (BITMAP, BITMAP):
        raise UserError(f"bitmaps must be (n, {BITMAP}, {BITMAP}) uint8, these are {images.shape} {images.dtype}")
    plain = np.asarray(images)  # a memory map hands out rows slowly
    digests = b"".join(blake2b(image.tobytes(), digest_size=8).digest() for image in plain)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def read_category_bitmaps(folder: Path, categories: Iterable[str] | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Each category with its official bitmaps, (n, 28, 28) uint8, ink 255, in the order of the categories' names.

    Of every official file in the folder, in the order of the files' names, each bitmap once per category; categories without
    any are passed over. One category is in memory at a time, besides an npz of many categories with labels, which is read
    whole. categories: only these (all there are, unless given).
    """
    found = find_categories(folder)
    wanted = sorted(found if categories is None else set(categories))
    for word in wanted:
        if word not in found:
            raise unknown("category", word, found, where=str(folder))
    for word in wanted:
        pieces = [read() for read in found[word]]
        first = np.split(first_ones(hash_pieces(pieces)), np.cumsum([len(piece) for piece in pieces])[:-1])
        images = np.concatenate([piece[mask] for piece, mask in zip(pieces, first, strict=True)])
        if len(images):
            yield word, images


def find_categories(folder: Path) -> dict[str, list[Reader]]:
    """Category → what reads its official bitmaps, one for each file that has some, in the order of the files' names."""
    found: dict[str, list[Reader]] = {}
    for path in list_bitmap_files(folder):
        for word, read in open_bitmaps(path).items():
            found.setdefault(word, []).append(read)
    if not found:
        raise UserError(f"{folder} has no official bitmaps of Quick, Draw!: {FETCH}")
    return {word: found[word] for word in sorted(found)}


def centred(images: np.ndarray) -> np.ndarray:
    """Each bitmap moved by whole px so that its ink's bounding box is in the middle, or half a px above or left of it.
    images: (n, h, w) uint8, ink above 0 → the same; a blank one stays as it is."""
    inked = images > 0
    down, across = (_steps_to_middle(np.any(inked, axis=axis)) for axis in (2, 1))
    height, width = images.shape[1:]
    # Nothing is lost: what leaves at one side and comes in at the other is paper.
    y = (np.arange(height) - down[:, None]) % height
    x = (np.arange(width) - across[:, None]) % width
    return images[np.arange(len(images))[:, None, None], y[:, :, None], x[:, None, :]]


def hash_pieces(pieces: list[np.ndarray]) -> np.ndarray:
    """(n,) uint64, of all bitmaps of these arrays, end to end."""
    return np.concatenate([bitmap_hashes(piece) for piece in pieces])


def first_ones(hashes: np.ndarray) -> np.ndarray:
    """(n,) bool: whether no earlier one is the same."""
    first = np.zeros(len(hashes), bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first


def _choose(found: dict[str, list[Reader]], split: str) -> dict[str, tuple[list[np.ndarray], np.ndarray]]:
    """Category of the split → its arrays, and (n,) bool, which of their bitmaps, end to end, are in the split."""
    chosen = {}
    earlier = np.empty(0, np.uint64)  # sorted: what the sides before this one have
    for side in NEEDED.get(split, ("all",)):
        here = [earlier]
        for word in (word for word in found if side in ("all", _side(word))):
            pieces = [read() for read in found[word]]
            hashes = hash_pieces(pieces)
            here.append(hashes)
            if split == "all" or in_split(word, split):
                chosen[word] = pieces, first_ones(hashes) & ~_are_among(hashes, earlier)
        earlier = np.unique(np.concatenate(here))
    return {word: chosen[word] for word in sorted(chosen)}


def _side(word: str) -> str:
    return next(side for side in ("test", "val", SIDES[0]) if side == SIDES[0] or in_split(word, side))


def _are_among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(n,) bool. known: sorted."""
    if not len(known):
        return np.zeros(len(values), bool)
    return known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values


def _steps_to_middle(inked: np.ndarray) -> np.ndarray:
    """(n,) px to move by. inked: (n, length) bool, whether a row, or column, has ink."""
    length = inked.shape[1]
    first, last = inked.argmax(axis=1), length - 1 - inked[:, ::-1].argmax(axis=1)
    return np.where(inked.any(axis=1), (length - 1 - last - first) // 2, 0)


def _read_thin(folder: Path) -> tuple[list[str], np.ndarray]:
    """Categories and (categories, k, 28, 28) uint8, of the folder's one file of thin bitmaps."""
    paths = [path for path in sorted(folder.glob("*.npz")) if is_thin(npz_names(path))]
    if not paths:
        raise UserError(
            f"{folder} has no thin bitmaps: they are an npz with the arrays bitmaps (categories, n, {BITMAP}, {BITMAP}) and "
            "category, and cannot be fetched; use the split all"
        )
    if len(paths) > 1:
        raise UserError(
            f"{folder} has thin bitmaps in {len(paths)} files, {paths[0].name} among them: keep one of them"
        )
    return read_thin(paths[0])
