"""p of no difference between two groups, by exchanging their members: by hand, at its level, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from exemplar import seeds
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.measures.exchanging import exchange_p

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
    assert exchange_p(*trials, rng=seeds.rng("two")) == pytest.approx(1 / 3, abs=0.04)


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize(("n", "accuracy"), [((8, 8), 0.8), ((4, 20), 0.97)])
def test_it_rejects_as_often_as_it_says(n: tuple[int, int], accuracy: float, people: bool) -> None:
    rng, p = seeds.rng("level", *map(str, n), people), []
    for _ in range(300):
        able = [np.clip(accuracy + 0.1 * rng.standard_normal((size, 1 if people else 2, 1)), 0, 1) for size in n]
        sides = [group(rng.random((len(one), 2, 20)) < one, people) for one in able]
        p.append(exchange_p(*sides, n_divisions=200, rng=rng))
    assert np.mean(np.array(p, float) <= 0.05) < 0.085  # 5 % and three standard errors


def test_a_real_difference_is_found_and_equal_groups_have_none() -> None:
    rng = seeds.rng("real")
    sides = [group(rng.random((20, 2, 30)) < accuracy) for accuracy in (0.9, 0.7)]
    found = exchange_p(*sides, rng=rng)
    assert found is not None and found < 0.001
    assert exchange_p(sides[0], sides[0], rng=rng) == 1


def test_without_sessions_or_with_unlike_ones_there_is_none() -> None:
    correct = seeds.rng("unlike").random((5, 2, 10)) < 0.7
    assert exchange_p(group(correct).curves(), group(correct), rng=seeds.rng(0)) is None
    assert exchange_p(group(correct), group(correct, True), rng=seeds.rng(0)) is None
