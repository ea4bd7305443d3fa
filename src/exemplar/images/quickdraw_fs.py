"""QuickDraw-FS: visual concepts of Quick, Draw!, an exemplar and 500 variations of each (Boutin et al. 2023, App. A.2).

A committed list says which drawings they are, by a hash of their official 28 px bitmap: `exemplar draw quickdraw-fs build`
wrote it. From the bitmaps, wherever in which files they are, the same set is rebuilt bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, shortened, unknown
from exemplar.images import quickdraw_bitmaps
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Packed, Pixels, Plain, Resized
from exemplar.images.quickdraw import in_test
from exemplar.images.quickdraw_bitmaps import bitmap_hashes, find_categories, read_category_bitmaps

SPLITS = {
    "test": "concepts at random, 17 %, as published",
    "train": "the other concepts, 83 %",
    "val": "concepts of train, to choose on",
    "category-test": "concepts of a quarter of the categories: none of these is in category-train",
    "category-train": "the concepts of the other categories",
    "category-val": "concepts of some of category-train's categories, to choose on",
    "critics": "concepts in neither test set, and categories that have no concept, none of that quarter: for critics of both",
    "critics-val": "concepts of category-val that are in neither test set, to choose critics on",
    "critics-parts": "clusters in neither test set, divided into smaller ones, and categories without any: for ProtoNets",
    "aside": "the first drawings of each category, in no concept: for the space that concepts are clustered in",
}
SOURCE = replace(quickdraw_bitmaps.SOURCE, name="quickdraw-fs", note="rebuilt from the bitmaps of 69 categories")
FAMILY = "quickdraw"
SIZE, THRESHOLD = 48, 0.3  # px; what is ink
N_ASIDE, N_CLUSTERED, LEAST_ASIDE = 15_000, 5_000, 5  # drawings of a category; at least one in five is set aside


@dataclass(frozen=True, eq=False)
class ConceptList:
    """concept, category: (k,) text; published, by_category: (k,) text, train, val or test; key: (k, 1 + n) uint64, the hash
    of each drawing's bitmap, the exemplar's first."""

    concept: np.ndarray
    category: np.ndarray
    published: np.ndarray
    by_category: np.ndarray
    key: np.ndarray

    def members(self, split: str) -> np.ndarray:
        """(k,) bool: the concepts of a split; those of val are in train, too."""
        if split.startswith("critics"):
            neither = self.members("train") & self.members("category-train")
            return neither & self.members("category-val") if split == "critics-val" else neither
        part = self.by_category if split.startswith("category-") else self.published
        name = split.removeprefix("category-")
        return part == name if name != "train" else part != "test"


@cache
def read_concepts() -> ConceptList:
    with resources.files("exemplar.images").joinpath("quickdraw_fs.npz").open("rb") as file, np.load(file) as stored:
        return ConceptList(
            **{name: stored[name] for name in ("concept", "category", "published", "by_category", "key")}
        )


@dataclass(frozen=True, eq=False)
class PartList:
    """name, category: (k,) text; size: (k,) drawings of each part; key: (n,) uint64, part after part, the hash of each
    drawing's bitmap, the nearest to the part's centre first."""

    name: np.ndarray
    category: np.ndarray
    size: np.ndarray
    key: np.ndarray


@cache
def read_parts() -> PartList:
    """The smaller clusters: `exemplar draw quickdraw-fs divide` wrote them."""
    with (
        resources.files("exemplar.images").joinpath("quickdraw_fs_parts.npz").open("rb") as file,
        np.load(file) as stored,
    ):
        return PartList(**{name: stored[name] for name in ("name", "category", "size", "key")})


def count_aside(n: int, most: int = N_ASIDE, clustered: int = N_CLUSTERED) -> int:
    """Of n drawings of a category, how many are set aside: all but those that are clustered, but never less than a fifth, and
    `most` at most.

    >>> count_aside(20_000), count_aside(5_000), count_aside(1_000)  # the first as in the paper
    (15000, 1000, 200)
    """
    return min(most, max(n - clustered, n // LEAST_ASIDE))


def in_category_test(word: str) -> bool:
    """Whether a category is for testing only, by a hash of its name: those of `quickdraw test`, and a third as many more."""
    return in_test(word) or seeds.seed("quickdraw test", word) % 15 == 1


def load_quickdraw_fs(folder: Path, split: str = "test") -> ConceptSet:
    """48 px, binarised at 0.3; groups are categories, makers the drawings' hashes. Each concept comes with its exemplar, but in
    `critics`, `critics-parts` and `aside`, where there are whole categories too. folder: with the official bitmaps,
    whatever else is in it."""
    if split not in SPLITS:
        raise unknown("split of quickdraw-fs", split, SPLITS)
    name = f"quickdraw-fs/{split}"
    if split == "aside":
        return gather(name, draw_aside(folder))
    concepts = read_concepts()
    if split == "critics-parts":
        parts = read_parts()
        keys = np.split(parts.key, np.cumsum(parts.size)[:-1])
        return _with_others(name, folder, {*concepts.category, *parts.category}, parts.name, parts.category, keys)
    wanted = concepts.members(split)
    listed = concepts.concept[wanted], concepts.category[wanted], list(concepts.key[wanted])
    if split == "critics":
        return _with_others(name, folder, set(concepts.category), *listed)
    n = concepts.key.shape[1]
    bits = np.concatenate([drawings.bits for _, drawings in find_drawings(folder, *listed)])
    return ConceptSet.of(
        name,
        Packed(bits, (SIZE, SIZE)),
        np.repeat(concepts.concept[wanted], n),
        np.repeat(concepts.category[wanted], n),
        [f"{key:016x}" for key in concepts.key[wanted].ravel()],
        family=FAMILY,
        exemplars=np.arange(wanted.sum()) * n,
    )


def _with_others(name: str, folder: Path, known: set[str], *listed: Any) -> ConceptSet:
    """What is listed, as `find_drawings` takes it, and whole categories of which nothing is known."""
    from exemplar.images.quickdraw_others import draw_others

    return gather(name, chain(find_drawings(folder, *listed), draw_others(folder, known)))


def find_drawings(
    folder: Path, names: np.ndarray, categories: np.ndarray, keys: list[np.ndarray]
) -> list[tuple[str, Packed]]:
    """Each of these, in their order, with its drawings in the order of their keys; an error names what is not there.

    names, categories: (k,) text; keys: of each, the hashes of its drawings."""
    found: dict[str, Packed] = {}
    asked = sorted(set(categories.tolist()) & set(find_categories(folder)))
    for word, images in read_category_bitmaps(folder, asked):
        hashes = bitmap_hashes(images)
        order = np.argsort(hashes)
        for place in np.flatnonzero(categories == word):
            rows = order[np.searchsorted(hashes, keys[place], sorter=order).clip(max=len(hashes) - 1)]
            if np.array_equal(hashes[rows], keys[place]):
                found[str(names[place])] = at_full_size(Plain(images[rows]))
    if missing := [name for name in names.tolist() if name not in found]:
        word = str(categories[names == missing[0]][0])
        raise UserError(
            f"{folder} lacks drawings of {len(missing)} concepts of QuickDraw-FS ({shortened(missing, 3)}): put the official "
            f"{word}.npy there, or run `exemplar data fetch quickdraw-bitmaps --part '{word}'`"
        )
    return [(name, found[name]) for name in names.tolist()]


def at_full_size(images: Pixels) -> Packed:
    """Drawings brought to 48 px and binarised at 0.3, one bit per pixel."""
    return Packed.of(Resized(images, (SIZE, SIZE), THRESHOLD).take(np.arange(len(images))))


def gather(name: str, several: Iterable[tuple[str, Packed]]) -> ConceptSet:
    """One set of concepts that come one after the other, each with its drawings."""
    concepts, drawings = zip(*several, strict=True)
    bits = np.concatenate([each.bits for each in drawings])
    labels = np.repeat(np.array(concepts, dtype=object), [len(each) for each in drawings])
    return ConceptSet.of(name, Packed(bits, (SIZE, SIZE)), labels, family=FAMILY)


def draw_aside(folder: Path) -> Iterator[tuple[str, Packed]]:
    """Each category with the drawings that come first; one category is in memory at a time."""
    for word, images in read_category_bitmaps(folder):
        yield word, at_full_size(Plain(images[: count_aside(min(len(images), N_ASIDE + N_CLUSTERED))]))
