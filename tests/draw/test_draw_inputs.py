"""Drawings from anywhere become one record, and what cannot be meant is refused in a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from exemplar import seeds
from exemplar.draw.drawings import find_warnings, is_on_white, read_drawings, sample_drawings, stack
from exemplar.draw.tasks import DrawingTask, as_drawings, make_task, own_drawings
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Drawings
from exemplar.report.resizing import resize
from exemplar.spaces.inputs import DrawingInput

SIZE, N = 32, 4


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    """Nine glyphs by five drawers: four drawings of each besides the exemplar."""
    glyphs = load_glyphs("weak-test", GlyphsConfig(alphabets=3, characters=4, drawers=N + 1, size=SIZE))
    return make_task(glyphs, exemplar="drawer:drawer01")


@pytest.fixture(scope="module")
def drawn(task: DrawingTask) -> np.ndarray:
    """(9, 4, 32, 32): what people drew."""
    return stack(own_drawings(task), task)


def save_folder(folder: Path, images: np.ndarray, concepts: tuple[str, ...], ending: str = "png") -> Path:
    for concept, some in zip(concepts, images, strict=True):
        (folder / concept).mkdir(parents=True, exist_ok=True)
        for k, image in enumerate(some):
            Image.fromarray(image).save(folder / concept / f"{k}.{ending}")
    return folder


def save_npz(path: Path, images: np.ndarray, concepts: Any) -> Path:
    np.savez(path, images=images.reshape(-1, *images.shape[2:]), concept=np.repeat(concepts, images.shape[1]))
    return path


def test_a_folder_an_npz_and_a_record_of_the_same_drawings_are_the_same(
    task: DrawingTask, drawn: np.ndarray, tmp_path: Path
) -> None:
    folder = save_folder(tmp_path / "mine", drawn, task.concepts)
    one = read_drawings(folder, task)
    two = read_drawings(save_npz(tmp_path / "mine.npz", drawn, task.concepts), task)
    own_drawings(task).save(tmp_path)
    three, four = (read_drawings(path, task, agent="mine") for path in (tmp_path, tmp_path / "drawings.parquet"))
    for found in (one, two, three, four):
        assert set(found["agent"]) == {"mine"} and set(found["data"]) == {"glyphs/weak-test"}
        np.testing.assert_array_equal(stack(found, task), drawn)
    assert set(read_drawings(tmp_path, task)["agent"]) == {
        "simulated drawers"
    }  # as the record says, unless told otherwise
    assert sorted(zip(one["concept"], one["exemplar"], strict=True))[0][1] in task.exemplar


def test_names_may_be_written_as_macos_writes_them(task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    """Folders, an npz and a record whose names are decomposed (NFD), for data whose names are not."""
    typed = tuple(f"é{k}" for k in range(9))
    data = ConceptSet.of("café", task.data.images, np.array(typed)[task.data.concept.code])
    typed_task = replace(task, data=data)
    written = tuple(unicodedata.normalize("NFD", name) for name in typed)
    assert set(written).isdisjoint(typed)
    folder = read_drawings(save_folder(tmp_path / "mine", drawn, written), typed_task)
    npz = read_drawings(save_npz(tmp_path / "mine.npz", drawn, written), typed_task)
    columns = {name: folder[name] for name in Drawings.COLUMNS} | {"data": unicodedata.normalize("NFD", "café")}
    columns["concept"] = np.repeat(written, N)
    Drawings.of(**columns, image=folder.image).save(tmp_path / "record")
    kept = read_drawings(tmp_path / "record", typed_task)
    for drawings in (folder, npz, kept):
        assert set(drawings["concept"]) == set(typed) and set(drawings["data"]) == {"café"}
        np.testing.assert_array_equal(stack(drawings, typed_task), drawn)


def test_floats_and_truth_values_are_ink_too(task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    for kind in (np.float32, np.float64, bool):
        path = save_npz(tmp_path / "mine.npz", (drawn / 255).astype(kind), task.concepts)
        np.testing.assert_array_equal(stack(read_drawings(path, task), task), drawn)


def test_grey_images_saved_in_colour_are_read_as_grey(task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    folder = save_folder(tmp_path / "mine", np.repeat(drawn[..., None], 3, axis=-1), task.concepts)
    np.testing.assert_array_equal(stack(read_drawings(folder, task), task), drawn)


def test_drawings_on_white_are_doubted_and_can_be_turned_round(
    task: DrawingTask, drawn: np.ndarray, tmp_path: Path
) -> None:
    npz = save_npz(tmp_path / "mine.npz", 255 - drawn, task.concepts)
    (doubt,) = find_warnings(read_drawings(npz, task), task)
    assert "dark ink on bright paper" in doubt and "--invert" in doubt
    as_drawings(255 - drawn, task, agent="mine").save(tmp_path)
    for path in (npz, save_folder(tmp_path / "mine", 255 - drawn, task.concepts), tmp_path):
        turned = read_drawings(path, task, invert=True)
        np.testing.assert_array_equal(stack(turned, task), drawn)
        assert find_warnings(turned, task) == ()
    right = read_drawings(save_npz(tmp_path / "right.npz", drawn, task.concepts), task, invert=True)
    assert "bright paper" in find_warnings(right, task)[0]  # turned round by mistake


def test_drawings_of_another_size_are_binarised_again_before_a_critic_sees_them(
    task: DrawingTask, drawn: np.ndarray, tmp_path: Path
) -> None:
    large = resize(drawn.reshape(-1, SIZE, SIZE), (77, 77)).reshape(9, N, 77, 77)
    found = read_drawings(save_npz(tmp_path / "mine.npz", large, task.concepts), task)
    seen = DrawingInput(size=(50, 50)).prepare(found.image)
    assert found.image.shape == (36, 77, 77) and seen.shape == (36, 1, 50, 50) and set(np.unique(seen)) == {0.0, 1.0}


def test_the_order_of_files_does_not_matter(task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    order = seeds.rng("shuffle").permutation(9)
    path = save_npz(tmp_path / "mine.npz", drawn[order], np.array(task.concepts)[order])
    np.testing.assert_array_equal(stack(read_drawings(path, task), task), drawn)


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_stack_finds_each_drawing_wherever_its_row_is(
    task: DrawingTask, drawn: np.ndarray, data: st.DataObject
) -> None:
    record = as_drawings(drawn, task, agent="a")
    shuffled = record.subset(np.array(data.draw(st.permutations(range(len(record))))))
    n = data.draw(st.integers(1, N))
    np.testing.assert_array_equal(stack(shuffled, task, n), drawn[:, :n])


def test_stack_takes_what_there_is_of_every_concept(task: DrawingTask, drawn: np.ndarray) -> None:
    record = as_drawings(drawn, task, agent="a")
    fewer = record.subset(np.arange(1, len(record)))  # the first concept has lost its first
    assert stack(fewer, task).shape == (9, N - 1, SIZE, SIZE)
    with pytest.raises(UserError, match="fewer than 4 drawings of .*: ask for 3 or fewer"):
        stack(fewer, task, N)
    said = " ".join(find_warnings(fewer, task))
    assert "everyone is compared at 3" in said and "8 are not used" in said


def test_more_than_people_drew_is_cut_to_their_number(task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    more = np.concatenate([drawn, drawn[:, ::-1]], axis=1)
    found = read_drawings(save_npz(tmp_path / "mine.npz", more, task.concepts), task)
    np.testing.assert_array_equal(stack(found, task), drawn)
    assert find_warnings(found, task) == (
        "the drawings of mine are compared at 4 per concept, the first ones: 36 are not used",
    )


def test_copies_and_blanks_are_doubted_not_refused(task: DrawingTask, drawn: np.ndarray) -> None:
    copies = as_drawings(np.repeat(task.exemplars[:, None], N, axis=1), task, agent="a")
    assert find_warnings(copies, task) == (
        "the drawings of a are the same image repeated within each concept: diversity is 0",
    )
    some = drawn.copy()
    some[2, 1:3] = 0
    assert find_warnings(as_drawings(some, task, agent="a"), task) == ("2 of the drawings of a are blank",)
    assert find_warnings(own_drawings(task), task) == ()


def test_paper_is_what_lies_along_the_border() -> None:
    frame = np.zeros((3, 20, 20), np.uint8)
    assert not is_on_white(frame)
    frame[:, 1:-1, 1:-1] = 255  # much ink, on black paper still
    assert not is_on_white(frame) and is_on_white(255 - frame)


def test_data_on_white_paper_is_doubted_too(drawn: np.ndarray) -> None:
    data = ConceptSet.of("white", 255 - drawn.reshape(-1, SIZE, SIZE), np.repeat([f"c{k}" for k in range(9)], N))
    on_white = make_task(data, exemplar="random", rng=seeds.rng("any"))
    (doubt,) = find_warnings(own_drawings(on_white), on_white)
    assert "white looks like dark ink on bright paper" in doubt


# what is wrong → how to make it so at a path, from (folder, drawings, task), and what is said
WRONG: dict[str, tuple[Callable[[Path, np.ndarray, DrawingTask], Path], str]] = {
    "nothing there": (lambda p, d, t: p / "nowhere", "there is no .*nowhere: give a folder"),
    "an empty folder": (lambda p, d, t: p, "the folder .* is empty"),
    "a concept without images": (
        lambda p, d, t: ((save_folder(p, d, t.concepts) / "Extra").mkdir(), p)[1],
        "Extra has none: make all of them groups",
    ),
    "a concept's folder that is empty": (
        lambda p, d, t: ([f.unlink() for f in (save_folder(p, d, t.concepts) / t.concepts[0]).iterdir()], p)[1],
        "holds no images",
    ),
    "a file that is no image": (
        lambda p, d, t: ((save_folder(p, d, t.concepts) / t.concepts[0] / "notes.txt").write_text("x"), p)[1],
        "notes.txt is not an image",
    ),
    "text called png": (
        lambda p, d, t: ((save_folder(p, d, t.concepts) / t.concepts[0] / "0.png").write_text("x"), p)[1],
        "0.png is not an image that can be read",
    ),
    "another kind of file": (
        lambda p, d, t: ((p / "a.txt").write_text("x"), p / "a.txt")[1],
        "is no npz and no folder",
    ),
    "an unknown concept": (
        lambda p, d, t: save_npz(p / "a.npz", d, ["Nobody", *t.concepts[1:]]),
        "1 concept that is not part of the task: there is no concept 'Nobody' in glyphs/weak-test",
    ),
    "concepts missing": (
        lambda p, d, t: save_npz(p / "a.npz", d[:6], t.concepts[:6]),
        "no drawings of 3 of the 9 concepts of glyphs/weak-test",
    ),
    "one drawing only": (
        lambda p, d, t: save_npz(p / "a.npz", d[:, :1], t.concepts),
        "fewer than 3 drawings of .* need 3 or more",
    ),
    "all drawings equal": (
        lambda p, d, t: save_npz(p / "a.npz", np.broadcast_to(d[0, 0], d.shape), t.concepts),
        "all 36 drawings are the same image",
    ),
    "NaN": (
        lambda p, d, t: save_npz(p / "a.npz", np.where(np.arange(SIZE) == 3, np.nan, d / 255), t.concepts),
        "without NaN",
    ),
    "numbers beyond 1": (lambda p, d, t: save_npz(p / "a.npz", d / 100, t.concepts), r"must lie in \[0, 1\]"),
    "whole numbers of 64 bits": (
        lambda p, d, t: save_npz(p / "a.npz", d.astype(int), t.concepts),
        "must be uint8, bool",
    ),
    "not square": (lambda p, d, t: save_npz(p / "a.npz", d[..., :20], t.concepts), "32 × 20 px, the exemplars 32 × 32"),
    "tiny": (lambda p, d, t: save_npz(p / "a.npz", d[..., :8, :8], t.concepts), "8 × 8 px are too small"),
    "colour": (
        lambda p, d, t: save_npz(p / "a.npz", np.stack([d, 255 - d, d], axis=-1), t.concepts),
        "have colour: save them with one channel",
    ),
    "files of different sizes": (
        lambda p, d, t: (Image.new("L", (40, 40)).save(save_folder(p, d, t.concepts) / t.concepts[0] / "0.png"), p)[1],
        "different sizes .* --size",
    ),
    "an npz that was cut": (
        lambda p, d, t: ((f := save_npz(p / "a.npz", d, t.concepts)).write_bytes(f.read_bytes()[:2000]), f)[1],
        "cannot be read",
    ),
    "an npz without concepts": (
        lambda p, d, t: (np.savez(p / "a.npz", images=d[0]), p / "a.npz")[1],
        "no array concept",
    ),
    "a record cut off": (
        lambda p, d, t: ((f := own_drawings(t).save(p)).write_bytes(f.read_bytes()[:500]), p)[1],
        "damaged, or no parquet",
    ),
    "drawings of other data": (
        lambda p, d, t: (_changed(own_drawings(t), data="omniglot/weak-test").save(p), p)[1],
        "are of omniglot/weak-test, the task is on glyphs/weak-test",
    ),
    "after other exemplars": (
        lambda p, d, t: (_changed(own_drawings(t), exemplar=own_drawings(t)["exemplar"] + 1).save(p), p)[1],
        "drawn after other exemplars than drawer drawer01",
    ),
    "a record of nothing": (lambda p, d, t: (own_drawings(t).subset([]).save(p), p)[1], "holds no drawings"),
    "a run without drawings": (
        lambda p, d, t: ((p / "config.json").write_text("{}"), p)[1],
        "is a run folder without drawings: give one of exemplar draw score",
    ),
    "a function's file": (
        lambda p, d, t: ((p / "a.py").write_text(""), p / "a.py")[1],
        "is a Python file: name its function too",
    ),
    "two agents": (
        lambda p, d, t: (Drawings.join([own_drawings(t), _changed(own_drawings(t), agent="b")]).save(p), p)[1],
        r"2 agents \(simulated drawers, b\)",
    ),
}


def _changed(record: Drawings, **values: Any) -> Drawings:
    return Drawings.of(**{**{name: record[name] for name in Drawings.COLUMNS}, **values}, image=record.image)


@pytest.mark.parametrize("what", WRONG)
def test_refused_in_one_sentence(what: str, task: DrawingTask, drawn: np.ndarray, tmp_path: Path) -> None:
    make, said = WRONG[what]
    path = make(tmp_path, drawn, task)
    with pytest.raises(UserError, match=said) as problem:
        read_drawings(path, task)
    assert "\n" not in str(problem.value)


def test_files_of_different_sizes_are_read_at_the_size_given(
    task: DrawingTask, drawn: np.ndarray, tmp_path: Path
) -> None:
    folder = save_folder(tmp_path, drawn, task.concepts)
    Image.new("L", (40, 40)).save(folder / task.concepts[0] / "0.png")
    assert read_drawings(folder, task, size=24).image.shape == (36, 24, 24)


def test_anything_that_can_be_called_draws(task: DrawingTask) -> None:
    def shifted(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        assert exemplars.dtype == np.float32 and exemplars.max() == 1 and exemplars.min() == 0
        return np.stack([np.roll(exemplars, rng.integers(-3, 4), axis=2) for _ in range(n)], axis=1)

    drawings = sample_drawings(shifted, task, seed=5)
    assert set(drawings["agent"]) == {"shifted"} and set(drawings["seed"]) == {5} and len(drawings) == 9 * N
    assert drawings == sample_drawings(shifted, task, seed=5)
    assert not np.array_equal(drawings.image, sample_drawings(shifted, task, seed=6).image)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda e, n, rng: e, r"\(9, 32, 32\): \(9, 4, h, w\) is needed"),
        (lambda e, n, rng: np.full((9, n, 32, 32), np.nan), "NaN"),
        (lambda e, n, rng: np.zeros((9, n, 32, 32), int), "must be uint8, bool, or float"),
        (lambda e, n, rng: np.zeros((9, n, 32, 32), bool), "the same image"),
        (lambda e, n, rng: np.zeros((9, n, 4, 4)), "too small"),
        (lambda e, n, rng: 1 / 0, r"failed to draw \(ZeroDivisionError: division by zero\)"),
        (lambda e, n: e, r"failed to draw \(TypeError"),
        (lambda e, n, rng: [[1], [2, 3]], "failed to draw"),
    ],
)
def test_a_function_that_does_not_draw_is_the_users_to_mend(task: DrawingTask, answer: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        sample_drawings(answer, task, agent="mine")
