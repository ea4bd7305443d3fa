"""Quick, Draw! as 28 px bitmaps: Google's own, one category per file, and the thin ones of another package.

Exact duplicates are found by a hash of the bitmap. Within a category a bitmap counts once: the first is kept, in the order of
the files' names. Across categories it stays in `all`, since people do draw the same line for two words; but it never stands on
two sides of a split: of train without val, val and test, only the first of these sides that has it keeps it. So what `train`
holds outside `val` does not depend on which other files there are, and neither `val` nor `test` holds what can be trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.images.bitmap_files import BITMAP, Reader, list_bitmap_files, open_bitmaps

FETCH = "put CATEGORY.npy there, or run `exemplar data fetch quickdraw-bitmaps --part cat`"


def bitmap_hashes(images: np.ndarray) -> np.ndarray:
    """(n,) uint64: of each bitmap, blake2b of its 784 bytes, 8 bytes read as little endian. images: (n, 28, 28) uint8."""
    if images.dtype != np.uint8 or images.shape[1:] != (BITMAP, BITMAP):
        raise UserError(f"bitmaps must be (n, {BITMAP}, {BITMAP}) uint8, these are {images.shape} {images.dtype}")
    digests = b"".join(blake2b(np.ascontiguousarray(image), digest_size=8).digest() for image in images)
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
        images = np.concatenate([piece[kept] for piece, kept in zip(pieces, first_ones(pieces), strict=True)])
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


def first_ones(pieces: list[np.ndarray]) -> list[np.ndarray]:
    """For each piece, the rows whose bitmap is in no earlier row or piece. pieces: (n, 28, 28) uint8 each."""
    hashes = np.concatenate([bitmap_hashes(piece) for piece in pieces])
    first = np.zeros(len(hashes), bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    return [np.flatnonzero(part) for part in np.split(first, np.cumsum([len(piece) for piece in pieces])[:-1])]
