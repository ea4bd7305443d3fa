"""Your own images: a folder with one sub-folder per concept, or an npz file."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from exemplar.errors import UserError, shortened
from exemplar.files import DAMAGE, first_line
from exemplar.images.arrays import to_levels, without_channel
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Files, decode
from exemplar.unpacking import open_npz, open_zip

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
CLUTTER = ("thumbs.db", "desktop.ini", "__macosx")  # what file managers leave behind, besides hidden files
LAYOUT = "put the images of each concept into a sub-folder of its own, FOLDER/CONCEPT/IMAGE.png"
ABOUT = {"family": "U", "simulated": "b"}  # what a file of ours says of itself, and its kind of value
MOST = 4096  # px: the largest side an image is read at
GREY = 4  # levels: channels this near to each other are grey, as lossy formats shift them a little
N_LOOKED_AT = 512  # images whose borders tell ink on white paper from light on dark


@dataclass(frozen=True)
class Picture:
    """An image file as its folders and header describe it. size: (h, w) px; grey: whether it cannot hold colour."""

    path: Path
    concept: str
    group: str
    size: tuple[int, int]
    grey: bool


def load_folder(
    path: Path, *, size: int | None = None, color: bool | None = None, invert: bool | None = None
) -> ConceptSet:
    """FOLDER/CONCEPT/IMAGE, or FOLDER/GROUP/CONCEPT/IMAGE (then a concept is called GROUP/CONCEPT). Images are read when
    they are asked for; their headers now. The order is that of the names, item2 before item10; names are `composed`.

    size: px, of the square all are resized to, by default the size they all have; color: RGB or grey, by default RGB if
    any image has colour; invert: 255 − each level, by default if the images are grey and their borders bright, so that ink
    is 255 and paper 0 whichever way they were drawn (`.pixels.invert` of the result says whether that was done).
    """
    if not path.is_dir():
        raise UserError(f"{path} is not a folder: {LAYOUT}")
    if size is not None and not 1 <= size <= MOST:
        raise UserError(f"images cannot be {size} px: give a size from 1 to {MOST}")
    pictures = [_opened(*place) for place in _places(path)]
    if color is None:
        color = any(_has_color(picture) for picture in pictures)
    if invert is None:
        invert = not color and _is_on_white(pictures)
    shape = (size, size) if size is not None else _common_size(path, pictures)
    return ConceptSet.of(
        composed(path.resolve().name),
        Files([picture.path for picture in pictures], (*shape, 3) if color else shape, invert),
        concept=[picture.concept for picture in pictures],
        group=[picture.group for picture in pictures],
    )


def load_npz(path: Path, said: list[str] | None = None) -> ConceptSet:
    """An npz file with `images`, (n, h, w), (n, 1, h, w) or (n, h, w, 3), uint8, or float in [0, 1], or bool, with ink or
    light high; `concept`, (n,) text or whole numbers; and, if they are known, `group` and `maker`, likewise, and
    `exemplar`, one row per concept. A file that this package wrote also says what it is: `family`, the data set it comes
    from, and `simulated`, whether no person made it.

    said: where sentences go about what was changed; with it, floats may also lie in [−1, 1] or in [0, 255]."""
    if not path.is_file():
        raise UserError(f"{path} is not a file: give an npz file with the arrays images and concept")
    try:
        with open_zip(path, ()) as archive:
            there = [name.removesuffix(".npy") for name in archive.namelist()]
        wanted = [name for name in ("images", "concept", "group", "maker", "exemplar", *ABOUT) if name in there]
        with open_npz(path) as stored:
            arrays = {name: stored[name] for name in wanted}
    except DAMAGE as problem:
        raise UserError(
            f"{path} cannot be read ({first_line(problem)}): save it with numpy.savez, arrays of numbers or text"
        ) from problem
    for name in ("images", "concept"):
        if name not in arrays:
            raise UserError(f"{path} has no array {name} (it holds {shortened(there)}): add it")
    found = {name: arrays.pop(name) for name in ABOUT if name in arrays}
    about: dict[str, Any] = {
        name: array.item() for name, array in found.items() if array.shape == () and array.dtype.kind == ABOUT[name]
    }
    images, exemplars = _as_levels(path, arrays.pop("images"), said), arrays.pop("exemplar", None)
    if exemplars is not None and (exemplars.ndim != 1 or exemplars.dtype.kind not in "iu"):
        exemplars = None  # somebody's own array of that name, pictures perhaps: not rows
    labels = {name: _as_text(path, name, column, len(images)) for name, column in arrays.items()}
    return ConceptSet.of(
        composed(path.stem),
        images,
        labels["concept"],
        labels.get("group"),
        labels.get("maker"),
        exemplars=exemplars,
        **about,
    )


def composed(name: str) -> str:
    """A name with its accents on its letters (NFC), as it is typed: macOS writes file names with the accents after them.

    >>> len("e\\N{COMBINING ACUTE ACCENT}"), len(composed("e\\N{COMBINING ACUTE ACCENT}"))
    (2, 1)
    """
    return unicodedata.normalize("NFC", name)


def natural(name: str) -> tuple[object, ...]:
    """A key to sort names by, as people do: item2 before item10.

    >>> sorted(["item10", "item2", "Item1"], key=natural)
    ['Item1', 'item2', 'item10']
    """
    pieces = re.split(r"(\d+)", name.casefold())  # text at even places, digits at odd ones
    return (*((int(piece), "") if k % 2 else (-1, piece) for k, piece in enumerate(pieces)), (-1, name))


def _places(root: Path) -> list[tuple[Path, str, str]]:
    """Path, concept and group of every image, or an error that names the first thing out of place."""
    folders, images = _contents(root, (root,))
    if not folders:
        raise UserError(f"{root} has no sub-folders: {LAYOUT}")
    if images:
        raise UserError(f"{images[0]} is in no concept's folder: {LAYOUT}")
    insides = [(first, *_contents(first, (root, first))) for first in folders]
    grouped = [bool(inner) for _, inner, _ in insides]
    if any(grouped) and not all(grouped):
        with_, without = folders[grouped.index(True)], folders[grouped.index(False)]
        raise UserError(f"{with_} has sub-folders and {without} has none: make all of them groups, or none")
    found: list[tuple[Path, str, str]] = []
    for first, inner, images in insides:
        if inner and images:
            raise UserError(f"{first} holds both images and folders ({inner[0].name}): {LAYOUT}")
        for concept in inner or [first]:
            if inner:
                deeper, images = _contents(concept, (root, first, concept))
                if deeper:
                    raise UserError(f"{deeper[0]} is a level too deep: FOLDER/GROUP/CONCEPT/IMAGE.png is the most")
            if not images:
                raise UserError(f"{concept} holds no images: add some, or remove it")
            name, group = composed(concept.name), composed(first.name)
            if not name.strip():
                raise UserError(f"the folder {str(concept)!r} has an empty name: call it what was drawn")
            found += [(image, f"{group}/{name}" if inner else name, group if inner else "") for image in images]
    return found


def _contents(folder: Path, above: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Sub-folders and images of a folder, by name. above: it and the folders it lies in; a link back to one is passed
    over."""
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: (natural(composed(entry.name)), entry.name))
    except OSError as problem:
        raise UserError(f"{folder} cannot be read ({problem.strerror}): fix its permissions") from problem
    folders: list[Path] = []
    images: list[Path] = []
    for entry in entries:
        if entry.name.startswith(".") or entry.name.lower() in CLUTTER:
            continue
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in entry.name):  # Cs: bytes that are no UTF-8
            raise UserError(f"{str(entry)!a} has a name that cannot be shown: rename it")
        if entry.is_dir():
            if not any(entry.samefile(outer) for outer in above):
                folders.append(entry)
        elif entry.suffix.lower() in ENDINGS:
            images.append(entry)
        else:
            raise UserError(f"{entry} is not an image ({', '.join(ENDINGS)}): move it out of the folder")
    _check_told_apart([entry.name for entry in folders], f"{folder} has two folders")
    return folders, images


