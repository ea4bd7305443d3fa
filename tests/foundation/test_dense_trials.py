"""Trials kept as arrays: the table that follows from them, bit by bit, and refusal of arrays that do not belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar.dense_trials import FILE, DenseTrials
from exemplar.errors import UserError
from exemplar.records import Trials


def by_hand(**changed: Any) -> DenseTrials:
    """Two subtasks, two sessions each, three trials of three images: 12 trials, no whole number of bytes."""
    given: dict[str, Any] = {
        "agent": "square",
        "subtasks": ("dog,cat", "cup,hat"),
        "images": np.array([["i3", "i1", "i2"], ["i9", "i3", "i8"]]),
        "phase": np.array(["train", "train", "test"]),
        "shown": np.array([[[0, 1, 2], [2, 1, 0]], [[1, 1, 0], [2, 0, 0]]], np.uint16),
        "choice": np.array([[[0, 1, 1], [1, 0, 0]], [[1, 1, 1], [0, 0, 1]]], np.int8),
        "correct": np.array([[[1, 0, 0], [1, 1, 0]], [[0, 0, 1], [1, 0, 1]]], bool),
        "n_choices": 2,
    }
    return DenseTrials(**(given | changed))


def same(a: DenseTrials, b: DenseTrials) -> bool:
    arrays = ("images", "phase", "shown", "choice", "correct", "tests")
    plain = ("agent", "subtasks", "n_choices", "named")
    return all(getattr(a, name) == getattr(b, name) for name in plain) and all(
        np.array_equal(x, y) and getattr(x, "dtype", 0) == getattr(y, "dtype", 0)
        for x, y in ((getattr(a, name), getattr(b, name)) for name in arrays)
    )


def test_the_table_has_a_row_for_each_trial_of_each_session():
    table = by_hand().table()
    assert table["agent"].tolist() == ["square"] * 12
    assert table["session"].tolist() == table["participant"].tolist() == [f"{k // 3}" for k in range(12)]
    assert table["subtask"].tolist() == ["dog,cat"] * 6 + ["cup,hat"] * 6
    assert table["trial"].tolist() == [0, 1, 2] * 4
    assert table["phase"].tolist() == ["train", "train", "test"] * 4
    assert table["stimulus"].tolist() == ["i3", "i1", "i2", "i2", "i1", "i3", "i3", "i3", "i9", "i8", "i9", "i9"]
    assert table["choice"].tolist() == [0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1]
    assert table["correct"].tolist() == [bool(k) for k in (1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1)]
    assert not table["timed_out"].any() and table["reaction_time_ms"].isna().all()


def test_sessions_sort_as_they_are_numbered():
    many = by_hand(**{name: np.repeat(getattr(by_hand(), name), 6, axis=1) for name in ("shown", "choice", "correct")})
    sessions = list(dict.fromkeys(many.table()["session"]))
    assert sessions == sorted(sessions) == [f"{k:02d}" for k in range(24)]


@settings(deadline=None, max_examples=20)
@given(
    n_choices=st.sampled_from([2, 3, 4]),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5)),
    n_images=st.sampled_from([1, 256, 257]),
    tests=st.booleans(),
    named=st.booleans(),
    seed=st.integers(0, 99),
)
def test_what_was_saved_comes_back(tmp_path_factory, n_choices, sizes, n_images, tests, named, seed):
    """The last of 256 images still fits a byte, that of 257 does not."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, n_images, sizes).astype(np.uint16)
    shown.flat[0] = n_images - 1
    dense = DenseTrials(
        agent="a",
        subtasks=tuple(f"s{k}" for k in range(sizes[0])),
        images=np.array([[f"{k}-{n}" for n in range(n_images)] for k in range(sizes[0])]),
        phase=np.array([f"p{k}" for k in range(sizes[2])]),
        shown=shown,
        choice=rng.integers(0, n_choices, sizes).astype(np.int8),
        correct=rng.random(sizes) < 0.5,
        n_choices=n_choices,
        tests=np.full((sizes[0], n_images), "t") if tests else None,
        named=named,
    )
    folder = tmp_path_factory.mktemp("dense")
    assert dense.save(folder) == folder / FILE
    assert same(DenseTrials.load(folder), dense)


