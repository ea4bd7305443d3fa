"""Records of maps on disk: one npz with everything in it, or a run folder with the record's own files.

An npz of anyone's own holds `map` (n, h, w), `image` (n, h, w) and `concept` (n,); `agent` and `participant` are its
file's name and 1 … n unless they are there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exemplar.errors import UserError
from exemplar.files import npz_names, read_npz, write_npz
from exemplar.records import Maps

TEXT = ("agent", "participant", "concept")


def save_maps(path: Path, record: Maps) -> None:
    """One npz, whole or not at all."""
    columns = {name: np.array([str(word) for word in record.frame[name]]) for name in TEXT}
    write_npz(path, {**columns, "image": record.image, "map": record.map})


def load_maps(path: Path | str) -> Maps:
    """A record that `attend maps` or `attend play` wrote, or an npz of your own."""
    place = Path(path).expanduser()
    if place.is_dir():
        return Maps.load(place)
    there = npz_names(place)
    missing = [name for name in ("map", "image", "concept") if name not in there]
    if missing:
        raise UserError(
            f"{place} has no array {missing[0]}: maps need map (n, h, w), image (n, h, w) and concept (n,)."
        )
    own = [name for name in TEXT if name in there]
    arrays = read_npz(place, map=("uif", 3), image=("uf", None), **{name: ("U", 1) for name in own})
    n = len(arrays["map"])
    if n == 0:
        raise UserError(f"{place} holds no maps: make some first.")
    for name, array in arrays.items():
        if len(array) != n:
            raise UserError(f"{place}: there are {n} maps and {len(array)} entries of {name}: give one per map.")
    importance = arrays["map"]
    if importance.dtype.kind in "ui" and importance.dtype != np.uint8:
        importance = importance.astype(np.float32)
    agent = arrays.get("agent", np.array([place.stem] * n))
    participant = arrays.get("participant", np.array([str(k + 1) for k in range(n)]))
    return Maps.of(
        agent=agent.astype(object),
        participant=participant.astype(object),
        concept=arrays["concept"].astype(object),
        image=arrays["image"],
        map=importance,
    )
