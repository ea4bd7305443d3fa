"""Features that are kept for the next time, and believed only by the program that made them.

A file belongs to an identity of a space, a fingerprint of images and a kind of device; it counts if it is whole and was made by
this very program.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.files import DAMAGE, whole_file
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.identity import KNOWN
from exemplar.store import package_sources


@dataclass(frozen=True, eq=False)
class FeatureCache:
    """Kept features in a folder. kind: of the device, since a GPU rounds otherwise."""

    folder: Path
    kind: str

    def read(self, identity: str, images: ConceptSet) -> np.ndarray | None:
        """(n, d) float32, or None where there is nothing, or nothing to be trusted."""
        path, key = self._place(identity, images)
        try:
            with path.open("rb") as file:
                features = np.lib.format.read_array(file, allow_pickle=False)
                ending = file.read()
        except DAMAGE:
            return None
        fits = features.dtype == np.float32 and features.ndim == 2 and len(features) == len(images)
        return features if fits and ending == seeds.digest(key, features).encode() else None

    def write(self, identity: str, images: ConceptSet, features: np.ndarray) -> None:
        """features: (n, d) float32. A full disk, or a folder that cannot be written, costs time, not the result."""
        path, key = self._place(identity, images)
        with suppress(UserError), whole_file(path) as part, part.open("wb") as file:
            np.lib.format.write_array(file, features, allow_pickle=False)
            file.write(seeds.digest(key, features).encode())

    def _place(self, identity: str, images: ConceptSet) -> tuple[Path, tuple[str, ...]]:
        name = (identity, images.fingerprint, self.kind)
        return self.folder / f"{'-'.join(name)}.npy", (*name, *this_program())


def this_program() -> list[str]:
    """What computes features: this package's code, and the versions of those whose modules are known."""
    found = [package_sources()]
    for package in KNOWN:
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return found
