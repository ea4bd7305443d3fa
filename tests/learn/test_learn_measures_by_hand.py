"""Cases of learn's measures that can be worked out by hand: what counts how much, and where intervals end."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import numpy as np
import pytest

from exemplar import seeds, stats
from exemplar.learn import measures
from exemplar.learn.measures.accuracy import learning_curve, rank_correlation, score_accuracy, score_speed
from exemplar.learn.measures.curves import Behaviour, Curves, Repeated, Replicates, repeat
from exemplar.learn.measures.moments import fit_lapse, replicate_moments
from exemplar.learn.measures.mse import Null, score_limits, score_mse


def test_what_holds_arrays_is_frozen_and_equals_itself_alone():
    """Arrays have no single truth: comparing two such records field by field would raise."""
    names = [f"{measures.__name__}.{module.name}" for module in pkgutil.iter_modules(measures.__path__)]
    own = [kind for name in names for kind in vars(importlib.import_module(name)).values()
           if dataclasses.is_dataclass(kind) and kind.__module__ == name]  # fmt: skip
    holders = [one for one in own if any("np.ndarray" in str(field.type) for field in dataclasses.fields(one))]
    assert len(holders) >= 15
    for kind in holders:
        assert kind.__eq__ is object.__eq__ and kind.__dataclass_params__.frozen, kind


def sessions(*by_subtask: list[list[int]], who: list[str] | None = None) -> Behaviour:
    """by_subtask: its sessions, each right (1) or wrong (0) on its trials."""
    correct = np.array([one for some in by_subtask for one in some], bool)
    subtask = np.repeat(np.arange(len(by_subtask)), [len(some) for some in by_subtask])
    names = tuple(f"s{place}" for place in range(len(by_subtask)))
    return Behaviour(correct, subtask, names, np.array(who or [str(place) for place in range(len(correct))]))


UNEVEN = sessions([[1, 1], [0, 1]], [[1, 0], [0, 0], [0, 0], [0, 1]])  # two sessions of one subtask, four of another


# what counts how much


def test_subtasks_count_the_same_however_many_sessions_they_have():
    side = repeat(UNEVEN, n_replicates=400, rng=seeds.rng("uneven"))
    assert side.curves.accuracy.tolist() == [[0.5, 1], [0.25, 0.25]]
    curve, accuracy = learning_curve(side), score_accuracy(side)["accuracy"]
    assert curve.value == pytest.approx([0.375, 0.625]) and accuracy.value == 0.5
    drawn = side.replicates.over_subtasks()
    assert drawn.mean(axis=0) == pytest.approx([0.375, 0.625], abs=0.03)
    assert side.replicates.over_trials().mean(axis=0) == pytest.approx([0.75, 0.25], abs=0.03)
    assert accuracy.n == 6


def test_counts_of_sessions_that_vary_are_divided_each_by_its_own():
    """Two replicates of one experiment: 2 of 4 and 3 of 3 sessions right, then 1 of 2 and 1 of 5."""
    counts = np.array([[[2.0], [3]], [[1], [1]]], np.float32)
    drawn = Replicates(counts, np.array([[4, 3], [2, 5]]), "participants")
    assert drawn.over_trials() == pytest.approx(np.array([[0.5, 1], [0.5, 0.2]]))
    assert drawn.over_subtasks() == pytest.approx(np.array([[0.75], [0.35]]))


def test_a_participants_sessions_are_drawn_together():
    """Of two people one is always right and the other never: both subtasks of a resample are right alike."""
    side = sessions([[1], [0]], [[1], [0]], who=["a", "b", "a", "b"])
    drawn = side.resample(200, seeds.rng("together")).over_trials()
    assert (drawn[:, 0] == drawn[:, 1]).all() and set(drawn[:, 0]) == {0, 0.5, 1}


# where intervals end


def test_the_interval_of_the_lapse_rate_leaves_out_a_fortieth_of_the_resamples_on_each_side():
    rng = seeds.rng("lapse interval")
    model, people = (
        Curves(rng.binomial(n, p, (6, 20)), np.full(6, n), tuple("abcdef")) for n, p in ((300, 0.9), (20, 0.8))
    )
    sides = [repeat(side, n_replicates=999, rng=rng) for side in (model, people)]
    score = score_mse(sides[0], sides[1])["lapse_rate"]
    lapses = fit_lapse(replicate_moments(sides[0].replicates, sides[1].replicates, 0.5))
    assert lapses.min() > 0 and lapses.max() < 1
    about = score.value - (lapses - lapses.mean())  # as far on the other side as resamples are from their mean
    assert (np.mean(about < score.ci95[0]), np.mean(about > score.ci95[1])) == pytest.approx((0.025, 0.025), abs=0.001)


def test_a_lapse_rate_and_its_interval_stay_between_0_and_1():
    rng = seeds.rng("lapse ends")
    same = Curves(rng.binomial(30, 0.8, (4, 9)), np.full(4, 30), tuple("abcd"))
    guessing = Curves(np.tile([14, 15, 16], (4, 3)), np.full(4, 30), tuple("abcd"))
    for people, value in ((same, 0.0), (guessing, 1.0)):
        sides = [repeat(side, n_replicates=200, rng=rng) for side in (same, people)]
        score = score_mse(sides[0], sides[1], variant="hobj")["lapse_rate"]
        assert score.value == pytest.approx(value, abs=0.05) and 0 <= score.ci95[0] <= score.ci95[1] <= 1


def test_the_limits_by_hand():
    """Accuracies .5 and 1 of 5 sessions: floor (.25 / 4 + 0) / 2; a guesser errs by (0 + .25) / 2, less the floor in hobj."""
    side = Curves(np.array([[2.5, 5]]), np.array([5]), ("a",))
    drawn = Replicates(np.array([[[2, 5]], [[3, 5]], [[2, 4]]], np.float32), np.array([5]), "trials")
    repeated = Repeated(side, drawn, side)
    paper, hobj = (score_limits(side, repeated, variant=variant) for variant in ("paper", "hobj"))
    assert paper["noise_floor"].value == 0.03125 and paper["root_noise_floor"].value == pytest.approx(0.03125**0.5)
    assert paper["random_guesser_mse_n"].value == 0.125
    assert hobj["random_guesser_mse_n"].value == pytest.approx(0.125 - 0.03125)
    # floors of the three resamples: 2 or 3 of 5 have .24 / 4, 4 of 5 have .16 / 4
    floors = np.array([0.03, 0.03, 0.05])
    ends = stats.interval(floors - floors.mean() + 0.03125, 0.03125, n=5, method="basic")
    assert paper["noise_floor"].ci95 == pytest.approx((ends.lo, ends.hi))
    guesses = np.array([(0.01 + 0.25) / 2, (0.01 + 0.25) / 2, (0.01 + 0.09) / 2])
    for found, drawn_guesses, value in (
        (paper, guesses, 0.125), (hobj, guesses - floors, 0.09375),
    ):  # fmt: skip
        ends = stats.interval(drawn_guesses - drawn_guesses.mean() + value, value, n=5, method="basic")
        assert found["random_guesser_mse_n"].ci95 == pytest.approx((ends.lo, ends.hi))


def test_p_counts_what_is_as_large_and_the_observed_itself():
    null = Null(np.array([1.0, 2, 2, 3]), "paper", "sessions")
    assert [null.p(value) for value in (0.5, 2.0, 2.5, 9.0)] == [1, 4 / 5, 2 / 5, 1 / 5]


def test_windows_of_trials_by_hand():
    """One subtask in which trial t is right in t of 20 sessions: every window's accuracy is the mean of its numbers / 20."""
    side = Curves(np.arange(1, 13)[None], np.array([20]), ("a",))
    found = score_accuracy(repeat(side, n_replicates=50, rng=seeds.rng("windows")))
    assert {name: score.value * 20 for name, score in found.items()} == pytest.approx(
        {"accuracy": 6.5, "early": 3, "late": 9.5, "trial_2": 2, "trial_12": 12, "hardest_tenth": 6.5}
    )


