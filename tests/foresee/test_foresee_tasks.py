"""Banks of features and the tasks drawn from them: formats, ragged classes, imbalance, and everything that is refused."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar.errors import UserError
from exemplar.foresee import FeatureBank, TaskConfig, join_banks, read_bank, sample_tasks


@given(
    st.integers(2, 5),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 999),
    st.sampled_from([None, 0.05, 0.5, 0.9]),
)
@settings(max_examples=40, deadline=None)
def test_tasks_hold_distinct_samples_of_the_classes_they_name(ways, shots, queries, seed, proportion):
    counts = np.array([40, 35, 60, 41, 38, 50])
    config = TaskConfig(ways, shots, queries, "semi", proportion=proportion)
    tasks = sample_tasks(counts, config, 7, rng=np.random.default_rng(seed))
    of_row = np.repeat(np.arange(6), counts)
    assert len(tasks) == 7 and all(len(set(row)) == ways for row in tasks.classes.tolist())
    for k in range(7):
        rows = np.concatenate([tasks.support[k], tasks.queries[k]])
        labels = np.concatenate([tasks.labels[k], tasks.truth[k]])
        assert len(set(rows.tolist())) == len(rows)
        assert np.array_equal(of_row[rows], tasks.classes[k][labels])
        assert np.bincount(tasks.labels[k], minlength=ways).tolist() == [shots] * ways


def test_every_sample_is_as_likely_to_be_drawn_as_any_other():
    tasks = sample_tasks(np.full(4, 12), TaskConfig(2, 2, 3), 4000, rng=np.random.default_rng(0))
    support, queries = (np.bincount(rows.ravel(), minlength=48) for rows in (tasks.support, tasks.queries))
    assert abs(support / support.mean() - 1).max() < 0.2 and abs(queries / queries.mean() - 1).max() < 0.2


def test_one_class_keeps_its_share_and_the_others_divide_the_rest():
    """As the authors: int(p · N · Q) of class 0, the rest divided equally."""
    tasks = sample_tasks(np.full(5, 300), TaskConfig(5, 5, 50, proportion=0.9), 3, rng=np.random.default_rng(0))
    assert [np.bincount(row).tolist() for row in tasks.truth] == [[225, 6, 6, 6, 6]] * 3


def test_shares_by_dirichlet_vary_and_add_up():
    tasks = sample_tasks(np.full(5, 300), TaskConfig(5, 5, 20, dirichlet=0.5), 50, rng=np.random.default_rng(0))
    assert tasks.truth.shape == (50, 100)
    assert len({tuple(np.bincount(row, minlength=5)) for row in tasks.truth}) > 40


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"ways": 1}, "at least 2 classes"),
        ({"shots": 0}, "at least 1 labelled sample"),
        ({"setting": "lazy"}, "there is no setting 'lazy'"),
        ({"proportion": 1.0}, "between 0 and 1"),
        ({"dirichlet": -1.0}, "above 0"),
        ({"proportion": 0.5, "dirichlet": 1.0}, "not both"),
    ],
)
def test_what_cannot_be_asked_is_refused(config, sentence):
    with pytest.raises(UserError, match=sentence):
        TaskConfig(**config)


def test_too_few_samples_are_refused_and_classes_with_enough_are_used():
    with pytest.raises(UserError, match="5 classes of at least 35 samples, there are 2 of 4"):
        sample_tasks(np.array([40, 50, 3, 4]), TaskConfig(), 3, rng=np.random.default_rng(0))
    tasks = sample_tasks(np.array([40, 2, 50, 36]), TaskConfig(ways=3), 5, rng=np.random.default_rng(0))
    assert 1 not in tasks.classes


def test_features_come_in_several_forms(tmp_path: Path):
    x = np.random.default_rng(0).random((4, 6, 5)) + 0.1
    np.savez(tmp_path / "classes.npz", features=x)
    order = np.random.default_rng(1).permutation(24)
    np.savez(tmp_path / "rows.npz", features=x.reshape(24, 5)[order], label=np.repeat(np.arange(4), 6)[order])
    np.savez(tmp_path / "text.npz", features=x.reshape(24, 5), concept=np.repeat(["a", "b", "c", "d"], 6))
    first, second, third = (read_bank(tmp_path / f"{name}.npz") for name in ("classes", "rows", "text"))
    np.testing.assert_allclose(np.linalg.norm(first.rows, axis=1), 1, atol=1e-6)
    assert first.n_classes == second.n_classes == third.n_classes == 4 and third.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(third.rows, first.rows)
    assert {tuple(row) for row in second.rows.tolist()} == {tuple(row) for row in first.rows.tolist()}
    assert join_banks([first, third]).n_classes == 8 and first.only([2]).counts.tolist() == [6]
    assert first.first(2).counts.tolist() == [2] * 4 and first.fingerprint == third.fingerprint != second.fingerprint


@pytest.mark.parametrize("kind", [dict, OrderedDict, "defaultdict", list])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_the_authors_feature_files_are_read(tmp_path: Path, kind, protocol):
    x = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
    content = [list(samples) for samples in x]
    if kind is not list:
        named = {number: list(samples) for number, samples in enumerate(x)}
        content = defaultdict(list, named) if kind == "defaultdict" else kind(named)
    (tmp_path / "output.plk").write_bytes(pickle.dumps(content, protocol=protocol))
    bank = read_bank(tmp_path / "output.plk")
    expected = x.reshape(12, 5) / np.linalg.norm(x.reshape(12, 5), axis=1, keepdims=True)
    np.testing.assert_allclose(bank.rows, expected, atol=1e-6)


class Malice:
    def __reduce__(self):
        return (os.system, ("echo run",))


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path):
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps({0: Malice()}))
    with pytest.raises(UserError, match="asks for .*system, and only lists, dicts and arrays are read"):
        read_bank(tmp_path / "evil.pkl")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "cannot be read as a feature file"),
        (b"nonsense", "cannot be read as a feature file"),
        (pickle.dumps(5), "holds a int"),
    ],
)
def test_a_damaged_feature_file_is_refused(tmp_path: Path, content: bytes, sentence: str):
    (tmp_path / "bad.pkl").write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        read_bank(tmp_path / "bad.pkl")


def test_features_that_have_no_direction_are_refused_and_negative_ones_explained():
    x = np.ones((2, 3, 4))
    for value, sentence in ((np.nan, "1 of 6 samples have features that are NaN"), (np.inf, "NaN or infinite")):
        bad = x.copy()
        bad[1, 0, 2] = value
        with pytest.raises(UserError, match=sentence):
            FeatureBank.of(bad)
    bad = x.copy()
    bad[1, 2] = 0
    with pytest.raises(UserError, match="1 of 6 samples have features that are all 0, .* the first is sample 5"):
        FeatureBank.of(bad)
    good = np.random.default_rng(0).random((2, 3, 4))
    assert (
        FeatureBank.of(good).warnings == () and "cosines then range from −1 to 1" in FeatureBank.of(-good).warnings[0]
    )
    assert "nearly the same direction" in FeatureBank.of(x + 0.001 * good).warnings[0]
    assert np.isfinite(FeatureBank.of(x * 1e300).rows).all() and np.isfinite(FeatureBank.of(x * 1e-300).rows).all()


@pytest.mark.parametrize("bad", [np.ones((3, 4)), [np.ones((2, 3)), np.ones((2, 4))], [], "text"])
def test_what_is_no_bank_is_refused(bad):
    with pytest.raises(UserError):
        FeatureBank.of(bad) if not isinstance(bad, str) else read_bank(Path("nowhere.npz"))