def _check_told_apart(names: Iterable[str], whose: str) -> None:
    """Refuse names that are the same once they are composed. whose: how the sentence begins."""
    by_name: dict[str, str] = {}
    for name in names:
        if by_name.setdefault(composed(name), name) != name:
            raise UserError(
                f"{whose} called {name!r}, which differ only in how Unicode writes their letters: make them one"
            )


def _opened(path: Path, concept: str, group: str) -> Picture:
    """Read an image's header."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                (width, height), mode = image.size, image.mode
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as problem:
        raise UserError(f"{path} is not an image that can be read ({problem}): remove or replace it") from problem
    if mode == "F" or mode.startswith("I"):
        raise UserError(f"{path} has more than 8 bits per pixel: save it with 8, so that its levels are 0 to 255")
    return Picture(path, concept, group, (height, width), mode in ("1", "L", "LA", "La"))


def _has_color(picture: Picture) -> bool:
    if picture.grey:
        return False
    pixels = decode(picture.path, (*picture.size, 3), str(picture.path)).astype(np.int16)
    return bool((pixels.max(axis=2) - pixels.min(axis=2)).max() > GREY)


def _is_on_white(pictures: list[Picture]) -> bool:
    """Whether the median pixel along the borders, over images spread evenly through the set, is bright."""
    step = -(-len(pictures) // N_LOOKED_AT)
    levels = []
    for picture in pictures[::step]:
        pixels = decode(picture.path, picture.size, str(picture.path))
        levels += [pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]
    return bool(np.median(np.concatenate(levels)) > 127)


def _common_size(root: Path, pictures: list[Picture]) -> tuple[int, int]:
    first = pictures[0]
    for other in pictures:
        if other.size != first.size:
            sizes = " and ".join(f"{p.path.name} {p.size[1]} × {p.size[0]}" for p in (first, other))
            raise UserError(f"the images in {root} have different sizes ({sizes} px): give one with --size")
    if max(first.size) > MOST:
        raise UserError(f"the images in {root} are larger than {MOST} px: give a smaller size with --size")
    return first.size


def _as_levels(path: Path, images: np.ndarray, said: list[str] | None) -> np.ndarray:
    """(n, h, w[, 3]) uint8 from uint8, bool, or float in [0, 1]; without a channel of one. said: as in `load_npz`."""
    if images.shape[:1] == (0,):
        raise UserError(f"{path} holds no images, its array images is {images.shape}: give at least one")
    images = without_channel(images, 3)
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] != 3) or 0 in images.shape:
        raise UserError(f"{path}: images must be (n, h, w) or (n, h, w, 3), they are {images.shape}")
    try:
        return to_levels(images, said)
    except UserError as problem:
        raise UserError(f"{path}: {problem}") from problem


def _as_text(path: Path, name: str, labels: np.ndarray, n: int) -> list[str]:
    if labels.shape != (n,):
        raise UserError(f"{path}: {name} must be ({n},), one label per image, it is {labels.shape}")
    if labels.dtype.kind not in "iuU":
        raise UserError(f"{path}: {name} must be text or whole numbers, it is {labels.dtype}")
    text = [str(label) for label in labels.tolist()]
    if name == "concept" and not all(label.strip() for label in text):
        empty = sum(not label.strip() for label in text)
        raise UserError(f"{path}: {empty} of the {n} images have an empty concept: name each image's concept")
    _check_told_apart(text, f"{path}: {name} has two names")
    return [composed(label) for label in text]
