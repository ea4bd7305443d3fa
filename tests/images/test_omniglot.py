"""Omniglot: three forms of the same drawings, its splits, its strokes, and the official one-shot runs."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.files import read_npz
from exemplar.images import ink, omniglot
from exemplar.images.lists import read_list
from exemplar.images.omniglot import load_omniglot, load_omniglot_runs, load_omniglot_strokes

REAL = Path(os.environ.get("EXEMPLAR_DATA", "no data")) / "omniglot"
needs_real = pytest.mark.skipif(not (REAL / omniglot.IMAGES).is_file(), reason="EXEMPLAR_DATA has no Omniglot")
COUNTS = {
    "all": 1623,
    "weak-train": 1473,
    "weak-test": 150,
    "weak-val": 150,
    "background": 964,
    "background-val": 165,
    "evaluation": 659,
    "cfsl-train": 1200,
    "cfsl-val": 211,
    "cfsl-test": 212,
}
Keys = list[tuple[str, int, int, bool]]  # alphabet, character, drawer, background


def keys() -> Keys:
    """Every drawing's labels, in the order the loader promises."""
    return [
        (alphabet.name, character, drawer, alphabet.background)
        for alphabet in omniglot.read_census()
        for character in sorted(alphabet.part)
        for drawer in range(1, 21)
    ]


def png(drawing: np.ndarray) -> bytes:
    """drawing: (105, 105) bool, True is ink; as the official archives have it: black on white, one bit."""
    file = io.BytesIO()
    Image.fromarray(~drawing).save(file, "png", compress_level=1)
    return file.getvalue()


def invent() -> np.ndarray:
    """(32460, 105, 105) bool, packed: a drawing of few strokes that tells its own row, in our order."""
    rng = seeds.rng("invented omniglot")
    bits = np.zeros((len(keys()), omniglot.N_BYTES), np.uint8)
    bits[:, :4] = np.arange(len(bits), dtype=">u4").view(np.uint8).reshape(-1, 4)
    bits[:, rng.integers(4, omniglot.N_BYTES - 1, 40)] = rng.integers(0, 256, (len(bits), 40), dtype=np.uint8)
    return bits


def unpacked(bits: np.ndarray) -> np.ndarray:
    return np.unpackbits(bits, count=105 * 105).reshape(105, 105).astype(bool)


def write_npz(path: Path, bits: np.ndarray, **changed: np.ndarray) -> np.ndarray:
    """The npz form with its rows shuffled; returns each of its rows' place in our order."""
    order = seeds.rng("shuffled omniglot").permutation(len(bits))
    labels = keys()
    names = sorted({key[0] for key in labels}, reverse=True)
    chosen = [labels[row] for row in order]
    arrays: dict[str, np.ndarray] = {
        "packed_ink": bits[order],
        "alphabet": np.array([names.index(key[0]) for key in chosen], np.int8),
        "char_in_alphabet": np.array([key[1] for key in chosen], np.int8),
        "drawer": np.array([key[2] for key in chosen], np.int8),
        "alphabet_names": np.array(names),
    }
    np.savez(path, **{**arrays, **changed})  # type: ignore[arg-type]
    return order


@pytest.fixture(scope="module")
def bits() -> np.ndarray:
    return invent()


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory, bits: np.ndarray) -> Path:
    """The official archives, files in no particular order."""
    folder = tmp_path_factory.mktemp("zipped")
    labels = keys()
    with (
        zipfile.ZipFile(folder / "images_background.zip", "w") as background,
        zipfile.ZipFile(folder / "images_evaluation.zip", "w") as evaluation,
    ):
        background.writestr("__MACOSX/images_background/Greek/character01/0394_01.png", b"what a Mac adds")
        for row in seeds.rng("zip order").permutation(len(bits)):
            alphabet, character, drawer, is_background = labels[row]
            name = f"{alphabet}/character{character:02}/{row // 20 + 1:04}_{drawer:02}.png"
            half, archive = ("background", background) if is_background else ("evaluation", evaluation)
            archive.writestr(f"images_{half}/{name}", png(unpacked(bits[row])))
    return folder


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, bits: np.ndarray) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    order = write_npz(folder / omniglot.IMAGES, bits)
    place = np.argsort(order)  # our row → the file's row
    training, test, answer = invented_runs()
    np.savez(folder / omniglot.RUNS, train_idx=place[training], test_idx=place[test], test_label=answer)
    return folder


