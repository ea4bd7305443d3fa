"""Features of images, as rooms ask for them: each image decoded and encoded once, kept for the next time, with a bar, resumed.

Nothing is kept of a space without identity (a network with code of one's own), and its images are not compared either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from exemplar import seeds
from exemplar.images.concepts import ConceptSet
from exemplar.images.sources import cache_folder
from exemplar.progress import progress
from exemplar.spaces.devices import find_device
from exemplar.spaces.feature_cache import FeatureCache, this_program
from exemplar.spaces.inputs import Images, count_images, take_images
from exemplar.spaces.space import NetworkSpace, Space, encode_networks
from exemplar.store import Store, pack, unpack

PART = 512  # images between two steps of the bar
Found = list[np.ndarray | None]  # a space's features of each set; None where they are not known yet


def encode_all(
    spaces: Sequence[Space],
    sets: Sequence[Images],
    *,
    device: str = "auto",
    store: Store | None = None,
    folder: Path | None = None,
) -> list[list[np.ndarray]]:
    """Features of several sets of images in several spaces: `found[s][k]` is (n, d) float32, of `sets[k]` in `spaces[s]`.

    An image that occurs again, in the same set or in another one, is encoded once per space; it is decoded and prepared once
    for all spaces that take the same input. Features of concept sets are kept in the user's cache.

    store: keeps parts as they come, so that a run that was stopped resumes; unless given, it is a file in the cache that goes
    when all is done. folder: of kept features, instead of the user's cache.
    """
    total, n_parts = sum(map(count_images, sets)), sum(-(-len(images) // PART) for images in sets)
    cache = FeatureCache(folder or cache_folder() / "features", find_device(device).type)
    identities = [space.identity for space in spaces]
    found: list[Found] = [[_kept(cache, identity, images) for images in sets] for identity in identities]
    left = [s for s, identity in enumerate(identities) if identity and any(f is None for f in found[s])]
    label = f"encoding {total:,} images in " + (spaces[0].name if len(spaces) == 1 else f"{len(spaces)} spaces")
    steps = n_parts * (bool(left) + identities.count(""))
    takes_time = total > PART
    with progress(label, total=steps if takes_time else 0) as advance:
        for s in (s for s, identity in enumerate(identities) if not identity):
            found[s] = [_encode_alone(spaces[s], images, device, advance) for images in sets]
        if left:
            named = {identities[s]: spaces[s] for s in left}
            with _kept_parts(store, cache, list(named), sets if takes_time else ()) as parts:
                work = DistinctImages(named, (*this_program(), cache.kind), parts, device)
                features = work.encode(sets, {identities[s]: found[s] for s in left}, advance)
            for s in left:
                for k, images in enumerate(sets):
                    if found[s][k] is None and isinstance(images, ConceptSet):
                        cache.write(identities[s], images, features[identities[s]][k])
                found[s] = list(features[identities[s]])
    return found  # type: ignore[return-value]  # nothing is None any more


def encode_kept(space: Space, images: Images, *, device: str = "auto", folder: Path | None = None) -> np.ndarray:
    """As `space.encode`, (n, d) float32, but with a bar, resumed where it was stopped, and kept for the next time."""
    return encode_all([space], [images], device=device, folder=folder)[0][0]


class FeatureTable:
    """Features of distinct images in one space: a row for each, filled as they come. size: the most there can be."""

    def __init__(self, size: int) -> None:
        self.known = np.zeros(size, bool)
        self.rows: np.ndarray | None = None

    def put(self, places: np.ndarray, features: np.ndarray) -> None:
        if self.rows is None:
            self.rows = np.empty((len(self.known), features.shape[1]), np.float32)  # memory is taken when it is written
        self.rows[places] = features
        self.known[places] = True

    def take(self, places: np.ndarray) -> np.ndarray:
        assert self.rows is not None
        if len(places) == len(self.rows) and np.array_equal(places, np.arange(len(places))):
            return self.rows
        return self.rows[places]


class DistinctImages:
    """Images that are encoded once, in spaces by identity. program: what computes; store: keeps parts as they come."""

    def __init__(self, spaces: dict[str, Space], program: tuple[str, ...], store: Store | None, device: str) -> None:
        self.spaces, self.program, self.store, self.device = spaces, program, store, device
        self.place: dict[str, int] = {}  # digest of an image → its row in the tables

    def encode(
        self, sets: Sequence[Images], found: dict[str, Found], advance: Callable[[], None]
    ) -> dict[str, list[np.ndarray]]:
        """Identity → features of each set. found: what is known of them; it serves for the same images elsewhere, too."""
        total = sum(map(len, sets))
        tables = {identity: FeatureTable(total) for identity in self.spaces}
        places = [np.empty(len(images), np.intp) for images in sets]
        for k in sorted(range(len(sets)), key=lambda k: any(known[k] is None for known in found.values())):
            for rows in _parts(len(sets[k])):
                images = take_images(sets[k], rows)
                digests = [seeds.digest(image) for image in images]
                here = np.array([self.place.setdefault(digest, len(self.place)) for digest in digests])
                places[k][rows] = here
                for identity, known in found.items():
                    if (features := known[k]) is not None:
                        tables[identity].put(here, features[rows])
                self._encode_part(images, digests, here, tables)
                advance()
        return {
            identity: [tables[identity].take(places[k]) if f is None else f for k, f in enumerate(known)]
            for identity, known in found.items()
        }

    def _encode_part(
        self, images: np.ndarray, digests: Sequence[str], here: np.ndarray, tables: dict[str, FeatureTable]
    ) -> None:
        """Fill in what the tables lack of these images. here: (n,) their rows in the tables."""
        _, first = np.unique(here, return_index=True)
        groups: dict[Hashable, list[str]] = {}
        lacking: dict[str, np.ndarray] = {}
        for identity, space in self.spaces.items():
            rows = np.sort(first[~tables[identity].known[here[first]]])
            if len(rows):
                lacking[identity] = rows
                shared = (space.input, space.batch) if type(space) is NetworkSpace else identity
                groups.setdefault((shared, rows.tobytes()), []).append(identity)
        for identities in groups.values():
            rows = lacking[identities[0]]
            keys = {i: seeds.digest(self.program, i, [digests[row] for row in rows]) for i in identities}
            kept = self.store.get(keys.values()) if self.store else {}
            for identity in identities:
                if keys[identity] in kept:
                    tables[identity].put(here[rows], unpack(kept[keys[identity]]))
            rest = [identity for identity in identities if keys[identity] not in kept]
            for identity, features in zip(rest, self._run(rest, images[rows]), strict=True):
                tables[identity].put(here[rows], features)
                if self.store:
                    self.store.put(keys[identity], pack(features))

    def _run(self, identities: Sequence[str], images: np.ndarray) -> list[np.ndarray]:
        """Features in spaces that take the same input."""
        spaces = [self.spaces[identity] for identity in identities]
        networks = [space for space in spaces if type(space) is NetworkSpace]
        if networks:
            return encode_networks(networks, images, device=self.device)
        return [space.encode(images, device=self.device) for space in spaces]


def _encode_alone(space: Space, images: Images, device: str, advance: Callable[[], None]) -> np.ndarray:
    """Part by part, with nothing kept and nothing compared."""
    features = []
    for rows in _parts(len(images)):
        features.append(space.encode(take_images(images, rows), device=device))
        advance()
    return np.concatenate(features)


@contextmanager
def _kept_parts(
    store: Store | None, cache: FeatureCache, identities: Sequence[str], sets: Sequence[Images]
) -> Iterator[Store | None]:
    """The store that is given, or one in the cache for these sets, which goes when all is done; for no sets, none."""
    folder = cache.folder / "parts"
    if store is None and sets:
        with suppress(OSError):  # a cache that cannot be written to costs time, not the result
            folder.mkdir(parents=True, exist_ok=True)
    if store is not None or not os.access(folder, os.W_OK) or not sets:
        yield store
        return
    path = folder / seeds.digest(identities, list(map(_fingerprint, sets)), cache.kind)
    yield Store(path)
    with suppress(OSError):
        path.unlink()


def _kept(cache: FeatureCache, identity: str, images: Images) -> np.ndarray | None:
    return cache.read(identity, images) if identity and isinstance(images, ConceptSet) else None


def _fingerprint(images: Images) -> str:
    if isinstance(images, ConceptSet):
        return images.fingerprint
    return seeds.digest(images) if isinstance(images, np.ndarray) else images.digest(np.arange(len(images)))


def _parts(n: int) -> list[np.ndarray]:
    return [np.arange(start, min(start + PART, n)) for start in range(0, n, PART)]
