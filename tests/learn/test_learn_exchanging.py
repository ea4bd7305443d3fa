"""p of no difference between two groups, by exchanging their members: by hand, at its level, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from exemplar import seeds
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.measures.exchanging import _welch, compare_accuracy

SUBTASKS = ("a,b", "c,d")


def group(correct: np.ndarray, people: bool = False) -> Behaviour:
    """correct: (n, subtasks, trials); people: whether each did all subtasks, or each session is another's."""
    n, k = correct.shape[:2]
    who = np.repeat(np.arange(n), k) if people else np.arange(n * k)
    return Behaviour(correct.reshape(n * k, -1), np.tile(np.arange(k), n), SUBTASKS[:k], who.astype(str))


@pytest.mark.parametrize("people", [False, True])
def test_two_against_two_by_hand(people: bool) -> None:
    """Of the 6 divisions of four, 2 are as extreme as good, good against bad, bad."""
    good, bad = np.ones((2, 1, 4), bool), np.zeros((2, 1, 4), bool)
    trials = [group(side) for side in (good, bad)]
    if people:  # everybody does a second subtask, in which all are equal
        trials = [group(np.concatenate([side, good], axis=1), True) for side in (good, bad)]
    assert compare_accuracy(*trials, rng=seeds.rng("two")).p == pytest.approx(1 / 3, abs=0.04)


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize(("n", "accuracy"), [((8, 8), 0.8), ((4, 20), 0.97)])
def test_it_rejects_as_often_as_it_says(n: tuple[int, int], accuracy: float, people: bool) -> None:
    rng, p, held = seeds.rng("level", *map(str, n), people), [], []
    for _ in range(300):
        able = [np.clip(accuracy + 0.1 * rng.standard_normal((size, 1 if people else 2, 1)), 0, 1) for size in n]
        sides = [group(rng.random((len(one), 2, 20)) < one, people) for one in able]
        found = compare_accuracy(*sides, n_divisions=200, rng=rng)
        p.append(found.p)
        held.append(found.lo <= 0 <= found.hi)
    assert np.mean(np.array(p) <= 0.05) < 0.085  # 5 % and three standard errors
    assert (np.array(held) == (np.array(p) > 0.05)).all()  # interval and p agree


def test_a_real_difference_is_found_and_equal_groups_have_none() -> None:
    rng = seeds.rng("real")
    sides = [group(rng.random((20, 2, 30)) < accuracy) for accuracy in (0.9, 0.7)]
    found = compare_accuracy(*sides, rng=rng)
    assert found.p < 0.001 and found.by == "sessions" and 0.1 < found.lo < found.value < found.hi < 0.3
    assert compare_accuracy(sides[0], sides[0], rng=rng).p == 1


@pytest.mark.parametrize("people", [False, True])
def test_where_nobody_erred_the_interval_still_has_a_width(people: bool) -> None:
    right = group(np.ones((5, 2, 6), bool), people)
    found = compare_accuracy(right, right, rng=seeds.rng("all right"))
    assert found.p == 1 and found.lo < -0.01 and found.hi > 0.01


def test_the_sides_can_be_turned_around() -> None:
    rng = seeds.rng("turned")
    one, other = (group(rng.random((size, 2, 30)) < 0.8, True) for size in (6, 9))
    there, back = compare_accuracy(one, other, rng=seeds.rng(1)), compare_accuracy(other, one, rng=seeds.rng(1))
    assert there.value == pytest.approx(-back.value) and there.hi == pytest.approx(-back.lo, abs=0.02)


def test_what_cannot_be_exchanged_is_compared_by_welch_s_t() -> None:
    """One session each of one subtask: the textbook's two-sample test; counts and sessions beside participants have a p, too."""
    rng = seeds.rng("welch")
    correct = [rng.random((size, 1, 20)) < accuracy for size, accuracy in ((6, 0.9), (9, 0.7))]
    sides = [group(side) for side in correct]
    expected = ttest_ind(*(side.mean(axis=(1, 2)) for side in correct), equal_var=False)
    found = _welch(*sides)
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (found.lo, found.hi) == pytest.approx((interval.low, interval.high))
    people = group(rng.random((5, 2, 10)) < 0.7, True)
    alone = group(rng.random((5, 2, 10)) < 0.7)
    for first, second in ((people, alone), (people.curves(), alone), (people, alone.curves())):
        mixed = compare_accuracy(first, second, rng=rng)
        assert (
            mixed.by == "t" and mixed.lo < mixed.value < mixed.hi and (mixed.p < 0.05) == (mixed.lo > 0 or mixed.hi < 0)
        )
