"""A folder of photographs: one sub-folder per class, and perhaps one called `unlabelled`. What cannot be read is named, skipped
and counted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, shortened
from exemplar.images.concepts import ConceptSet
from exemplar.images.folder import CLUTTER, ENDINGS, composed, natural
from exemplar.images.pixels import Files, decode
from exemplar.spaces.inputs import DrawingInput, Input

UNREAD = (".heic", ".heif", ".avif", ".dng", ".cr2", ".cr3", ".nef", ".arw")  # what telephones and cameras write
UNLABELLED = ("unlabelled", "unlabeled")
LAYOUT = "put the photographs of each class into a folder of its own, and others into one called unlabelled"
SIDE = 224  # px that a photograph is read at


@dataclass(frozen=True, eq=False)
class Photos:
    """labelled: a set whose concepts are the classes; unlabelled: others, or None; paths: of both, labelled first; skipped: a
    sentence for each file that was not used; left_out: one for each folder."""

    labelled: ConceptSet
    unlabelled: ConceptSet | None
    paths: tuple[Path, ...]
    skipped: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        n = len(self.skipped)
        files = (f"{n} file{'s were' if n > 1 else ' was'} skipped: {shortened(self.skipped, 5)}.",) if n else ()
        return (*files, *self.left_out)


def load_photos(folder: Path, takes: Input | None) -> Photos:
    """takes: what the encoder takes, which decides colour and size."""
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}: {LAYOUT}.")
    places = sorted(
        (place for place in folder.iterdir() if place.is_dir() and not place.name.startswith(".")), key=_by_name
    )
    classes = [place for place in places if place.name.lower() not in (*UNLABELLED, *CLUTTER)]
    others = [place for place in places if place.name.lower() in UNLABELLED]
    skipped = [
        f"{path.name} lies in no class's folder" for path in sorted(folder.iterdir(), key=_by_name) if _is_picture(path)
    ]
    shape: tuple[int, ...] = takes.size if isinstance(takes, DrawingInput) else (SIDE, SIDE, 3)
    found = {place: _readable(place, shape, skipped) for place in (*classes, *others)}
    empty = [place.name for place in classes if not found[place]]
    kept = [place for place in classes if found[place]]
    if len(kept) < 2:
        raise UserError(
            f"{folder} has photographs of {len(kept)} class{'es' * (len(kept) != 1)}, at least 2 are needed: {LAYOUT}."
        )
    left_out = [f"The class {name} is left out: it has no photograph that can be read." for name in empty]
    left_out += [f"{place.name} is empty: there is nothing to suggest." for place in others if not found[place]]
    paths = [path for place in kept for path in found[place]]
    names = [composed(place.name) for place in kept for _ in found[place]]
    rest = [path for place in others for path in found[place]]
    labelled = ConceptSet.of(composed(folder.resolve().name), Files(paths, shape), names)
    unlabelled = ConceptSet.of(UNLABELLED[0], Files(rest, shape), [UNLABELLED[0]] * len(rest)) if rest else None
    return Photos(labelled, unlabelled, (*paths, *rest), tuple(skipped), tuple(left_out))


def thumbnails(photos: Photos, rows: np.ndarray, side: int = 96) -> np.ndarray:
    """(k, side, side[, 3]) uint8 of these of all photographs, labelled first."""
    shape = (side, side, *photos.labelled.shape[2:])
    return np.stack([decode(photos.paths[row], shape, str(photos.paths[row])) for row in rows])


def _readable(place: Path, shape: tuple[int, ...], skipped: list[str]) -> list[Path]:
    """The photographs of a folder, by name, that can be decoded to the end."""
    found = []
    for path in sorted(place.iterdir(), key=_by_name):
        if path.name.startswith(".") or path.name.lower() in CLUTTER:
            continue
        if not _is_picture(path):
            raw = path.suffix.lower() in UNREAD
            skipped.append(f"{place.name}/{path.name} {'must be saved as JPEG first' if raw else 'is no photograph'}")
            continue
        try:
            decode(path, shape, str(path))
        except UserError:
            skipped.append(f"{place.name}/{path.name} cannot be read")
        else:
            found.append(path)
    return found


def _is_picture(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in ENDINGS


def _by_name(path: Path) -> tuple[object, ...]:
    return natural(composed(path.name))
