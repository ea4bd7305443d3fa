"""Omniglot (Lake et al. 2015): 1,623 handwritten characters of 50 alphabets, each drawn once by 20 people.

Three forms give the same set, byte for byte: `images_105_packbits.npz`, the official `images_background.zip` with
`images_evaluation.zip`, or the folders these unpack to. Drawings stay one bit per pixel in memory (45 MB).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

from exemplar.errors import UserError, unknown
from exemplar.files import read_npz, reading
from exemplar.images.archives import read_tree
from exemplar.images.bilevel import pack_ink, scan_lines, unfilter
from exemplar.images.concepts import ConceptSet, Labels
from exemplar.images.lists import read_list
from exemplar.images.pixels import Packed
from exemplar.unpacking import open_zip

AGAIN = "move it away and run `exemplar data fetch omniglot`"
SPLITS = {
    "all": "every drawing: 1,623 characters",
    "weak-train": "characters 4 and up of each alphabet: 1,473",
    "weak-test": "characters 1 to 3 of each alphabet: 150",
    "weak-val": "150 characters of weak-train, three of each alphabet, to choose critics on",
    "background": "the 30 alphabets meant for training: 964 characters",
    "background-val": "5 whole alphabets of background, to choose critics on: 165 characters",
    "evaluation": "the 20 alphabets meant for testing: 659 characters",
    "cfsl-train": "1,200 characters at random, for continual few-shot learning",
    "cfsl-val": "211 other characters",
    "cfsl-test": "212 other characters",
}
SIDE = 105  # px
N_BYTES = -(-SIDE * SIDE // 8)  # of one drawing at one bit per pixel
N_DRAWERS = 20
AT_ONCE = 8192  # drawings unpacked together
IMAGES = "images_105_packbits.npz"
STROKES = "strokes_8_alphabets.npz"
RUNS = "oneshot_20runs_index.npz"
N_RUNS = N_WAYS = 20
Key = tuple[str, int, int]  # alphabet, character from 1, drawer from 1
PNG = re.compile(r"(?:.*/)?([^/]+)/character(\d+)/\d+_(\d+)\.png")  # Greek/character01/0394_01.png
MOTOR = re.compile(PNG.pattern.replace("png", "txt"))


@dataclass(frozen=True)
class Alphabet:
    """name: as in the archive's folders; background: or evaluation; part: each character's part of the cfsl split."""

    name: str
    background: bool
    part: dict[int, str]


@dataclass(frozen=True, eq=False)
class PenStrokes:
    """How the drawings were made, in the form `ink.render` takes.

    points: (p, 2) float32, px of the 105 px image; time: (p,) float32, ms since the drawing began; strokes: (s + 1,)
    offsets into points; images: (n + 1,) offsets into strokes; concept, group, maker: (n,) as in the images.
    """

    points: np.ndarray
    time: np.ndarray
    strokes: np.ndarray
    images: np.ndarray
    concept: Labels
    group: Labels
    maker: Labels


@dataclass(frozen=True, eq=False)
class OneShotRuns:
    """The 20 official runs of one-shot classification, 20 ways each, within one alphabet of the evaluation set.

    training, test: (20, 20, 105, 105) uint8, ink 255, by run; answer: (20, 20) for each test drawing the place, from 0,
    of its character among the run's training drawings; concept: (20, 20) names of the training drawings' characters.
    """

    training: np.ndarray
    test: np.ndarray
    answer: np.ndarray
    concept: np.ndarray


def load_omniglot(folder: Path, split: str = "all") -> ConceptSet:
    """Background alphabets by name, then evaluation; characters and drawers by number. 105 × 105 px.

    The concept is "Greek/character01", the group "Greek", the maker "drawer01" (numbered again in each alphabet).
    """
    if split not in SPLITS:
        raise unknown("split of omniglot", split, SPLITS)
    census = read_census()
    pixels = Packed(_read_bits(folder, census), (SIDE, SIDE))
    drawings = ConceptSet.of("omniglot/all", pixels, *_labels(census), family="omniglot")
    if split == "all":
        return drawings
    chosen = [_belongs(alphabet, character, split) for alphabet, character in _characters(census)]
    return drawings.subset(np.repeat(chosen, N_DRAWERS), f"omniglot/{split}")


def load_omniglot_strokes(folder: Path) -> PenStrokes:
    """The pen's way, where the folder has it: 8 alphabets in strokes_8_alphabets.npz, or the official archives
    strokes_background and strokes_evaluation (either or both, zipped or not). In the order of `load_omniglot`."""
    census = read_census()
    path, places = folder / STROKES, _places(census)
    tracks = _read_tracks(path, places) if path.is_file() else _read_motor_files(folder, places)
    if not tracks:
        raise UserError(f"{folder} has no pen strokes of Omniglot: put strokes_background.zip or {STROKES} there")
    rows = sorted(tracks)
    motor = np.concatenate([stroke for row in rows for stroke in tracks[row]])
    # The archive counts y upwards and puts whole numbers at the middle of a pixel; ours are its corners.
    points = (motor[:, :2] * (1, -1) + 0.5).astype(np.float32)
    strokes = np.cumsum([0, *(len(stroke) for row in rows for stroke in tracks[row])])
    images = np.cumsum([0, *(len(tracks[row]) for row in rows)])
    labels = [label.subset(np.asarray(rows)) for label in _labels(census)]
    return PenStrokes(points, motor[:, 2].astype(np.float32), strokes, images, *labels)


def load_omniglot_runs(folder: Path) -> OneShotRuns:
    """From oneshot_20runs_index.npz (rows of images_105_packbits.npz), or from the official all_runs.zip, whose drawings
    are looked up among Omniglot's to learn their names. Needs the drawings in the same folder."""
    census = read_census()
    bits = _read_bits(folder, census)
    if (folder / RUNS).is_file() and (folder / IMAGES).is_file():
        training, test, answer = _read_run_rows(folder, _places(census))
    else:
        training, test, answer = _read_run_images(folder / "all_runs.zip", bits)
    concepts = _labels(census)[0]
    names = np.asarray(concepts.names)[concepts.code]
    if (names[test] != np.take_along_axis(names[training], answer, axis=1)).any():
        raise UserError(f"the answers of the one-shot runs in {folder} do not fit their drawings: {AGAIN}")
    store, shape = Packed(bits, (SIDE, SIDE)), (N_RUNS, N_WAYS, SIDE, SIDE)
    pictures = [store.take(rows.ravel()).reshape(shape) for rows in (training, test)]
    return OneShotRuns(pictures[0], pictures[1], answer, names[training])


