"""The calibrated null test and interval of MSE_n: by hand, without bias, indifferent to what must not matter, at its level."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import engine, seeds
from exemplar.errors import UserError
from exemplar.learn.measures.calibrated import Excess, can_measure, measure_excess
from exemplar.learn.measures.curves import Behaviour, repeat
from exemplar.learn.measures.moments import moments_of, mse_n
from exemplar.learn.measures.mse import noise_floor, score_mse
from exemplar.learn.measures.noise import (
    Direction,
    covariance_of_counts,
    find_units,
    noise_of_sessions,
    noise_of_units,
    session_covariance,
    trace_with,
)
from exemplar.learn.studies.interval_coverage import simulate_coverage
from exemplar.learn.studies.null_tests import NullJob, reject, simulate_null
from exemplar.learn.studies.simulated_learners import Population, true_curves, true_excess
from exemplar.runs import open_run


def behaviour(right: np.ndarray, who: np.ndarray | None = None) -> Behaviour:
    """right: (subtasks, sessions, trials)."""
    n_subtasks, n, n_trials = right.shape
    names = tuple(f"s{k}" for k in range(n_subtasks))
    people = np.arange(n_subtasks * n) if who is None else np.tile(who, n_subtasks)
    return Behaviour(right.reshape(-1, n_trials), np.repeat(np.arange(n_subtasks), n), names, people.astype(str))


def coins(*shape: int, seed: object = 0, p: float = 0.7) -> np.ndarray:
    return seeds.rng("coins", seed).random(shape) < p


def nowhere(shape: tuple[int, int]) -> Direction:
    return Direction(np.zeros(shape), np.zeros(shape))


# squared covariances


def every_pair(values: np.ndarray) -> float:
    """tr Σ² without bias, by the definition: products of pairs of differences over all choices of four sessions."""
    total, count = 0.0, 0
    for first, second, third, fourth in itertools.permutations(values, 4):
        total += ((first - second) @ (third - fourth)) ** 2 / 4
        count += 1
    return total / count


@pytest.mark.parametrize("n", [4, 5, 7])
def test_squared_covariances_are_those_of_all_fours_of_sessions(n):
    right = coins(2, n, 6, seed=n)
    covariance = session_covariance(behaviour(right))
    by_hand = [every_pair(part.astype(float)) for part in right]
    np.testing.assert_allclose(covariance.square, by_hand)
    units = noise_of_units(find_units(behaviour(right)), nowhere((2, 6)))
    assert units.square == pytest.approx(sum(by_hand) / (n * (n - 1)))
    assert units.square == pytest.approx(noise_of_sessions(covariance, nowhere((2, 6))).square)


@pytest.mark.parametrize("n", [4, 6])
def test_participants_are_one_unit_over_all_their_subtasks(n):
    right = coins(3, n, 5, seed="people")
    together = noise_of_units(find_units(behaviour(right, np.arange(n))), nowhere((3, 5)))
    stacked = right.transpose(1, 0, 2).reshape(n, -1).astype(float)
    assert together.square == pytest.approx(every_pair(stacked) / (n * (n - 1)))


def test_the_direction_of_lapses_is_taken_out_of_everyone():
    n, right = 6, coins(3, 6, 5, seed="direction")
    a = seeds.rng("a").standard_normal((3, 5))
    where = Direction(a, np.zeros((3, 5)))
    stacked = right.transpose(1, 0, 2).reshape(n, -1).astype(float)
    flat = a.ravel() / np.linalg.norm(a)
    projected = stacked - np.outer(stacked @ flat, flat)
    found = noise_of_units(find_units(behaviour(right, np.arange(n))), where)
    assert found.square == pytest.approx(every_pair(projected) / (n * (n - 1)))
    covariance = np.cov(stacked.T) / n
    assert found.along == pytest.approx(flat @ covariance @ flat)
    np.testing.assert_allclose(found.product.ravel(), covariance @ a.ravel())
    moved = right + 0.0
    moved += np.linspace(-1, 1, n)[None, :, None] * a[:, None]  # people who lapse differently
    lapsing = Behaviour(
        moved.reshape(-1, 5), np.repeat(np.arange(3), n), ("s0", "s1", "s2"), np.tile(np.arange(n), 3).astype(str)
    )
    assert noise_of_units(find_units(lapsing), where).square == pytest.approx(found.square)
    assert noise_of_units(find_units(lapsing), nowhere((3, 5))).square > 2 * found.square


def test_a_second_session_in_a_subtask_belongs_to_the_same_unit():
    right = coins(1, 8, 5, seed="again")
    who = np.array([0, 0, 1, 2, 3, 4, 5, 6])
    units = find_units(behaviour(right, who))
    assert units.n == 7 and units.groups[0].shares.shape == (1, 7, 5)
    centred = (right[0] - right[0].mean(axis=0)) / 8
    np.testing.assert_allclose(units.groups[0].shares[0, 0], centred[0] + centred[1])


def test_traces_of_two_covariances_are_what_they_are_called():
    one, two = behaviour(coins(2, 6, 4, seed="h")), behaviour(coins(2, 9, 4, seed="m"))
    mine, model = session_covariance(one), session_covariance(two)
    by_hand = sum(np.trace(mine.sigma[k] @ model.sigma[k]) / (6 * 9) for k in range(2))
    assert trace_with(find_units(one), model) == pytest.approx(by_hand)
    assert trace_with(mine, model) == pytest.approx(by_hand)


def test_counts_have_their_own_variance_and_the_models_covariance():
    people, model = behaviour(coins(2, 6, 4, seed="h")), session_covariance(behaviour(coins(2, 40, 4, seed="m")))
    found = covariance_of_counts(people.curves(), model, 0.5)
    np.testing.assert_allclose(np.diagonal(found.sigma[0]), people.curves().variance[0] * 6)
    assert found.sigma[0, 0, 1] == pytest.approx(model.sigma[0, 0, 1] / 4)
    rng, p = seeds.rng("fourth"), 0.3
    drawn = (rng.random((40_000, 5)) < p).sum(axis=1)
    estimate = drawn * (drawn - 1) * (5 - drawn) * (4 - drawn) / (5 * 4 * 3 * 2)
    assert estimate.mean() == pytest.approx((p * (1 - p)) ** 2, rel=0.03)  # what the code sums over trials


def test_the_influence_of_units_is_that_of_leaving_each_out():
    """Four times Σ influence² estimates 4 r′Cr plus what chance adds: compared with the U-statistic less one session at a time."""
    n, right, residual = 7, coins(2, 7, 5, seed="influence"), seeds.rng("residual").standard_normal((2, 5)) * 0.2
    people = behaviour(right)
    found = noise_of_units(find_units(people), Direction(np.zeros((2, 5)), residual))
    total = 0.0
    for subtask in range(2):
        x = right[subtask] - right[subtask].mean(axis=0) + residual[subtask]  # sessions whose mean is the residual
        gram = x @ x.T
        each = 2 / (n * (n - 1)) * (gram.sum(axis=1) - np.diagonal(gram))
        total += n * (n - 1) / (n - 2) ** 2 * np.square(each - each.mean()).sum()
    assert found.towards == pytest.approx(total - 4 * found.square / (n - 2))


# the test


def test_the_excess_is_mse_n_above_the_floor_with_the_fitted_direction_put_back():
    model, people = behaviour(coins(4, 30, 12, seed="m", p=0.9)), behaviour(coins(4, 10, 12, seed="h"))
    found = measure_excess(model, people)
    moments = moments_of(model.curves(), people.curves())
    a = model.curves().accuracy - 0.5
    cov_h, cov_m = (session_covariance(side) for side in (people, model))
    keep = 1 - found.lapse
    assert 0 < found.lapse < 1
    along = sum(a[k] @ (cov_h.sigma[k] / 10 + keep**2 * cov_m.sigma[k] / 30) @ a[k] for k in range(4)) / (a * a).sum()
    by_hand = float(mse_n(moments)) - noise_floor(people) + along / a.size
    assert found.value == pytest.approx(by_hand) and 0 < found.p < 1
    low, high = found.interval()
    assert low < found.value < high and found.covariance == "people" and found.sd >= found.null_sd


def test_where_people_beat_the_model_nothing_is_fitted_and_nothing_taken_out():
    model, people = behaviour(coins(3, 40, 10, seed="m", p=0.7)), behaviour(coins(3, 8, 10, seed="h", p=0.95))
    found = measure_excess(model, people)
    difference = np.square(people.curves().accuracy - model.curves().accuracy).mean()
    noise = people.curves().variance.mean() + model.curves().variance.mean()
    assert found.lapse == 0 and found.value == pytest.approx(difference - noise) and found.p < 0.001


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6), shared=st.booleans())
def test_neither_the_order_of_sessions_nor_names_nor_relabelled_trials_matter(seed, shared):
    rng = seeds.rng("orders", seed)
    model, right = behaviour(coins(3, 20, 6, seed=("m", seed), p=0.8)), coins(3, 7, 6, seed=("h", seed))
    people = behaviour(right, np.arange(7) if shared else None)
    found = measure_excess(model, people)
    order, trials = rng.permutation(21), rng.permutation(6)
    names = {name: f"p{k}" for k, name in enumerate(rng.permutation(np.unique(people.participant)))}
    other = Behaviour(
        people.correct[order][:, trials], people.subtask[order], people.subtasks,
        np.array([names[name] for name in people.participant[order]]),
    )  # fmt: skip
    again = measure_excess(Behaviour(model.correct[:, trials], model.subtask, model.subtasks, model.participant), other)
    for name in ("value", "null_sd", "sd", "lapse"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), rel=1e-9, abs=1e-12)


def test_too_few_sessions_are_refused_and_fall_back_to_the_papers_test():
    model, few = behaviour(coins(3, 20, 6)), behaviour(coins(3, 3, 6))
    assert not can_measure(model, few) and not can_measure(model.curves(), model) and can_measure(model, model)
    with pytest.raises(UserError, match="a subtask has 3 sessions or participants.* at least 4"):
        measure_excess(model, few)
    with pytest.raises(UserError, match="counts of a model do not tell"):
        measure_excess(model.curves(), model)
    sides = [repeat(side, n_replicates=100, rng=seeds.rng(0)) for side in (model, few)]
    assert score_mse(sides[0], sides[1])["mse_n"] == score_mse(sides[0], sides[1], interval="bootstrap")["mse_n"]
    with pytest.raises(UserError, match="did you mean bootstrap"):
        score_mse(sides[0], sides[1], interval="bootstap")


def test_a_certain_excess_has_the_p_of_its_sign():
    assert (
        Excess(0.0, 0.0, 0.0, np.inf, np.inf, 0.0, "people").p == 1
        and Excess(0.1, 0.0, 0.0, np.inf, np.inf, 0.0, "people").p == 0
    )


def test_the_calibrated_interval_of_mse_n_is_the_default_and_narrower_near_the_truth():
    people = Population(20, 0.1, "sessions").sample(seeds.rng("narrow"))
    model = Population(200, 0.0, "sessions").sample(seeds.rng("model"))
    sides = [repeat(side, n_replicates=200, rng=seeds.rng(0)) for side in (model, people)]
    new, old = (score_mse(sides[0], sides[1], interval=kind)["mse_n"] for kind in ("calibrated", "bootstrap"))
    assert score_mse(sides[0], sides[1])["mse_n"] == new and new.value == old.value
    assert old.ci95[1] - old.ci95[0] > 1.8 * (new.ci95[1] - new.ci95[0])
    ends = np.array(measure_excess(model, people).interval()) + noise_floor(people)
    np.testing.assert_allclose(new.ci95, ends)
    without = score_mse(sides[0], sides[1], variant="hobj")["mse_n"]
    np.testing.assert_allclose(np.array(new.ci95) - without.ci95, noise_floor(people))


# simulated populations


@pytest.mark.parametrize("kind", ["sessions", "participants", "half"])
def test_true_models_are_rejected_in_about_one_case_in_twenty(kind):
    found = reject(NullJob(Population(10, 0.1, kind), 240, 0, 1))
    rejected = np.array(found["calibrated true sessions"])
    assert len(rejected) == 240 and 0.015 < rejected.mean() < 0.1  # three standard errors about .05
    assert np.mean(found["calibrated near sessions"]) > 0.25


def test_the_papers_test_rejects_true_models_with_few_sessions():
    found = reject(NullJob(Population(5, 0.1, "sessions"), 12, 12, 1))
    assert np.mean(found["paper true sessions"]) > 0.8 and len(found["paper near counts"]) == 12


def test_true_curves_are_the_mean_of_very_many_sessions():
    population = Population(400, 0.2, "participants")
    drawn = population.sample(seeds.rng("many")).curves().accuracy
    expected = 0.5 + 0.8 * (true_curves(0.0) - 0.5)
    assert np.abs(drawn - expected).mean() < 0.02 and abs(float((drawn - expected).mean())) < 0.004
    assert true_excess(0.0, population) == pytest.approx(0, abs=1e-15) and 1e-4 < true_excess(1.0, population) < 1e-3
    half = Population(6, 0.2, "half").sample(seeds.rng("half"))
    assert half.n_participants == 12 and (half.n_sessions == 6).all()


@pytest.mark.long
def test_both_results_fill_their_tables(tmp_path: Path) -> None:
    few = {"sessions": 4, "participants": 4, "half": 4, "two kinds": 4}
    with open_run(tmp_path / "null", command="results learn-null", config={}, seed=0, backend=engine.Here()) as run:
        table = list(simulate_null(run, 0, few, 2))
    cells = {(score.name, score.agent, score.concept, score.variant) for score in table}
    assert len(cells) == len(table) == (12 * 2 * 2 + 8) * 2 * 2
    with open_run(tmp_path / "hold", command="results learn-coverage", config={}, seed=0, backend=engine.Here()) as run:
        table = list(simulate_coverage(run, 0, 3, 2))
    assert {score.name for score in table} == {"coverage", "half_width_in_thousandths"}
    assert len(table) == 12 * 2 * (3 + 2)
