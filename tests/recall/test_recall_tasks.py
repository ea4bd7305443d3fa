"""Tasks keep the specification: numbering, labels, samples, hashes; the same from any order; wrong numbers refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exemplar as ex
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.recall.frozen import FROZEN
from exemplar.recall.rules import find_violation
from exemplar.recall.suites import load_suite, make_suite
from exemplar.recall.tasks import TYPES, TaskShape, sample_indices


def toy(n_classes: int = 40, n_each: int = 12) -> ConceptSet:
    """Images that are their own row number."""
    n = n_classes * n_each
    images = np.zeros((n, 2, 2), np.uint8)
    images[:, 0, 0], images[:, 0, 1] = np.arange(n) % 256, np.arange(n) // 256
    return ConceptSet.of("toy", images, [str(k % n_classes) for k in range(n)])


@pytest.fixture(scope="module")
def data() -> ConceptSet:
    return toy()


shapes = st.builds(
    lambda groups, cci, ways, shots, targets, overwrite, policy: TaskShape(groups * cci, ways, shots, targets, cci, overwrite, policy),
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.integers(1, 2), st.integers(1, 2), st.booleans(),
    st.sampled_from(("strict", "unseen")),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(shapes, st.integers(0, 5))
def test_whatever_is_made_keeps_every_rule(shape: TaskShape, seed: int) -> None:
    suite, _ = make_suite(toy(), shape, 4, seed)
    assert find_violation(suite) is None
    assert suite.n_unique == len(suite) == 4
    assert suite.target_label.max() < shape.n_labels and suite.support_label.min() == 0


def test_a_task_depends_on_seed_and_number_alone(data: ConceptSet) -> None:
    shape = TaskShape(nss=4, cci=2)
    rows = np.stack([data.rows(name) for name in data.concepts]).astype(np.int32)
    counts = np.full(data.n_concepts, 12)
    whole = sample_indices(shape, rows, counts, np.arange(600), 3)
    backwards = sample_indices(shape, rows, counts, np.arange(600)[::-1], 3)
    assert np.array_equal(whole.support, backwards.support[::-1]) and np.array_equal(
        whole.target, backwards.target[::-1]
    )
    one = sample_indices(shape, rows, counts, np.array([417]), 3)
    assert np.array_equal(one.support[0], whole.support[417])
    other = sample_indices(shape, rows, counts, np.arange(600), 4)
    assert not np.array_equal(whole.support, other.support)


def test_every_class_and_every_sample_is_drawn_equally_often(data: ConceptSet) -> None:
    """Chi-square of 4,000 tasks, classes and samples; it fails by luck once in a thousand seeds."""
    from scipy.stats import chi2

    suite, _ = make_suite(data, TaskShape(nss=2, ways=5, shots=1, targets=1), 4000, 0)
    for counted, n in ((suite.class_of_row[suite.support], data.n_concepts), (suite.support, len(data))):
        found = np.bincount(counted.reshape(-1), minlength=n)
        expected = found.sum() / n
        assert ((found - expected) ** 2 / expected).sum() < chi2.ppf(0.999, n - 1)


def test_sets_of_a_task_by_hand() -> None:
    """NSS 4, CCI 2, 2 ways: labels 0 1 | 0 1 | 2 3 | 2 3, or 0 1 in every set with overwrite."""
    shape = TaskShape(nss=4, ways=2, cci=2)
    assert shape.labels().tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert replace(shape, overwrite=True).labels().tolist() == [[0, 1]] * 4
    assert (shape.n_labels, shape.n_classes, shape.n_groups) == (4, 4, 2)
    assert replace(shape, overwrite=True).n_labels == 2


def test_supply_follows_the_policy() -> None:
    """The facts: strict needs CCI · (K_S + K_T) samples of a class, unseen CCI · K_S + K_T."""
    assert TaskShape(nss=10, cci=10, policy="strict").n_samples == 60
    assert TaskShape(nss=10, cci=10, policy="unseen").n_samples == 15


def test_with_unseen_targets_repeat_and_are_counted(data: ConceptSet) -> None:
    suite, _ = make_suite(data, TaskShape(nss=3, cci=3, targets=2, policy="unseen"), 5, 0)
    assert suite.repeated_targets() == 5 * 2 * 5 * 2  # two more sets of 5 ways × 2 targets, in each of 5 tasks
    strict, _ = make_suite(data, TaskShape(nss=3, cci=3, targets=2), 5, 0)
    assert strict.repeated_targets() == 0


def test_one_set_is_the_same_task_whatever_overwrite_says(data: ConceptSet) -> None:
    one, _ = make_suite(data, TaskShape(nss=1, cci=1, overwrite=False), 20, 0)
    other, _ = make_suite(data, TaskShape(nss=1, cci=1, overwrite=True), 20, 0)
    assert one.digest == other.digest and one.sha256.tolist() == other.sha256.tolist()
    several, _ = make_suite(data, TaskShape(nss=2, cci=1, overwrite=False), 20, 0)
    again, _ = make_suite(data, TaskShape(nss=2, cci=1, overwrite=True), 20, 0)
    assert several.digest != again.digest


def test_the_hash_knows_sets_but_not_the_order_within_them(data: ConceptSet) -> None:
    from exemplar.recall.suites import _replaced

    suite, _ = make_suite(data, TaskShape(nss=3), 3, 0)
    turned = _replaced(suite, support=suite.support[..., ::-1], support_label=suite.support_label[..., ::-1])
    assert turned.hash_tasks().tolist() == suite.sha256.tolist()
    swapped = _replaced(suite, support=suite.support[:, ::-1], support_label=suite.support_label[:, ::-1])
    assert swapped.hash_tasks()[0] != suite.sha256[0]


def test_a_suite_is_read_as_it_was_written(data: ConceptSet, tmp_path: Any) -> None:
    suite, _ = make_suite(data, TYPES["new-classes-and-samples"], 7, 1)
    suite.save(tmp_path / "suite.npz")
    there = load_suite(tmp_path / "suite.npz")
    assert there.digest == suite.digest and there.shape == suite.shape and find_violation(there) is None
    suite.save(tmp_path / "again.npz")
    assert (tmp_path / "suite.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_few_distinct_tasks_are_told_by_number() -> None:
    with pytest.raises(UserError, match="600 distinct tasks were asked for, toy gave"):
        make_suite(toy(n_classes=2, n_each=2), TaskShape(nss=1, ways=2, shots=1, targets=1), 600, 0)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        (dict(nss=3, cci=2), "NSS 3 is no multiple of CCI 2"),
        (dict(nss=2, cci=4), "CCI 4 is larger than NSS 2"),
        (dict(nss=0), "nss must be a whole number of at least 1"),
        (dict(policy="loose"), "there is no policy 'loose'"),
        (dict(ways=True), "ways must be a whole number"),
    ],
)
def test_numbers_that_make_no_task_are_refused(numbers: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        TaskShape(**numbers)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (TaskShape(nss=9, ways=5), "a task needs 45 classes, toy has 40: lower --ways or --nss, or raise --cci"),
        (
            TaskShape(nss=3, cci=3, targets=5),
            "a task needs 5 classes of 18 samples, toy has 0 such classes, the largest has 12",
        ),
        (TaskShape(nss=3, cci=3, targets=5), "or use --policy unseen, which needs 8"),
    ],
)
def test_too_few_classes_or_samples_say_how_many_and_which_knob_helps(
    data: ConceptSet, shape: TaskShape, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        make_suite(data, shape, 10, 0)


def test_classes_with_too_few_samples_are_left_out() -> None:
    images = np.arange(60, dtype=np.uint8).reshape(60, 1, 1)
    uneven = ConceptSet.of("uneven", images, ["a"] * 20 + ["b"] * 20 + ["c"] * 18 + ["d"] * 2)
    suite, _ = make_suite(uneven, TaskShape(nss=1, ways=3, targets=2), 50, 0)
    assert find_violation(suite) is None and 3 not in suite.class_of_row[suite.support]


@pytest.mark.parametrize("kind", sorted(TYPES))
@pytest.mark.parametrize("name", sorted(FROZEN))
def test_frozen_suites_are_made_again_byte_for_byte(name: str, kind: str, real_data: Any) -> None:
    family, _, split = name.partition("/")
    real_data(family)
    suite, _ = make_suite(ex.load(family, split), TYPES[kind], 600, 0)
    assert suite.digest == FROZEN[name][kind] and suite.n_unique == 600
    assert find_violation(suite) is None