def read_census() -> list[Alphabet]:
    """What Omniglot holds, alphabet by alphabet in our order, from the list that comes with the package."""
    census = []
    for line in read_list("omniglot_cfsl"):
        name, half, numbers = line.split(maxsplit=2)
        lists = re.findall(r"(train|val|test)((?: \d+)*)", numbers)
        part = {int(number): part for part, members in lists for number in members.split()}
        census.append(Alphabet(name, half == "background", part))
    return census


def _characters(census: list[Alphabet]) -> Iterator[tuple[Alphabet, int]]:
    return ((alphabet, character) for alphabet in census for character in range(1, len(alphabet.part) + 1))


def _belongs(alphabet: Alphabet, character: int, split: str) -> bool:
    if split == "weak-val":
        return _concept(alphabet, character) in read_list("omniglot_weak_val")
    if split == "background-val":
        return alphabet.name in read_list("omniglot_background_val")
    kind, _, part = split.partition("-")
    if kind == "weak":
        return (character <= 3) == (part == "test")
    if kind == "cfsl":
        return alphabet.part[character] == part
    return alphabet.background == (split == "background")


def _concept(alphabet: Alphabet, character: int) -> str:
    return f"{alphabet.name}/character{character:02}"


def _labels(census: list[Alphabet]) -> tuple[Labels, Labels, Labels]:
    """Concept, group and maker of all drawings, in our order."""
    concepts = tuple(_concept(alphabet, character) for alphabet, character in _characters(census))
    makers = tuple(f"drawer{drawer:02}" for drawer in range(1, N_DRAWERS + 1))
    row = np.arange(len(concepts) * N_DRAWERS, dtype=np.int32)
    alphabet = np.repeat(np.arange(len(census), dtype=np.int32), [N_DRAWERS * len(each.part) for each in census])
    groups = tuple(each.name for each in census)
    return Labels(concepts, row // N_DRAWERS), Labels(groups, alphabet), Labels(makers, row % N_DRAWERS)


def _places(census: list[Alphabet]) -> dict[Key, int]:
    """Where each drawing stands in our order."""
    drawings = product(_characters(census), range(1, N_DRAWERS + 1))
    return {(alphabet.name, character, drawer): row for row, ((alphabet, character), drawer) in enumerate(drawings)}


def _key(file: re.Match[str]) -> Key:
    return file[1], int(file[2]), int(file[3])


def _find(places: dict[Key, int], keys: Iterable[Key], source: Path | str) -> np.ndarray:
    """Rows of these drawings in our order: (n,)."""
    return np.asarray([_find_one(places, key, source) for key in keys], np.int64)


def _find_one(places: dict[Key, int], key: Key, source: Path | str) -> int:
    if key not in places:
        alphabet, character, drawer = key
        name = f"{alphabet}/character{character:02} by drawer {drawer}"
        raise UserError(f"{source} has a drawing of {name}, which Omniglot has not: {AGAIN}")
    return places[key]


def _read_bits(folder: Path, census: list[Alphabet]) -> np.ndarray:
    """All drawings in our order: (32460, 1379) uint8, one bit per pixel, ink 1."""
    places = _places(census)
    if (folder / IMAGES).is_file():
        stored = read_npz(folder / IMAGES, packed_ink=("u", 2))["packed_ink"]
        rows = _npz_rows(folder / IMAGES, places)
        if stored.dtype != np.uint8 or stored.shape != (len(rows), N_BYTES):
            raise UserError(f"{folder / IMAGES}: packed_ink must be ({len(rows)}, {N_BYTES}) uint8: {AGAIN}")
        return stored[np.argsort(rows)]
    bits = np.zeros((len(places), N_BYTES), np.uint8)
    found: list[int] = []
    for half in ("images_background", "images_evaluation"):
        before, plain = len(found), bytearray()  # the scan lines of drawings that are simple to read
        simple: list[int] = []
        for file, path, content in read_tree(folder, half, PNG):
            row = _find_one(places, _key(file), path)
            found.append(row)
            lines = scan_lines(content, (SIDE, SIDE))
            if lines is None:
                bits[row] = np.packbits(_read_ink(content, path))
            else:
                simple.append(row)
                plain += lines
        if len(found) == before:
            raise UserError(f"{folder} has no Omniglot: put {half}.zip, or the folder {half}, or {IMAGES} there")
        with reading(folder / half, "drawings"):
            lined = np.frombuffer(plain, np.uint8).reshape(len(simple), SIDE, 1 + -(-SIDE // 8))
            for start in range(0, len(simple), AT_ONCE):
                rows = unfilter(lined[start : start + AT_ONCE])
                bits[simple[start : start + AT_ONCE]] = pack_ink(rows, SIDE)
    _check_complete(np.asarray(found), len(places), folder)
    return bits


def _check_complete(rows: np.ndarray, n: int, source: Path) -> None:
    if len(rows) != n or len(np.unique(rows)) != n:
        n_there = len(np.unique(rows))
        raise UserError(f"{source} has {len(rows):,} drawings, {n_there:,} of Omniglot's {n:,}: {AGAIN}")


def _npz_rows(path: Path, places: dict[Key, int]) -> np.ndarray:
    """Our row of each row of the npz file."""
    at = read_npz(path, alphabet_names=("U", 1), alphabet=("iu", 1), char_in_alphabet=("iu", 1), drawer=("iu", 1))
    names, columns = at["alphabet_names"].tolist(), [at[k].tolist() for k in ("alphabet", "char_in_alphabet", "drawer")]
    if len({len(column) for column in columns}) != 1 or not all(0 <= k < len(names) for k in columns[0]):
        raise UserError(f"{path}: alphabet, char_in_alphabet and drawer do not fit together: {AGAIN}")
    rows = _find(places, ((names[a], c, d) for a, c, d in zip(*columns, strict=True)), path)
    _check_complete(rows, len(places), path)
    return rows


def _read_ink(content: bytes, path: Path | str) -> np.ndarray:
    """One official drawing, black on white: (105, 105) bool, True where there is ink."""
    with reading(path, "a drawing"), Image.open(io.BytesIO(content)) as image:
        ink = np.asarray(image.convert("L")) < 128
    if ink.shape != (SIDE, SIDE):
        raise UserError(f"{path} is {ink.shape[1]} × {ink.shape[0]} px, Omniglot's are {SIDE} × {SIDE}: {AGAIN}")
    return ink


def _read_tracks(path: Path, places: dict[Key, int]) -> dict[int, list[np.ndarray]]:
    """Our row → strokes, each (k, 3) x, y, t. An alphabet's first char_id is its character 1."""
    at = read_npz(path, xyt_stroke=("f", 2), offset=("iu", 1), alphabet=("U", 1), char_id=("iu", 1), drawer=("iu", 1))
    motor, offset, n = at["xyt_stroke"], at["offset"], len(at["alphabet"])
    fits = len(offset) == n + 1 and len(at["char_id"]) == len(at["drawer"]) == n and motor.shape[1] == 4
    fits = fits and offset[0] == 0 and offset[-1] == len(motor) and bool((np.diff(offset) > 0).all())
    if not (fits and np.isfinite(motor).all()):
        raise UserError(f"{path}: its strokes, offsets and labels do not fit together: {AGAIN}")
    first = {name: at["char_id"][at["alphabet"] == name].min() for name in np.unique(at["alphabet"])}
    labels = zip(at["alphabet"].tolist(), at["char_id"].tolist(), at["drawer"].tolist(), strict=True)
    rows = _find(places, ((name, int(number - first[name]) + 1, drawer) for name, number, drawer in labels), path)
    drawings = np.split(motor, offset[1:-1])
    return {
        int(row): np.split(drawing[:, :3], np.flatnonzero(np.diff(drawing[:, 3])) + 1)
        for row, drawing in zip(rows, drawings, strict=True)
    }


def _read_motor_files(folder: Path, places: dict[Key, int]) -> dict[int, list[np.ndarray]]:
    """As `_read_tracks`, from text: START, lines of x,y,t, and BREAK after each stroke."""
    tracks = {}
    for half in ("strokes_background", "strokes_evaluation"):
        for file, path, content in read_tree(folder, half, MOTOR):
            with reading(path, "a drawing's strokes"):
                strokes = [part.split() for part in content.decode("ascii").replace("START", "").split("BREAK")]
                motor = [np.array([line.split(",") for line in lines], float) for lines in strokes if lines]
                if not motor or not all(stroke.shape[1:] == (3,) and np.isfinite(stroke).all() for stroke in motor):
                    raise ValueError("a line is not x,y,t")
            tracks[int(_find(places, [_key(file)], path)[0])] = motor
    return tracks


def _read_run_rows(folder: Path, places: dict[Key, int]) -> list[np.ndarray]:
    """Our rows of the training and the test drawings, and the answers: three (20, 20)."""
    at = read_npz(folder / RUNS, train_idx=("iu", 2), test_idx=("iu", 2), test_label=("iu", 2))
    rows = _npz_rows(folder / IMAGES, places)
    for name, limit in (("train_idx", len(rows)), ("test_idx", len(rows)), ("test_label", N_WAYS)):
        if at[name].shape != (N_RUNS, N_WAYS) or at[name].min() < 0 or at[name].max() >= limit:
            raise UserError(f"{folder / RUNS}: {name} must be (20, 20) whole numbers under {limit:,}: {AGAIN}")
    return [rows[at["train_idx"]], rows[at["test_idx"]], at["test_label"].astype(np.int64)]


def _read_run_images(path: Path, bits: np.ndarray) -> list[np.ndarray]:
    """As `_read_run_rows`, from run01/class_labels.txt and the images it names, found again among our drawings."""
    row_of = {drawing.tobytes(): row for row, drawing in enumerate(bits)}
    runs = []
    with reading(path, "the official one-shot runs"), open_zip(path) as archive:
        labels = "run01/class_labels.txt"
        above = next((name.removesuffix(labels) for name in archive.namelist() if name.endswith(labels)), "")
        for run in range(1, N_RUNS + 1):
            text = archive.read(f"{above}run{run:02}/class_labels.txt").decode("ascii")
            answers = dict(line.split() for line in text.splitlines() if line.strip())
            test, training = sorted(answers), sorted(set(answers.values()))
            if len(test) != N_WAYS or len(training) != N_WAYS:
                raise ValueError(f"run {run} does not have {N_WAYS} drawings of {N_WAYS} characters")
            rows = []
            for name in training + test:
                ink = np.packbits(_read_ink(archive.read(above + name), path / name)).tobytes()
                if ink not in row_of:
                    raise ValueError(f"{name} is not among the drawings of Omniglot")
                rows.append(row_of[ink])
            runs.append((rows[:N_WAYS], rows[N_WAYS:], [training.index(answers[name]) for name in test]))
    return [np.asarray(column, np.int64) for column in zip(*runs, strict=True)]
