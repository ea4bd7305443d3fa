"""Cases of learn's measures that can be worked out by hand: what counts how much, and where intervals end."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import numpy as np
import pytest

from exemplar import seeds, stats
from exemplar.errors import UserError
from exemplar.learn import measures
from exemplar.learn.measures.accuracy import learning_curve, rank_correlation, score_accuracy, score_speed
from exemplar.learn.measures.calibrated import Excess, measure_excess
from exemplar.learn.measures.curves import Behaviour, Curves, Repeated, Replicates, repeat
from exemplar.learn.measures.exchanging import _squared_error
from exemplar.learn.measures.individuals import Individuals, complete_individuals, individuality_test
from exemplar.learn.measures.moments import fit_lapse, moments_of, replicate_moments
from exemplar.learn.measures.mse import Null, score_limits, score_mse
from exemplar.learn.measures.noise import (
    Direction,
    covariance_of_counts,
    find_units,
    noise_of_units,
    session_covariance,
)
from exemplar.learn.measures.oneshot import (
    Points,
    count_tests,
    generalization_of,
    interval_about,
    score_points,
    score_tests,
)
from exemplar.learn.measures.phase_null import (
    PRIOR,
    Layout,
    Windows,
    find_differences,
    null_differences,
    session_spread,
)
from exemplar.learn.measures.power import power_to_tell_apart
from exemplar.learn.measures.reading import count_choices
from exemplar.learn.tasks import OneShot
from exemplar.records import Trials


def test_what_holds_arrays_is_frozen_and_equals_itself_alone():
    """Arrays have no single truth: comparing two such records field by field would raise."""
    names = [f"{measures.__name__}.{module.name}" for module in pkgutil.iter_modules(measures.__path__)]
    own = [kind for name in names for kind in vars(importlib.import_module(name)).values()
           if dataclasses.is_dataclass(kind) and kind.__module__ == name]  # fmt: skip
    arrays = ("np.ndarray", "Curves", "UnitGroup")
    holders = [one for one in own if any(name in str(f.type) for f in dataclasses.fields(one) for name in arrays)]
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


# curves and choices


def test_four_choices_stay_four_from_sessions_to_curves_and_smoothed_ones_start_at_a_quarter():
    correct = seeds.rng("four").random((12, 30)) < 0.25
    side = Behaviour(correct, np.repeat(np.arange(2), 6), ("a", "b"), np.tile(np.arange(6), 2).astype(str), 4)
    assert side.curves().chance == 0.25 and side.of(("b",)).curves().chance == 0.25
    smooth = complete_individuals(side).smooth()
    assert smooth.accuracy.shape == (6, 30) and smooth.accuracy[:, 0] == pytest.approx(np.full(6, 0.25), abs=0.1)


def test_nobody_chooses_among_less_than_two():
    def trials(subtask: str, choice: int) -> Trials:
        return Trials.of(agent="a", participant=["p"], subtask=subtask, session="1", trial=[0], phase="train", stimulus="x",
                         choice=choice, correct=[True], timed_out=False)  # fmt: skip

    assert [count_choices(trials(*one)) for one in (("a", 0), ("a", 3), ("a,b,c", 1))] == [2, 4, 3]


def test_who_is_at_chance_on_every_trial_cannot_come_nearer_by_guessing():
    model, people = (Curves(np.full((2, 3), right), np.full(2, 10), ("a", "b")) for right in (5, 8))
    assert float(fit_lapse(moments_of(model, people), "hobj")) == 0


# how sure


def test_the_fourth_moment_of_counts_by_hand():
    """2 of 5 right: 2 · 1 · 3 · 2 / (5 · 4 · 3 · 2) = .1; people who only guess have nothing else."""
    model = session_covariance(sessions([[1, 0], [0, 1], [1, 1], [0, 0]]))
    found = covariance_of_counts(Curves(np.array([[2, 3]]), np.array([5]), ("s0",)), model, 0.0)
    assert found.square == pytest.approx([0.2])
    assert found.sigma[0] == pytest.approx(np.diag([0.24 * 5 / 4] * 2))


def test_beside_a_model_simulated_for_ever_only_people_are_unsure():
    rng = seeds.rng("for ever")
    model, people = (
        behaviour_in_three(rng.random((3 * n, 8)) < accuracy) for n, accuracy in ((20_000, 0.75), (12, 0.65))
    )
    found = measure_excess(model, people)
    a = model.curves().accuracy - 0.5
    theirs = noise_of_units(find_units(people), Direction(a, np.zeros_like(a)))
    assert 0 < found.lapse < 1
    assert found.null_sd == pytest.approx(np.sqrt(2 * theirs.square) / a.size, rel=0.01)
    assert found.null_freedom == pytest.approx(theirs.freedom, rel=0.02)


def behaviour_in_three(correct: np.ndarray) -> Behaviour:
    """Sessions of three subtasks, each by someone else."""
    subtask = np.repeat(np.arange(3), len(correct) // 3)
    return Behaviour(correct, subtask, ("a", "b", "c"), np.arange(len(correct)).astype(str))


@pytest.mark.parametrize(("value", "p"), [(-0.1, 1.0), (0.0, 1.0), (0.1, 0.0)])
def test_without_noise_p_is_decided_by_the_sign(value: float, p: float):
    assert Excess(value, 0.0, 0.0, np.inf, np.inf, 0.0, "people").p == p


def test_the_error_of_people_who_did_everything_is_that_of_their_means():
    correct = seeds.rng("people").random((7, 3, 10)) < 0.7
    side = Behaviour(
        correct.reshape(21, 10), np.tile(np.arange(3), 7), ("a", "b", "c"), np.repeat(np.arange(7), 3).astype(str)
    )
    squared, freedom = _squared_error(side)
    assert squared == pytest.approx(correct.mean(axis=(1, 2)).var(ddof=1) / 7) and freedom == 6


def test_an_interval_leaves_out_a_fortieth_of_the_resamples_and_no_more_may_be_without_a_value():
    drawn = np.linspace(0.4, 0.6, 42)
    drawn[7] = np.nan
    assert interval_about(drawn, 0.5, n=3).lo < 0.5
    for too_few in (drawn[:41], drawn[:20]):
        with pytest.raises(UserError, match=f"in 1 of {len(too_few)} resamples.*give more sessions"):
            interval_about(too_few, 0.5, n=3)


def test_a_models_catch_trials_stay_out_unless_asked_for():
    task = OneShot(n_images=11)
    drawn = task.sample(1, 3, rng=seeds.rng("catch"))
    test_of = np.tile(np.r_[-1, np.zeros(10, int)], 2)
    plain = generalization_of(drawn.answer, drawn, test_of, ("x | 1",))
    assert plain.catch_shown.sum() == 0 and plain.n_correct.tolist() == plain.n_shown.tolist()
    corrected = generalization_of(drawn.answer, drawn, test_of, ("x | 1",), correct_lapses=True)
    assert corrected.catch_shown.tolist() == corrected.catch_correct.tolist() == [2, 2, 2]


def test_one_shot_accuracies_are_means_over_the_levels_of_each_transformation():
    points = Points(np.array([0.9, 0.7, 0.5]), np.full(3, 1e-4), ("blur | 1", "blur | 2", "scale | 1"))
    found = score_tests(points, agent="me", rng=seeds.rng("tests"))
    assert {name: score.value for name, score in found.items()} == pytest.approx(
        {"accuracy": 0.7, "blur": 0.8, "scale": 0.5}
    )
    assert all(score.name == name and score.agent == "me" for name, score in found.items())
    reach = 1.96 * np.sqrt(1e-4 / 2)  # two levels, each with a deviation of .01
    assert found["blur"].ci95 == pytest.approx((0.8 - reach, 0.8 + reach), abs=0.002)
    whole, floor = score_points(points, rng=seeds.rng("points"))
    assert whole.value == pytest.approx(0.7) and floor.value == pytest.approx(0.01) and floor.n == 3


def test_individuals_differ_by_the_variance_of_their_means():
    """Of the 8 ways to deal three subtasks to two people, 2 give all the best ones to one of them."""
    table = np.array([[0.5, 0.6, 0.4], [0.9, 1.0, 0.8]])
    people = Individuals(("a", "b"), ("x", "y", "z"), table, np.zeros((2, 1)))
    found = individuality_test(people, n_permutations=4000, rng=seeds.rng("dealt"))
    assert found.statistic == pytest.approx(0.4**2 / 2) and found.p == pytest.approx(1 / 4, abs=0.03)


def test_a_session_without_a_test_counts_none():
    right, catch = np.array([[True, False, True], [True, True, True]]), np.array([[0, 0, 1], [0, 0, 1]], bool)
    found = count_tests(right, np.array([[0, 1, -1], [-1, -1, -1]]), catch, ("x | 1", "x | 2"))
    assert found.n_correct.tolist() == [[1, 0], [0, 0]] and found.n_shown.tolist() == [[1, 1], [0, 0]]
    assert found.catch_correct.tolist() == found.catch_shown.tolist() == [1, 1]


def test_three_sessions_do_not_tell_how_sessions_vary():
    with pytest.raises(UserError, match="has 3 sessions.*at least 4"):
        session_covariance(sessions([[1, 0], [0, 1], [1, 1]]))


def test_designs_halve_and_quarter_the_subtasks_and_never_have_none():
    rng = seeds.rng("designs")
    model = Behaviour(rng.random((60, 4)) < 0.7, np.repeat(np.arange(2), 30), ("a", "b"), np.arange(60).astype(str))
    found = power_to_tell_apart(model, model, n_people=(5,), n_experiments=2, rng=rng)
    assert [design.n_subtasks for design in found] == [1, 2]


# early and late


def phases_of(model: Behaviour, people: Behaviour) -> tuple[Windows, Layout, tuple[np.ndarray, ...]]:
    along = model.curves().accuracy - 0.5
    windows = Windows(np.array([[0, 2], [4, 6]]), along, float((along**2).sum()), 0.5, 1)
    spread = session_spread(model, windows, 0.0)
    own = windows.means(model)[:, :2] / windows.widths[:2]
    return windows, Layout.of(people), (own, spread / model.n_sessions[:, None], spread)


def test_the_error_of_a_difference_after_lapses_is_that_of_its_influences():
    """By what each session adds to people's accuracy, less what it adds to the model's through the fitted rate."""
    rng = seeds.rng("influences")
    model = Behaviour(rng.random((80, 6)) < 0.9, np.repeat(np.arange(2), 40), ("a", "b"), np.arange(80).astype(str))
    people = Behaviour(
        rng.random((18, 6)) < 0.75, np.repeat(np.arange(2), (6, 12)), ("a", "b"), np.arange(18).astype(str)
    )
    windows, layout, (own, noise, spread) = phases_of(model, people)
    found = find_differences(people, layout, own, noise, spread, windows, True)
    accuracy, a = people.curves().accuracy, windows.along
    keep = ((accuracy - 0.5) * a).sum() / windows.length
    assert 0 < keep < 1 and found.keep == pytest.approx(keep)
    for phase, (start, stop) in enumerate(windows.phases):
        mine, theirs = 0.5 + keep * (own[:, phase].mean() - 0.5), accuracy[:, start:stop].mean()
        assert found.value[phase] == pytest.approx(mine - theirs)
        squared = 0.0
        for subtask, n in enumerate((6, 12)):
            for right in people.correct[people.subtask == subtask] - accuracy[subtask]:
                moves = (own[:, phase].mean() - 0.5) * (right @ a[subtask]) / windows.length
                squared += (right[start:stop].mean() / 2 - moves) ** 2 / n**2 * n / (n - 1)
        prior = sum(spread[s, phase] / n for s, n in enumerate((6, 12))) / 4
        squared = (16 * squared + PRIOR * prior) / (16 + PRIOR)
        assert found.spread[phase] == pytest.approx(squared)
        assert found.error[phase] == pytest.approx(np.sqrt(squared + keep**2 * noise[:, phase].sum() / 4))


@pytest.mark.parametrize("lapse", [0.0, 0.4])
def test_people_who_learn_as_the_model_does_have_its_accuracy_and_lapses(lapse: float):
    """Of two sessions of the first subtask one was right throughout; the second subtask is always right."""
    model = sessions([[1] * 6, [0] * 6], [[1] * 6] * 3)
    windows, layout, (own, noise, spread) = phases_of(model, model)
    found = null_differences(model, layout, own[None], noise, spread, windows, fit=False, lapse=lapse, n_replicates=2000,
                             rng=seeds.rng("as the model"))  # fmt: skip
    expected = 0.5 + (1 - lapse) * (0.75 - 0.5)
    assert found.theirs.mean(axis=0) == pytest.approx([expected, expected], abs=0.02)
    assert found.own.mean(axis=0) == pytest.approx([0.75, 0.75])
