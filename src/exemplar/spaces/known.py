"""Features of certain images as a space: what a space without identity has encoded once, or what a file holds.

The features themselves are then the identity: a result kept under `content` is found again for the same features only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, shortened
from exemplar.files import npz_names, read_npz
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.given import as_features, is_near
from exemplar.spaces.inputs import Images, Input, count_images, take_images
from exemplar.spaces.space import Space

PART = 512  # images at a time
DATA, DRAWINGS, TRAINING = "data", "drawings", "training"  # arrays of a file of features
FORM = (
    "save numpy.savez(FILE, data=…, drawings=…): `data` (images, d) in the order of the data, `drawings` (concepts, n, d) in "
    "the order of its concepts"
)


@dataclass(frozen=True, eq=False)
class KnownFeatures:
    """A space after it has encoded some images. source: the space; row: digest of an image → its features (d,); content: a
    digest of all these features; of_data: of those of the first set alone, the same whoever drew the others."""

    source: Space
    row: Mapping[str, np.ndarray] = field(repr=False)
    content: str
    of_data: str
    identity: ClassVar[str] = ""

    @classmethod
    def of(cls, source: Space, sets: Sequence[Images], features: Sequence[np.ndarray]) -> KnownFeatures:
        """features: (n, d) float32 of each set, one row per image; an image has one row wherever it occurs."""
        row: dict[str, np.ndarray] = {}
        for images, found in zip(sets, features, strict=True):
            for place, digest in enumerate(_digests(images)):
                if found.shape[1] != features[0].shape[1]:
                    raise UserError(
                        f"{source.name} gives {features[0].shape[1]} features of some images and {found.shape[1]} of others: "
                        "bring all to one size before anything else"
                    )
                if not is_near(row.setdefault(digest, found[place]), found[place]):
                    raise UserError(f"{source.name} gives two images that are the same different features: fix it")
        return cls(source, row, seeds.digest(list(features)), seeds.digest(features[0]))

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def layer(self) -> str:
        return self.source.layer

    @property
    def input(self) -> Input | None:
        return self.source.input

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32: what is known; other images are encoded by the space itself."""
        digests = _digests(images)
        if all(digest in self.row for digest in digests):
            return np.stack([self.row[digest] for digest in digests])
        return self.source.encode(images, device=device)


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """Features from an npz, of images that somebody else has encoded. data: (n, d), of the data's images; others: by name,
    `drawings` (concepts, n, d) or (concepts · n, d), `drawings of AGENT` where several are compared, `training` (p, d)."""

    name: str
    data: np.ndarray = field(repr=False)
    others: Mapping[str, np.ndarray] = field(repr=False)
    layer: ClassVar[str] = ""
    input: ClassVar[Input | None] = None
    identity: ClassVar[str] = ""

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """Those of the data, if these are as many images: a file cannot encode others."""
        n = count_images(images)
        if not isinstance(images, ConceptSet) or n != len(self.data):
            raise UserError(
                f"{self.name} holds features of {len(self.data)} images of the data, and these are {n} others: a file of "
                "features cannot encode images, name a space that can"
            )
        return self.data

    def known(
        self, data: ConceptSet, drawings: np.ndarray, agent: str, training: ConceptSet | None = None, *, drawn: int = 0
    ) -> KnownFeatures:
        """Of one task. drawings: (k, n, h, w), concepts in the data's order; where all of them are images of the data, the
        data's rows are theirs. drawn: how many the agent made of each concept, of which these are the first n."""
        k, n = drawings.shape[:2]
        flat = drawings.reshape(k * n, *drawings.shape[2:])
        if len(self.data) != len(data):
            raise UserError(
                f"{self.name}: `data` has {len(self.data)} rows, {data.name} has {len(data)} images: save one row per image, "
                "in its order"
            )
        place = {digest: row for row, digest in enumerate(_digests(data))}
        own = [place.get(digest, -1) for digest in _digests(flat)]
        features = self.data[own] if min(own) >= 0 else self._drawn(agent, k, n, drawn)
        sets: list[Images] = [data, flat]
        found = [self.data, features]
        if training is not None:
            if len(self.others.get(TRAINING, ())) != len(training):
                raise UserError(
                    f"{self.name} needs `training`, ({len(training)}, d), one row per image of {training.name}"
                )
            sets.append(training)
            found.append(self.others[TRAINING])
        return KnownFeatures.of(self, sets, found)

    def _drawn(self, agent: str, k: int, n: int, drawn: int) -> np.ndarray:
        """(k · n, d) of an agent's first n drawings of each concept, from a file that has these, or all it drew."""
        name = f"{DRAWINGS} of {agent}" if f"{DRAWINGS} of {agent}" in self.others else DRAWINGS
        found = self.others.get(name)
        if found is None:
            raise UserError(
                f"{self.name} has no features of the drawings of {agent}: add the array `{DRAWINGS}`, ({k}, {n}, d), or "
                f"`{DRAWINGS} of {agent}` where several draw"
            )
        if found.ndim == 2 and len(found) % k == 0:
            found = found.reshape(k, -1, found.shape[1])
        if found.ndim != 3 or len(found) != k or found.shape[1] not in (n, max(n, drawn)):
            raise UserError(
                f"{self.name}: `{name}` is {self.others[name].shape}, and {k} concepts with {n} drawings of each need "
                f"({k}, {n}, d), concepts in the data's order"
            )
        return found[:, :n].reshape(k * n, -1)


def read_features(path: Path, name: str) -> FeatureFile:
    """name: what to call it."""
    if not path.is_file():
        raise UserError(f"there is no file {path}: check where it is")
    there = npz_names(path)
    if DATA not in there:
        raise UserError(f"{path} has no array `{DATA}` (it holds {shortened(there)}): {FORM}")
    wanted = [key for key in there if key in (DATA, DRAWINGS, TRAINING) or key.startswith(f"{DRAWINGS} of ")]
    arrays = read_npz(path, **{key: ("fiu", None) for key in wanted})
    for key, array in arrays.items():
        if array.ndim not in ((2, 3) if key.startswith(DRAWINGS) else (2,)) or 0 in array.shape:
            raise UserError(f"{path}: `{key}` is {array.shape}: {FORM}")
        flat = as_features(f"{path}, `{key}`,", array.reshape(-1, array.shape[-1]), array.size // array.shape[-1])
        arrays[key] = flat.reshape(array.shape)
    data = arrays.pop(DATA)
    for key, array in arrays.items():
        if array.shape[-1] != data.shape[1]:
            raise UserError(
                f"{path}: `{key}` has {array.shape[-1]} features and `{DATA}` {data.shape[1]}: save all from the same network"
            )
    return FeatureFile(name, data, arrays)


def _digests(images: Images) -> list[str]:
    n = count_images(images)
    parts = (np.arange(start, min(start + PART, n)) for start in range(0, n, PART))
    return [seeds.digest(image) for rows in parts for image in take_images(images, rows)]
