"""A space that shows how far it is, and keeps what it has seen for when it is stopped."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exemplar import seeds
from exemplar.engine import progress
from exemplar.images.concepts import ConceptSet
from exemplar.images.sources import cache_folder
from exemplar.spaces.devices import find_device
from exemplar.spaces.inputs import Input
from exemplar.spaces.space import Images, Space, encode_kept
from exemplar.store import Store, pack, package_sources, unpack

if TYPE_CHECKING:
    from exemplar.spaces.zoo import Card

PART = 512  # images between two steps of the bar


@dataclass(frozen=True, eq=False)
class Watched:
    """A space with a bar. store: where features are kept, part by part."""

    space: Space
    store: Store | None = None

    @property
    def name(self) -> str:
        return self.space.name

    @property
    def card(self) -> Card | None:
        return getattr(self.space, "card", None)

    @property
    def layer(self) -> str:
        return self.space.layer

    @property
    def input(self) -> Input:
        return self.space.input

    @property
    def identity(self) -> str:
        return self.space.identity

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, as the space has it."""
        parts = [np.arange(start, min(start + PART, len(images))) for start in range(0, len(images), PART)]
        kept = self._kept(images, parts)
        features = []
        total = len(parts) if len(parts) > 1 else 0  # what takes no time needs no bar
        with progress(f"{self.name} looks at {len(images)} images", total=total) as advance:
            for rows, (key, packed) in zip(parts, kept, strict=True):
                found = unpack(packed) if packed else self.space.encode(_take(images, rows), device=device)
                if self.store and not packed:
                    self.store.put(key, pack(found))
                features.append(found)
                advance()
        return np.concatenate(features)

    def _kept(self, images: Images, parts: list[np.ndarray]) -> list[tuple[str, bytes | None]]:
        """The key of each part of the images, and its features where the store has them."""
        if self.store is None:
            return [("", None)] * len(parts)
        name = (package_sources(), self.identity)
        keys = [seeds.digest(name, _take(images, rows)) for rows in parts]
        kept = self.store.get(keys)
        return [(key, kept.get(key)) for key in keys]


def encode_in_parts(space: Space, images: ConceptSet, *, device: str = "auto") -> np.ndarray:
    """As `encode_kept`, (n, d) float32, with a bar; parts are kept in the cache until all are done."""
    identity = space.identity
    if not identity:
        return Watched(space).encode(images, device=device)
    folder = cache_folder() / "features" / "parts"
    path = folder / seeds.digest(identity, images.fingerprint, find_device(device).type)
    with suppress(OSError):  # a cache that cannot be written to costs time, not the result
        folder.mkdir(parents=True, exist_ok=True)
    store = Store(path) if os.access(folder, os.W_OK) else None
    features = encode_kept(Watched(space, store), images, device=device)
    with suppress(OSError):
        path.unlink()
    return features


def _take(images: Images, rows: np.ndarray) -> np.ndarray:
    return images.take(rows) if isinstance(images, ConceptSet) else images[rows]
