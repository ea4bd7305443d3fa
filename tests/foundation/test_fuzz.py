"""A thousand damaged or odd inputs: each gives a clear error, or works; none a traceback, none a half-written file."""

from __future__ import annotations

import io
import random
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from exemplar.errors import UserError
from exemplar.images.catalogue import describe, load
from exemplar.records import Drawings, Maps, Predictions, Score, Scores, Trials
from exemplar.report.sheets import write_sheet

N_INPUTS, FUZZ_SEED = 1000, 20261115
ODD_NAMES = [
    "",
    " ",
    "é",
    "名前",
    "a\nb",
    "\u202e",
    "🙂" * 40,
    "x" * 200,
    ".hidden",
    "a b",
    "%s",
    "'; --",
    "nul\u0001",
    "-rf",
    "~",
]

Fuzzer = Callable[[random.Random, Path], None]


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Cut, altered, with a piece doubled, missing or overwritten; or something else altogether."""
    if not content:
        return b"\0"
    at, length = dice.randrange(len(content)), dice.randrange(1, 64)
    piece = bytes(dice.randrange(256) for _ in range(length))
    return dice.choice(
        [
            content[:at],
            content[at:],
            content[:at] + piece + content[at + length :],
            content[:at] + content[at + length :],
            content[:at] + piece + content[at:],
            piece,
            b"",
            content + piece,
        ]
    )


def some_array(dice: random.Random, rng: np.random.Generator) -> np.ndarray:
    """Any type, any number of dimensions, sometimes NaN, sometimes empty, sometimes huge in name only."""
    shape = tuple(dice.choice([0, 1, 2, 3, 7]) for _ in range(dice.randrange(0, 5)))
    kind = dice.choice(["u1", "i8", "f2", "f4", "f8", "?", "U3", "c8", "M8[s]", "O"])
    if kind == "O":
        return np.full(shape, None, dtype=object)
    if kind.startswith(("U", "M")):
        return np.zeros(shape, kind)
    values = rng.normal(0, dice.choice([0.1, 1, 1e300 if kind == "f8" else 100]), shape)
    with np.errstate(all="ignore"):
        array = np.asarray(values).astype(kind)
    if kind.startswith("f") and array.size and dice.random() < 0.3:
        array.flat[0] = dice.choice([np.nan, np.inf, -np.inf])
    return array


def tables(rng: np.random.Generator) -> list:
    n = 4
    return [
        Drawings.of(agent="a", data="d", concept="c", exemplar=0, index=np.arange(n), seed=0, image=rng.integers(0, 256, (n, 5, 5), np.uint8)),
        Trials.of(agent="a", participant="p", subtask="s", session="1", trial=np.arange(n), phase="x", stimulus="i", choice=[0, 1, np.nan, 1], correct=False, timed_out=[0, 0, 1, 0]),
        Predictions.of(agent="a", task=0, set=0, item=np.arange(n), label=0, predicted=1, log_p=rng.normal(size=(n, 3)).astype("f4")),
        Maps.of(agent="a", participant="p", concept="c", image=rng.integers(0, 256, (n, 5, 5), np.uint8), map=rng.normal(size=(n, 5, 5))),
        Scores.collect([Score("s", 1.0, (0.0, 2.0), 3, agent=name) for name in "abcd"]),
    ]  # fmt: skip


def fuzz_a_damaged_table(dice: random.Random, folder: Path) -> None:
    table = dice.choice(tables(np.random.default_rng(dice.randrange(2**32))))
    table.save(folder)
    path = dice.choice(sorted(folder.iterdir()))
    path.write_bytes(damaged(path.read_bytes(), dice))
    type(table).load(folder)


def fuzz_a_table_with_other_columns(dice: random.Random, folder: Path) -> None:
    """A proper parquet file, with our mark, whose columns are anything."""
    table = dice.choice(tables(np.random.default_rng(0)))
    table.save(folder)
    path = folder / f"{table.title()}.parquet"
    stored = pq.read_table(path)
    column = dice.choice(stored.column_names)
    n = len(stored)
    other = dice.choice(
        [
            pa.array([None] * n),
            pa.array([dice.choice(ODD_NAMES) for _ in range(n)]),
            pa.array([dice.choice([-1, 0, 2**62, 7]) for _ in range(n)]),
            pa.array([dice.choice([np.nan, np.inf, 0.5, -3.0]) for _ in range(n)]),
            pa.array([[1.0] * dice.randrange(3) for _ in range(n)]),
            pa.array([b"\xff"] * n),
            pa.array([{"a": 1}] * n),
        ]
    )
    changed = (
        stored.drop_columns([column])
        if dice.random() < 0.3
        else stored.set_column(stored.column_names.index(column), column, other)
    )
    if dice.random() < 0.2:
        changed = changed.append_column(dice.choice(ODD_NAMES) or "x", other)
    pq.write_table(changed.replace_schema_metadata(stored.schema.metadata), path)
    type(table).load(folder)


def fuzz_values_for_a_table(dice: random.Random, folder: Path) -> None:
    rng = np.random.default_rng(dice.randrange(2**32))
    table = dice.choice(tables(rng))
    values = {name: table.frame[name] for name in table.COLUMNS} | dict(table.arrays)
    for name in dice.sample(sorted(values), k=dice.randrange(1, 3)):
        values[name] = dice.choice(
            [
                some_array(dice, rng),
                dice.choice(ODD_NAMES),
                None,
                -1,
                float("nan"),
                2**70,
                [[1], [2, 3]],
                [dice.choice(ODD_NAMES)] * 4,
                {1: 2},
            ]
        )
    type(table).of(**values).save(folder)
    assert type(table).load(folder) == type(table).of(**values)


def fuzz_an_npz_of_images(dice: random.Random, folder: Path) -> None:
    rng = np.random.default_rng(dice.randrange(2**32))
    arrays = {"images": rng.integers(0, 256, (4, 6, 6), np.uint8), "concept": np.array(["a", "a", "b", "b"])}
    for name in dice.sample(["images", "concept", "group", "maker"], k=dice.randrange(0, 3)):
        arrays[name] = some_array(dice, rng)
    if dice.random() < 0.2:
        arrays.pop(dice.choice(sorted(arrays)))
    path = folder / "mine.npz"
    np.savez(path, **arrays)
    if dice.random() < 0.4:
        path.write_bytes(damaged(path.read_bytes(), dice))
    if dice.random() < 0.2:
        huge_header(path)
    use(str(path), folder, dice)


def huge_header(path: Path) -> None:
    """An array that says it is of 2⁵⁰ bytes and holds none."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "|u1", "fortran_order": False, "shape": (2**30, 2**10, 2**10)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images.npy", buffer.getvalue())
        archive.writestr("concept.npy", buffer.getvalue())


