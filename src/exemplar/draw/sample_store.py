"""Drawings that are kept for the next time: generated once, scored many times.

A file belongs to an agent's weights and settings, the exemplars, n and the seed; it counts if it is whole and was made by this
very program. Agents without an `identity` (functions of the user's own) are asked each time.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.draw.drawings import Sample
from exemplar.errors import UserError
from exemplar.files import DAMAGE, whole_file
from exemplar.images.sources import cache_folder
from exemplar.spaces.feature_cache import this_program


def keep_samples(sample: Sample, folder: Path | None = None) -> Sample:
    """The same agent, whose drawings are looked up first. folder: of kept drawings, the user's cache unless given."""
    identity = getattr(sample, "identity", None)
    if not isinstance(identity, dict):
        return sample
    place = folder or cache_folder() / "drawings"

    def kept(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        key = sample_key(identity, exemplars, n, rng)
        path = place / f"{key}.npy"
        found = _read(path, key, (len(exemplars), n))
        if found is None:
            found = np.asarray(sample(exemplars, n, rng))
            _write(path, key, found)
        return found

    return kept


def sample_key(identity: dict[str, Any], exemplars: np.ndarray, n: int, rng: np.random.Generator) -> str:
    """A name for drawings: who drew, by which program, after what, how many, with which randomness."""
    return seeds.digest(identity, this_program(), exemplars, n, rng.bit_generator.state)


def _read(path: Path, key: str, wanted: tuple[int, int]) -> np.ndarray | None:
    """(k, n, h, w) uint8, or None where there is nothing, or nothing to be trusted."""
    try:
        with path.open("rb") as file:
            shape = np.lib.format.read_array(file, allow_pickle=False)
            bits = np.lib.format.read_array(file, allow_pickle=False)
            ending = file.read()
        drawn = np.unpackbits(bits, count=int(np.prod(shape))).reshape(shape) * np.uint8(255)
    except DAMAGE:
        return None
    return drawn if drawn.shape[:2] == wanted and ending == seeds.digest(key, drawn).encode() else None


def _write(path: Path, key: str, drawn: np.ndarray) -> None:
    """drawn: uint8, 0 or 255, one bit each. A full disk, or a folder that cannot be written, costs time, not the result."""
    if drawn.dtype != np.uint8 or not np.isin(drawn, (0, 255)).all():
        return
    with suppress(UserError), whole_file(path) as part, part.open("wb") as file:
        np.lib.format.write_array(file, np.array(drawn.shape), allow_pickle=False)
        np.lib.format.write_array(file, np.packbits(drawn > 0), allow_pickle=False)
        file.write(seeds.digest(key, drawn).encode())