def test_a_bit_is_all_that_two_keys_take(tmp_path):
    with np.load(by_hand().save(tmp_path)) as kept:
        assert kept["second"].nbytes == kept["right"].nbytes == 2 and kept["shown"].nbytes == 12


@pytest.mark.parametrize(
    "changed",
    [
        {"choice": np.zeros((2, 2, 2), np.int8)},
        {"choice": np.zeros((2, 2, 4), np.int8)},
        {"correct": np.zeros((2, 1, 3), bool)},
        {"subtasks": ("dog,cat",)},
        {"subtasks": ("a", "b", "c")},
        {"images": np.array([["a", "b", "c"]])},
        {"images": np.array([["a", "b", "c"]] * 3)},
        {"phase": np.array(["train", "test"])},
        {"phase": np.array(["train"] * 4)},
        {"tests": np.array([["", "x"]] * 2)},
        {"tests": np.array([["", "x", "", ""]] * 2)},
    ],
)
def test_arrays_of_different_sizes_are_refused(changed):
    with pytest.raises(UserError, match="do not belong"):
        by_hand(**changed)


def test_sizes_are_those_of_the_message():
    with pytest.raises(
        UserError, match=r"choices \(2, 2, 3\) of \(2, 2, 3\) trials, 1 names and images \(2, 3\) do not belong"
    ):
        by_hand(subtasks=("dog,cat",))
    with pytest.raises(UserError, match=r"phases \(2,\) and tests do not belong to 3 trials: give as many"):
        by_hand(phase=np.array(["train", "test"]))


def rewritten(folder: Path, **changed: np.ndarray) -> Path:
    path = by_hand().save(folder)
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files}
    np.savez(path, **(arrays | changed))
    return folder


@pytest.mark.parametrize(
    "changed",
    [
        {"agent": np.array(["a", "b"])},
        {"named": np.array([True, False])},
        {"right": np.zeros(1, np.uint8)},
        {"right": np.zeros(3, np.uint8)},
        {"second": np.zeros(1, np.uint8)},
        {"shown": np.full((2, 2, 3), 3, np.uint8)},
        {"shown": np.zeros((2, 0, 3), np.uint8), "right": np.zeros(0, np.uint8), "second": np.zeros(0, np.uint8)},
        {"subtasks": np.array(["same", "same"])},
        {"subtasks": np.array(["a", "b", "c"])},
        {"n_choices": np.array([3]), "choice": np.full((2, 2, 3), 3, np.int8)},
        {"n_choices": np.array([3]), "choice": np.full((2, 2, 3), -1, np.int8)},
        {"n_choices": np.array([3]), "choice": np.full((2, 2, 1), 1, np.int8)},
    ],
)
def test_a_file_whose_arrays_do_not_belong_together_is_refused(tmp_path, changed):
    assert same(DenseTrials.load(rewritten(tmp_path)), by_hand())
    with pytest.raises(UserError, match="has arrays that do not belong together: run it again"):
        DenseTrials.load(rewritten(tmp_path, **changed))


def test_every_choice_up_to_the_last_is_one(tmp_path):
    three = rewritten(tmp_path, n_choices=np.array([3]), choice=np.full((2, 2, 3), 2, np.int8))
    assert DenseTrials.load(three).choice.max() == 2


def test_trials_are_read_from_arrays_or_from_the_table(tmp_path):
    dense = by_hand()
    dense.save(tmp_path)
    assert Trials.load(tmp_path) == dense.table()
    with pytest.raises(UserError, match="there is no file"):
        Trials.load(tmp_path, "trials")  # this file, and no other
    table = replace(dense, agent="other").table()
    table.save(tmp_path)
    assert Trials.load(tmp_path) == Trials.load(tmp_path, "trials") == table