def fuzz_a_folder_of_images(dice: random.Random, folder: Path) -> None:
    root = folder / "mine"
    root.mkdir()
    for _ in range(dice.randrange(0, 5)):
        name = dice.choice([*ODD_NAMES, "cat", "dog", "bird"])
        concept = root / name if name else root
        if name in ("~",) or "/" in name or concept.exists():
            continue
        concept.mkdir()
        for k in range(dice.choice([0, 1, 3, 3, 3, 3])):
            mode = "L" if dice.random() < 0.8 else dice.choice(["RGB", "RGBA", "1", "P", "CMYK", "I;16", "F", "LA"])
            side = (8, 8) if dice.random() < 0.95 else (dice.choice([1, 9]), 8)
            ending = "png" if dice.random() < 0.8 else dice.choice(["jpg", "gif", "tif", "webp", "txt", ""])
            buffer = io.BytesIO()
            try:
                Image.new(mode, side).save(buffer, {"jpg": "JPEG", "tif": "TIFF"}.get(ending, ending.upper() or "PNG"))
            except (OSError, KeyError, ValueError):
                buffer.write(b"hello")
            content = buffer.getvalue()
            (concept / f"{k}.{ending}").write_bytes(damaged(content, dice) if dice.random() < 0.05 else content)
    use(str(root), folder, dice)


def use(name: str, folder: Path, dice: random.Random) -> None:
    """What a user would do with it: look at it, and make a sheet."""
    data = load(name, size=dice.choice([None, None, 4, 1]))
    describe(data, name)
    some = data.sample(dice.choice([1, 2, 50]), dice.choice([1, 2]), rng=np.random.default_rng(0))
    write_sheet(folder / "sheet.png", some.images[None], ["x"])


FUZZERS = (
    fuzz_a_damaged_table,
    fuzz_a_table_with_other_columns,
    fuzz_values_for_a_table,
    fuzz_an_npz_of_images,
    fuzz_a_folder_of_images,
)


@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_odd_input_gives_a_clear_error_or_works(fuzzer: Fuzzer, tmp_path, capsys):
    count = N_INPUTS // len(FUZZERS)
    outcomes: Counter[str] = Counter()
    for k in range(count):
        folder = tmp_path / str(k)
        folder.mkdir()
        dice = random.Random(f"{FUZZ_SEED} {fuzzer.__name__} {k}")
        try:
            fuzzer(dice, folder)
            outcomes["worked"] += 1
        except UserError as problem:
            outcomes["clear error"] += 1
            assert 10 < len(str(problem)) < 700, (k, problem)
        except Exception as problem:
            raise AssertionError(f"{fuzzer.__name__} {k}: {type(problem).__name__}: {problem}") from problem
        assert not [path for path in folder.rglob("*.part")], (k, "left half-written")
        shutil.rmtree(folder)
    with capsys.disabled():
        print(f" {fuzzer.__name__}: {count} inputs, seed {FUZZ_SEED}, {dict(outcomes)}")
    assert outcomes["clear error"] > count // 10 and outcomes["worked"] > 0
