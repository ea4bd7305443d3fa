"""Whether a space was trained on what it is asked about: by the names of concepts, and where these cannot tell, by the images.

Within a data set of the catalogue names tell. In a folder or file of anyone's own they do not: there every image is compared
with those that the space was trained on, if they are on this machine (nothing is fetched for it). Images are compared as the
space receives them, so that the same drawing is found whatever its file's format; a copy that was resized on the way, redrawn
or moved is not found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, shortened
from exemplar.files import DAMAGE, whole_file
from exemplar.images import sources
from exemplar.images.catalogue import CATALOGUE
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.cards import SAME_IMAGES, Card, names_seen
from exemplar.spaces.inputs import DrawingInput, Input
from exemplar.spaces.space import PixelSpace, Space
from exemplar.store import package_sources

PART = 512  # images at a time
ACCIDENT = (
    0.001  # share: of 2,046 test drawings of Quick, Draw! one is a training drawing's twin at 48 px, of Omniglot's none
)
ALLOW = "use a space trained on others, or --allow-seen, which the result then says"


@dataclass(frozen=True)
class Seen:
    """concepts: on how many a space was trained, None where that is unknown; images: on how many of the images, None where they
    were not compared; warnings: a sentence each."""

    concepts: int | None
    images: int | None
    warnings: tuple[str, ...] = ()


def find_seen(spaces: Iterable[Space], data: ConceptSet, *, allow_seen: bool = False) -> Seen:
    """What any of the spaces was trained on; that it was is the user's mistake unless allowed."""
    groups: dict[tuple[str, Input, tuple[str, ...]], list[str]] = {}
    cards: dict[tuple[str, Input, tuple[str, ...]], Card] = {}
    unknown = False
    for space in spaces:
        card: Card | None = getattr(space, "card", None)
        if card is None:
            unknown |= not isinstance(space, PixelSpace)
            continue
        key = (card.data, card.input, card.concepts)
        cards[key] = card
        groups.setdefault(key, [])
        groups[key] += [space.name] if space.name not in groups[key] else []
    found = [_compare(cards[key], _were_trained(names), data, allow_seen) for key, names in groups.items()]
    concepts = [one.concepts for one in found if one.concepts is not None]
    images = [one.images for one in found if one.images is not None]
    unknown |= len(concepts) < len(found)
    most = max(concepts, default=0)
    return Seen(
        None if unknown and not most else most,
        max(images) if images and len(images) == len(found) else None,
        tuple(dict.fromkeys(sentence for one in found for sentence in one.warnings)),
    )


def _were_trained(names: list[str]) -> str:
    """How a sentence about spaces begins."""
    return f"{names[0]} was trained" if len(names) == 1 else f"{' and '.join(names)} were trained"


def _compare(card: Card, who: str, data: ConceptSet, allow_seen: bool) -> Seen:
    """Of one training set. who: the spaces that were trained on it, as a sentence begins."""
    trained, own = family_of_card(card), SAME_IMAGES.get(data.family, data.family)
    source, split, _ = data.name.partition("/")  # somebody's own has no split, whatever it is called
    named = names_seen(card, data.concepts, listed=bool(split) and source in CATALOGUE)
    names = [name for name in data.concepts if name in named]
    if own and trained:
        if own != trained:
            return Seen(0, None)
        if names and not allow_seen:
            raise UserError(
                f"{who} on {len(names)} of these {data.n_concepts} concepts of {data.name} "
                f"({shortened(names, 3)}): {ALLOW}"
            )
        return Seen(len(names), None)
    same = _same_images(card, data)
    n = None if same is None else int(same.sum())
    if same is not None and n and n > ACCIDENT * len(data):
        if not allow_seen:
            called = f" ({len(names)} of its {data.n_concepts} concepts have names of that set, too)" if names else ""
            raise UserError(
                f"{who} on {n} of these {len(data)} images of {data.name}, which are in {card.data}{called}: {ALLOW}"
            )
        return Seen(len(np.unique(data.concept.code[same])), n)
    if not names:
        return Seen(None, n)
    checked = (
        f"{card.data} is not on this machine to compare the images"
        if n is None
        else "no image is the same, but copies that were resized or redrawn are not found that way"
    )
    sentence = (
        f"{len(names)} of these {data.n_concepts} concept names ({shortened(names, 3)}) are names that {who} on; "
        f"whether the drawings are the same ones is unknown ({checked})"
    )
    return Seen(None, n, (sentence,))


