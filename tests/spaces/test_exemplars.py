"""Exemplars: the most central image of each concept, a drawer's, or any."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.exemplars import central_exemplars, drawer_exemplars, random_exemplars


def concepts(seed: int, n: int = 60, n_concepts: int = 7, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = seeds.rng("exemplars", seed)
    labels = rng.permutation(np.concatenate([np.arange(n_concepts), rng.integers(0, n_concepts, n - n_concepts)]))
    return rng.normal(size=(n, d)), labels


def test_the_one_nearest_to_the_mean_by_hand() -> None:
    features = np.array([[0.0, 0.0], [9.0, 9.0], [4.0, 0.0], [1.0, 0.0], [9.0, 7.0], [9.0, 5.0]])
    labels = np.array([0, 1, 0, 0, 1, 1])  # means (5/3, 0) and (9, 7)
    assert central_exemplars(features, labels).tolist() == [3, 4]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**20))
def test_central_is_what_a_loop_over_concepts_finds(seed: int) -> None:
    features, labels = concepts(seed)
    expected = []
    for concept in range(7):
        rows = np.flatnonzero(labels == concept)
        distance = np.linalg.norm(features[rows] - features[rows].mean(axis=0), axis=1)
        nearest = rows[distance <= distance.min() * (1 + 1e-9)]  # two images are equally far from their mean
        expected.append(nearest.min())
    np.testing.assert_array_equal(central_exemplars(features, labels), expected)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**20), scale=st.floats(1e-3, 1e3))
def test_turning_moving_and_scaling_a_space_changes_no_exemplar(seed: int, scale: float) -> None:
    features, labels = concepts(seed)
    rng = seeds.rng("turn", seed)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    moved = scale * (features @ turn + rng.normal(size=5))
    np.testing.assert_array_equal(central_exemplars(moved, labels), central_exemplars(features, labels))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**20))
def test_the_exemplar_is_the_same_image_in_any_order_of_images(seed: int) -> None:
    labels = np.arange(60) % 7  # at least 8 of each: no ties
    features = concepts(seed)[0]
    order = seeds.rng("order", seed).permutation(60)
    np.testing.assert_array_equal(
        order[central_exemplars(features[order], labels[order])], central_exemplars(features, labels)
    )


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**20), dtype=st.sampled_from([np.float32, np.float64]))
def test_of_equal_images_the_first_is_taken(seed: int, dtype: type) -> None:
    rng = seeds.rng("ties", seed)
    pair: np.ndarray = (
        rng.normal(size=(2, 300)).astype(dtype) * 100
    )  # both are equally far from their mean, but for rounding
    assert central_exemplars(pair, np.zeros(2, int)).tolist() == [0]
    copies: np.ndarray = np.repeat(rng.normal(size=(1, 300)).astype(dtype), 9, axis=0)
    assert central_exemplars(copies, np.zeros(9, int)).tolist() == [0]


def test_a_drawer_s_exemplars() -> None:
    labels, makers = np.array([0, 1, 0, 1, 1]), np.array([4, 4, 5, 5, 5])
    assert drawer_exemplars(labels, makers, 4).tolist() == [0, 1]
    assert drawer_exemplars(labels, makers, 5).tolist() == [2, 3]
    with pytest.raises(UserError, match="nothing for 2 of the 2 concepts"):
        drawer_exemplars(labels, makers, 6)
    with pytest.raises(UserError, match="nothing for 1 of the 2 concepts"):
        drawer_exemplars(labels, np.array([4, 5, 4, 5, 5]), 4)


def test_random_exemplars_are_of_their_concept_repeat_and_favour_none() -> None:
    labels = np.array([1, 0, 1, 0, 1, 0, 0])
    rows = np.stack([random_exemplars(labels, rng=seeds.rng("random", k)) for k in range(4000)])
    assert (labels[rows] == [0, 1]).all()
    np.testing.assert_array_equal(rows[7], random_exemplars(labels, rng=seeds.rng("random", 7)))
    share = np.bincount(rows.ravel(), minlength=7) / len(rows)
    np.testing.assert_allclose(share, np.where(labels == 0, 1 / 4, 1 / 3), atol=0.04)  # 5 standard errors


def test_mistakes_are_told_in_a_sentence() -> None:
    features, labels = concepts(0)
    with pytest.raises(UserError, match="NaN"):
        central_exemplars(np.where(features > 2, np.nan, features), labels)
    with pytest.raises(UserError, match="for 60 labels"):
        central_exemplars(features[:-1], labels)
    with pytest.raises(UserError, match="without gaps"):
        central_exemplars(features, labels + 1)
    with pytest.raises(UserError, match="whole numbers"):
        random_exemplars(labels.astype(float), rng=seeds.rng("x"))
    with pytest.raises(UserError, match="whole numbers"):
        random_exemplars(labels[:0], rng=seeds.rng("x"))
    with pytest.raises(UserError, match="one maker per image"):
        drawer_exemplars(labels, labels[:-1], 0)