def test_the_hardest_tenth_of_twenty_subtasks_are_two():
    rates = np.arange(20)[::-1]
    side = Curves(np.tile(rates[:, None], (1, 3)), np.full(20, 20), tuple(f"s{k}" for k in range(20)))
    assert score_accuracy(repeat(side, n_replicates=50, rng=seeds.rng("hardest")))[
        "hardest_tenth"
    ].value == pytest.approx(0.5 / 20)


def test_nobody_who_errs_leaves_wilsons_interval_of_the_sessions():
    side = Curves(np.full((2, 3), 4), np.full(2, 4), ("a", "b"))
    found = score_accuracy(repeat(side, n_replicates=50, rng=seeds.rng("wilson")))
    wilson, half = stats.proportion(8, 8), stats.proportion(4, 4)
    assert found["accuracy"].ci95 == (wilson.lo, wilson.hi) and found["hardest_tenth"].ci95 == (half.lo, half.hi)


def test_a_criterion_that_resamples_never_reach_comes_after_the_end_of_the_session():
    side = Curves(np.array([[2, 3]]), np.array([4]), ("a",))  # .75 on the last of two trials
    drawn = Replicates(np.array([[[3, 4]]] * 90 + [[[0, 1]]] * 10, np.float32), np.array([4]), "trials")
    found = score_speed(Repeated(side, drawn, side))
    assert found["examples_to_75"].value == 1 and found["examples_to_75"].ci95 == (0, 2)


def test_rank_correlation_shares_ranks_among_equals():
    rows = np.array([[1.0, 1, 2], [3, 3, 3]])
    found = rank_correlation(rows, np.array([[5.0, 6, 7], [1, 2, 3]]))
    assert found[0] == pytest.approx(np.sqrt(3) / 2) and np.isnan(found[1])