def family_of_card(card: Card) -> str:
    """The data set of the catalogue that it was trained on, one name for those that share their images; "" for another."""
    name = card.data.partition("/")[0]
    return SAME_IMAGES.get(name, name) if name in CATALOGUE else ""


def _same_images(card: Card, data: ConceptSet) -> np.ndarray | None:
    """(n,) bool: which images the space was trained on; None where those are not here, or cannot be compared."""
    if isinstance(card.input, DrawingInput) and len(data.shape) != 2:
        return None
    trained = training_hashes(card.data, card.input)
    return None if trained is None else np.isin(_hashes_of(data, card.input), trained)


def training_hashes(name: str, taken: Input) -> np.ndarray | None:
    """(m,) uint64, sorted: of every image of DATA/SPLIT as a network with this input receives it; kept in the user's cache.
    None where the data is not on this machine."""
    data, _, split = name.partition("/")
    if data not in CATALOGUE or split not in CATALOGUE[data].splits() or not CATALOGUE[data].is_here():
        return None
    place = sources.find(data) if CATALOGUE[data].found else None
    files = [] if place is None else sorted(path for path in place.iterdir() if path.is_file())
    stamp = seeds.digest(
        name, taken, package_sources(), [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files]
    )
    return _training_hashes(data, split, taken, stamp)


@lru_cache(maxsize=8)
def _training_hashes(data: str, split: str, taken: Input, stamp: str) -> np.ndarray | None:
    path = sources.cache_folder() / "seen" / f"{stamp}.npy"
    with suppress(*DAMAGE), path.open("rb") as file:
        kept = np.lib.format.read_array(file, allow_pickle=False)
        if file.read() == seeds.digest(stamp, kept).encode():
            return np.asarray(kept)
    try:
        found = np.unique(hash_images(CATALOGUE[data].load(split, None), taken))
    except UserError:  # such as strokes that were not fetched
        return None
    with (
        suppress(UserError),
        whole_file(path) as part,
        part.open("wb") as file,
    ):  # a full disk costs time, not the result
        np.lib.format.write_array(file, found, allow_pickle=False)
        file.write(seeds.digest(stamp, found).encode())
    return found


_known: WeakKeyDictionary[ConceptSet, dict[Input, np.ndarray]] = WeakKeyDictionary()


def _hashes_of(data: ConceptSet, taken: Input) -> np.ndarray:
    """Those of a data set, computed once however often it is asked about."""
    kept = _known.setdefault(data, {})
    if taken not in kept:
        kept[taken] = hash_images(data, taken)
    return kept[taken]


def hash_images(data: ConceptSet, taken: Input) -> np.ndarray:
    """(n,) uint64: of each image as a network receives it. A blank one has a hash of its own, which none is equal to."""
    found = np.empty(len(data), np.uint64)
    for start in range(0, len(data), PART):
        rows = np.arange(start, min(start + PART, len(data)))
        images = taken.prepare(data.take(rows)).reshape(len(rows), -1)
        content = np.packbits(images > 0, axis=1) if isinstance(taken, DrawingInput) else images
        found[rows] = [_hash(image.tobytes()) for image in content]
        blank = images.min(axis=1) == images.max(axis=1)
        found[rows[blank]] = [_hash(f"blank {data.name} {row}".encode()) for row in rows[blank]]
    return found


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