def invented_runs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of training and test drawings, and answers: run r asks for 20 evaluation characters, tested in another order."""
    rng = seeds.rng("invented runs")
    training, test, answer = [], [], []
    for _ in range(20):
        characters, order = rng.permutation(np.arange(964, 1623))[:20], rng.permutation(20)
        training.append(characters * 20 + rng.integers(0, 10))
        test.append((characters * 20 + rng.integers(10, 20))[order])
        answer.append(order)
    return np.array(training), np.array(test), np.array(answer)


def test_zip_npz_and_unpacked_folders_give_the_same_set(
    zipped: Path, stored: Path, bits: np.ndarray, tmp_path: Path
) -> None:
    from_zip, from_npz = load_omniglot(zipped), load_omniglot(stored)
    (tmp_path / "images_background.zip").symlink_to(zipped / "images_background.zip")
    with zipfile.ZipFile(zipped / "images_evaluation.zip") as archive:
        archive.extractall(tmp_path)  # half unpacked: the other half would only take longer
    from_folder = load_omniglot(tmp_path)
    shutil.rmtree(tmp_path / "images_evaluation")
    assert from_zip.fingerprint == from_npz.fingerprint == from_folder.fingerprint
    assert from_zip.concepts == from_npz.concepts == from_folder.concepts
    np.testing.assert_array_equal(from_npz.take([0, 7, 32459]) > 0, [unpacked(bits[row]) for row in (0, 7, 32459)])


@pytest.mark.parametrize("split", omniglot.SPLITS)
def test_splits_have_the_published_sizes(stored: Path, split: str) -> None:
    drawings = load_omniglot(stored, split)
    assert drawings.name == f"omniglot/{split}"
    assert (drawings.n_concepts, len(drawings)) == (COUNTS[split], 20 * COUNTS[split])
    assert set(drawings.counts) == {20}
    assert {concept.split("/")[0] for concept in drawings.concepts} == set(drawings.group.names)


@pytest.mark.parametrize(
    "parts", [("weak-train", "weak-test"), ("background", "evaluation"), ("cfsl-train", "cfsl-val", "cfsl-test")]
)
def test_the_parts_of_a_split_share_no_character_and_leave_none_out(stored: Path, parts: tuple[str, ...]) -> None:
    concepts = [concept for part in parts for concept in load_omniglot(stored, part).concepts]
    assert sorted(concepts) == sorted(load_omniglot(stored).concepts)


@pytest.mark.parametrize(
    ("val", "train", "test"), [("weak-val", "weak-train", "weak-test"), ("background-val", "background", "evaluation")]
)
def test_what_critics_are_chosen_on_is_of_the_training_set_and_nothing_of_the_test(
    stored: Path, val: str, train: str, test: str
) -> None:
    chosen_on, trained_on, tested_on = (set(load_omniglot(stored, split).concepts) for split in (val, train, test))
    assert chosen_on < trained_on and not chosen_on & tested_on


def test_weak_val_is_three_characters_of_each_alphabet_and_background_val_whole_alphabets(stored: Path) -> None:
    weak, background = (load_omniglot(stored, split) for split in ("weak-val", "background-val"))
    assert len(weak.group.names) == 50 and set(np.bincount(weak.group.code)) == {3 * 20}
    sizes = {alphabet.name: len(alphabet.part) for alphabet in omniglot.read_census() if alphabet.background}
    assert {concept.split("/")[0] for concept in background.concepts} == set(background.group.names) < set(sizes)
    assert background.n_concepts == sum(sizes[name] for name in background.group.names)


def test_the_weak_test_set_is_characters_one_to_three(stored: Path) -> None:
    endings = {concept.rsplit("/", 1)[1] for concept in load_omniglot(stored, "weak-test").concepts}
    assert endings == {"character01", "character02", "character03"}


def test_the_committed_list_is_the_shuffle_its_header_names() -> None:
    characters = [(a.name, c, a.part[c]) for a in omniglot.read_census() for c in sorted(a.part)]
    order = seeds.rng("omniglot cfsl").permutation(len(characters))
    parts = ["train"] * 1200 + ["val"] * 211 + ["test"] * 212
    assert [characters[row][2] for row in order] == parts
    halves = [(not a.background, a.name) for a in omniglot.read_census()]
    assert halves == sorted(halves)


def test_the_validation_lists_are_what_their_headers_say() -> None:
    census = omniglot.read_census()
    weak = set()
    for alphabet in census:
        own = [f"{alphabet.name}/character{character:02}" for character in range(4, len(alphabet.part) + 1)]
        weak |= set(seeds.rng("weak-val", alphabet.name).choice(own, 3, replace=False).tolist())
    assert set(read_list("omniglot_weak_val")) == weak
    background = sorted(alphabet.name for alphabet in census if alphabet.background)
    drawn = seeds.rng("background-val").choice(background, 5, replace=False).tolist()
    assert read_list("omniglot_background_val") == tuple(sorted(drawn))


def test_runs_are_the_same_from_the_index_and_from_the_official_archive(
    zipped: Path, stored: Path, bits: np.ndarray
) -> None:
    training, test, answer = invented_runs()
    with zipfile.ZipFile(zipped / "all_runs.zip", "w") as archive:
        for run in range(20):
            lines = []
            for k in range(20):
                asked, right = f"run{run + 1:02}/test/item{k + 1:02}.png", f"class{answer[run, k] + 1:02}.png"
                lines.append(f"{asked} run{run + 1:02}/training/{right}\n")
                archive.writestr(asked, png(unpacked(bits[test[run, k]])))
                archive.writestr(f"run{run + 1:02}/training/class{k + 1:02}.png", png(unpacked(bits[training[run, k]])))
            archive.writestr(f"run{run + 1:02}/class_labels.txt", "".join(lines))
    official, indexed = load_omniglot_runs(zipped), load_omniglot_runs(stored)
    for runs in (official, indexed):
        np.testing.assert_array_equal(runs.answer, answer)
        np.testing.assert_array_equal(runs.training[3, 5] > 0, unpacked(bits[training[3, 5]]))
    np.testing.assert_array_equal(official.training, indexed.training)
    np.testing.assert_array_equal(official.test, indexed.test)
    np.testing.assert_array_equal(official.concept, indexed.concept)


def test_strokes_are_the_same_from_the_npz_and_from_motor_files(tmp_path: Path) -> None:
    # Two strokes by drawer 2 of Greek's second character, one by drawer 1 of its first.
    motor = np.array(
        [[10, -20, 0, 0], [10, -40, 8, 0], [30, -20, 90, 1], [5.5, -1.25, 0, 0], [6, -2, 4, 0]], np.float32
    )
    packed, text = tmp_path / "npz", tmp_path / "zip"
    for folder in (packed, text):
        folder.mkdir()
    np.savez(
        packed / omniglot.STROKES,
        xyt_stroke=motor,
        offset=np.array([0, 3, 5]),
        alphabet=np.array(["Greek", "Greek"]),
        char_id=np.array([395, 394], np.int16),
        drawer=np.array([2, 1], np.int8),
    )
    with zipfile.ZipFile(text / "strokes_background.zip", "w") as archive:
        greek = "strokes_background/Greek"
        archive.writestr(f"{greek}/character02/0395_02.txt", "START\n10,-20,0\n10,-40,8\nBREAK\n30,-20,90\nBREAK\n")
        archive.writestr(f"{greek}/character01/0394_01.txt", "START\n5.500000,-1.250000,0.0\n6,-2,4\nBREAK\n")
    for strokes in (load_omniglot_strokes(packed), load_omniglot_strokes(text)):
        assert strokes.concept.names == ("Greek/character01", "Greek/character02")
        assert [strokes.maker[k] for k in range(2)] == ["drawer01", "drawer02"]
        np.testing.assert_array_equal(strokes.points, [[6, 1.75], [6.5, 2.5], [10.5, 20.5], [10.5, 40.5], [30.5, 20.5]])
        np.testing.assert_array_equal(strokes.time, [0, 4, 0, 8, 90])
        assert strokes.strokes.tolist() == [0, 2, 4, 5]
        assert strokes.images.tolist() == [0, 1, 3]


def refused(load: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        load()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_an_unknown_split_is_told_its_neighbours(tmp_path: Path) -> None:
    assert "weak-test" in refused(lambda: load_omniglot(tmp_path, "weak-tests"))


def test_an_empty_folder_is_told_what_to_put_there(tmp_path: Path) -> None:
    assert "images_background.zip" in refused(lambda: load_omniglot(tmp_path))
    assert "strokes_background.zip" in refused(lambda: load_omniglot_strokes(tmp_path))


def test_runs_without_their_files_are_refused(tmp_path: Path, stored: Path) -> None:
    (tmp_path / omniglot.IMAGES).symlink_to(stored / omniglot.IMAGES)
    assert "all_runs.zip is missing" in refused(lambda: load_omniglot_runs(tmp_path))


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"packed_ink": np.zeros((32460, 1378), np.uint8)}, "1379"),
        ({"packed_ink": np.zeros((32460, 1379), np.float32)}, "whole numbers"),
        ({"drawer": np.full(32460, 21, np.int8)}, "drawer 21"),
        ({"drawer": np.full(32460, 1, np.int8)}, "32,460 drawings, 1,623 of"),
        ({"alphabet": np.full(32460, 99, np.int8)}, "fit together"),
        ({"alphabet": np.zeros(5, np.int8)}, "fit together"),
        ({"alphabet_names": np.array(["Klingon"] * 50)}, "Klingon"),
    ],
)
def test_an_npz_that_is_not_omniglot_is_refused(
    tmp_path: Path, bits: np.ndarray, changed: dict[str, np.ndarray], word: str
) -> None:
    write_npz(tmp_path / omniglot.IMAGES, bits, **changed)
    assert word in refused(lambda: load_omniglot(tmp_path))


def test_an_npz_without_an_array_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / omniglot.IMAGES, something=np.arange(3))
    assert "packed_ink" in refused(lambda: load_omniglot(tmp_path))


def test_zips_that_miss_drawings_are_corrupt_or_hold_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "images_background.zip"
    name = "images_background/Greek/character01/0394_01.png"
    blank = png(np.zeros((105, 105), bool))
    for member, content, word in (
        ("images_background/Greek/character99/0394_01.png", blank, "Greek/character99"),
        (name, b"not an image", "0394_01.png cannot be read"),
        (name, png(np.zeros((28, 28), bool)), "28 × 28"),
        (name, blank, "images_evaluation.zip"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, content)
        assert word in refused(lambda: load_omniglot(tmp_path))
    shutil.copy(path, tmp_path / "images_evaluation.zip")
    assert "2 drawings, 1 of" in refused(lambda: load_omniglot(tmp_path))
    path.write_bytes(path.read_bytes()[:-30])
    assert "cannot be read as a zip archive" in refused(lambda: load_omniglot(tmp_path))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), cut=st.booleans(), value=st.integers(0, 255))
def test_a_damaged_npz_is_refused_or_still_whole(tmp_path: Path, place: float, cut: bool, value: int) -> None:
    path, whole = tmp_path / "damaged.npz", np.arange(60, dtype=np.uint8).reshape(6, 10)
    np.savez_compressed(path, whole=whole, names=np.array(["a", "b"]))
    content = bytearray(path.read_bytes())
    where = int(place * (len(content) - 1))
    if cut:
        del content[where:]
    else:
        content[where] = value
    path.write_bytes(content)
    try:
        arrays = read_npz(path, whole=("u", 2), names=("U", 1))
    except UserError as problem:
        assert "damaged.npz" in str(problem) and "\n" not in str(problem)
    else:
        np.testing.assert_array_equal(arrays["whole"], whole)


def test_a_header_that_promises_more_than_the_file_is_refused_before_any_memory_is_taken(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 10**9)})
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("a.npy", header.getvalue() + b"\0" * 100)
    assert "cut off" in refused(lambda: read_npz(tmp_path / "huge.npz", a=("u", 2)))


def test_pickled_objects_are_never_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", a=np.array([{}, []], dtype=object))
    assert "must be text" in refused(lambda: read_npz(tmp_path / "objects.npz", a=("U", 1)))


@needs_real
def test_the_real_drawings_are_ink_on_paper_and_named_as_in_the_archives() -> None:
    drawings = load_omniglot(REAL)
    assert drawings.concepts[0] == "Alphabet_of_the_Magi/character01"
    assert drawings.concepts[-1] == "ULOG/character26"
    assert (len(drawings.group.names), len(drawings.maker.names)) == (50, 20)
    assert 0.05 < (drawings.take(np.arange(0, 32460, 50)) > 0).mean() < 0.12


@needs_real
def test_real_strokes_run_inside_the_ink_of_their_drawings() -> None:
    strokes, drawings = load_omniglot_strokes(REAL), load_omniglot(REAL)
    row = {(drawings.concept[k], drawings.maker[k]): k for k in range(len(drawings))}
    rows = [row[strokes.concept[k], strokes.maker[k]] for k in range(len(strokes.images) - 1)]
    assert (len(rows), len(strokes.concept.names)) == (4840, 242)
    drawn = ink.render(strokes.points, strokes.strokes, strokes.images, size=(105, 105), width=1.0) > 127
    inked = drawings.take(rows) > 0
    assert (drawn & inked).sum() / drawn.sum() > 0.99
