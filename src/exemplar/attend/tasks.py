"""What is asked: which parts of these drawings matter for telling what they are? The same drawings for people and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.images import sources
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.report.resizing import resize
from exemplar.spaces.exemplars import central_exemplars

COARSE = 16  # px at which the most central drawing is found, where a data set comes with no exemplars


@dataclass(frozen=True, eq=False)
class AttendTask:
    """What is marked. data: where the drawings come from; concepts: (k,) names; image: (n, h, w) uint8, ink 255, paper
    0, concept by concept; label: (n,) each image's concept; exemplar: (k, h, w) uint8, none of them among the images;
    fingerprint: of all that; family: the data set of the catalogue, if it is one; warnings: what was chosen automatically."""

    data: str
    concepts: tuple[str, ...]
    image: np.ndarray
    label: np.ndarray
    exemplar: np.ndarray
    fingerprint: str
    family: str = ""
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.image)

    @property
    def names(self) -> list[str]:
        """(n,) the concept of each image."""
        return [self.concepts[code] for code in self.label]

    def resized(self, side: int) -> AttendTask:
        """At another size, uint8 levels kept, so that lines stay smooth."""
        return replace(self, image=resize(self.image, (side, side)), exemplar=resize(self.exemplar, (side, side)))


def make_task(
    data: str | Path | None = None,
    split: str | None = None,
    *,
    n_concepts: int | None = 25,
    n_drawings: int = 10,
    only: Sequence[str] = (),
    size: int | None = None,
    seed: int = 0,
) -> AttendTask:
    """Drawings to mark, and an exemplar of each concept that is not one of them.

    data: a data set, a folder, an npz, or the run folder of `draw sample` (whose drawings and exemplars are taken as they are);
    None for Quick, Draw!'s test categories where they are on this machine, else glyphs. n_concepts: chosen at random by the
    seed, all of them if None; only: these, instead. size: px per side, the data's own unless given.
    """
    warnings = []
    if data is None:
        data, split = ("quickdraw", split or "test") if sources.find("quickdraw") else ("glyphs", split)
        warnings.append(f"Drawings: {data}{f'/{split}' if split else ''}, chosen automatically; --data names others.")
    if (Path(data) / "drawings.parquet").is_file():
        drawn = _of_record(Path(data), n_drawings, only)
        return replace(drawn, warnings=tuple(warnings)) if size is None else drawn.resized(size)
    found = load(data, split)
    if len(found.shape) == 3:
        raise UserError(f"{found.name} holds photographs, and this room marks drawings: name a set of drawings.")
    whole = _choose(found, only, n_concepts, n_drawings, seed)
    if size is not None:
        whole = whole.resized(size)
    if whole.exemplars is not None:
        shown, how = whole.exemplars, "its own"
    else:
        coarse = whole.resized(COARSE).images.reshape(len(whole), -1).astype(np.float32) / 255
        shown, how = central_exemplars(coarse, whole.concept.code), f"the most central by {COARSE} × {COARSE} pixels"
    warnings.append(f"Exemplars: {how}.")
    rows = [_rows_but(whole, code, int(shown[code]), n_drawings, seed) for code in range(whole.n_concepts)]
    image, label = whole.take(np.concatenate(rows)), np.repeat(np.arange(len(rows)), n_drawings)
    return _finish(whole.name, whole.concepts, image, label, whole.take(shown), whole.family, tuple(warnings))


def _choose(data: ConceptSet, only: Sequence[str], n_concepts: int | None, n_drawings: int, seed: int) -> ConceptSet:
    """Concepts that have an exemplar and enough other drawings."""
    for name in only:
        if name not in data.concepts:
            raise unknown("concept", name, data.concepts, where=data.name)
        if (has := int(data.counts[data.concepts.index(name)])) < n_drawings + 1:
            raise UserError(
                f"{name} has {has} drawings, and needs {n_drawings + 1}: {n_drawings} to mark besides the exemplar; lower "
                "--drawings, or leave it out."
            )
    if only:
        return data.only(concepts=only)
    enough = np.flatnonzero(data.counts >= n_drawings + 1)
    wanted = len(enough) if n_concepts is None else n_concepts
    if len(enough) < max(wanted, 1):
        raise UserError(
            f"needs {wanted} concepts of {n_drawings + 1} drawings (one is the exemplar), {data.name} has {len(enough)}: lower "
            "--concepts or --drawings"
        )
    rng = seeds.rng("attend concepts", seed)
    chosen = enough if wanted == len(enough) else np.sort(rng.permutation(enough)[:wanted])
    return data.only(concepts=[data.concepts[code] for code in chosen])


def _rows_but(data: ConceptSet, code: int, exemplar: int, n: int, seed: int) -> np.ndarray:
    rows = np.flatnonzero(data.concept.code == code)
    rows = rows[rows != exemplar]
    rng = seeds.rng("attend drawings", seed, data.concepts[code])
    return np.sort(rng.permutation(rows)[:n])


def _of_record(folder: Path, n_drawings: int, only: Sequence[str]) -> AttendTask:
    """What `draw sample` wrote: the drawings of an agent, and the exemplars it was shown."""
    record = Drawings.load(folder)
    frame = record.frame
    names = [str(name) for name in dict.fromkeys(frame["concept"])]
    for name in only:
        if name not in names:
            raise unknown("concept", name, names, where=str(folder))
    names = list(only) or names
    if len(frame["data"].unique()) > 1 or len(frame["agent"].unique()) > 1:
        raise UserError(f"{folder} holds drawings of several agents or data sets: give the folder of one.")
    source = str(frame["data"].iloc[0])
    shown = load(*source.split("/", 1)) if not Path(source).exists() else load(source)
    bytes_ = record.image if record.image.dtype == np.uint8 else np.rint(record.image * 255).astype(np.uint8)
    image, label, exemplar = [], [], []
    for code, name in enumerate(names):
        rows = np.flatnonzero((frame["concept"] == name).to_numpy())[:n_drawings]
        row = int(frame["exemplar"].iloc[rows[0]])
        if row >= len(shown) or shown.concept[row] != name:
            raise UserError(
                f"{name} has no exemplar: row {row} of {source} is another concept; draw again with `draw sample`."
            )
        if len(rows) < n_drawings:
            raise UserError(f"{name} has {len(rows)} drawings in {folder}, not {n_drawings}: lower --drawings.")
        image.append(bytes_[rows])
        label += [code] * len(rows)
        exemplar.append(resize(shown.take([row]), (bytes_.shape[1], bytes_.shape[2]))[0])
    kept = np.concatenate(image)
    return _finish(f"{folder}", tuple(names), kept, np.array(label), np.stack(exemplar), shown.family, ())


def _finish(
    data: str,
    concepts: tuple[str, ...],
    image: np.ndarray,
    label: np.ndarray,
    exemplar: np.ndarray,
    family: str,
    warnings: tuple[str, ...],
) -> AttendTask:
    for what, images in (("drawing", image), ("exemplar", exemplar)):
        blank = np.flatnonzero(~images.reshape(len(images), -1).any(axis=1))
        if len(blank):
            raise UserError(f"A {what} of {data} is empty (number {blank[0]}): remove it, there is nothing to mark.")
    return AttendTask(
        data, concepts, image, label, exemplar, seeds.digest(concepts, image, label, exemplar), family, warnings
    )
