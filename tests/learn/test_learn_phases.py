"""Early and late, by difficulty: differences and standard errors by hand, tests at their level, and what they can tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from exemplar import engine, seeds
from exemplar.learn.measures.accuracy import trial_windows
from exemplar.learn.measures.curves import Behaviour, Curves, Repeated, repeat
from exemplar.learn.measures.phase_null import PRIOR, session_spread
from exemplar.learn.measures.phases import PhaseDifference, _two_sided, _windows, compare_phases, difficulty_groups
from exemplar.learn.studies.group_tests import simulate_groups
from exemplar.learn.studies.phase_tests import TESTS, PhaseJob, phase_jobs, run_cell, simulate_phases
from exemplar.learn.studies.simulated_learners import Population, guess
from exemplar.runs import open_run

N_TRIALS = 20


def learners(n: int, *, able: float = 1.0, people: bool = False, seed: object = 0, lapse: float = 0.0) -> Behaviour:
    """8 subtasks from hard to easy; people: each of n did all of them."""
    rng = seeds.rng("phases", seed)
    top = np.linspace(0.6, 0.99, 8)[:, None, None] * able
    p = 0.5 + (top - 0.5) * (1 - np.exp(-np.arange(N_TRIALS) / 3))
    right = guess(rng.random((8, n, N_TRIALS)) < p, lapse, rng)
    who = np.tile(np.arange(n), 8) if people else np.arange(8 * n)
    names = tuple(f"s{k}" for k in range(8))
    return Behaviour(right.reshape(-1, N_TRIALS), np.repeat(np.arange(8), n), names, who.astype(str))


def repeated(side: Behaviour | Curves, seed: object = 0) -> Repeated:
    return repeat(side, n_replicates=100, rng=seeds.rng("replicates", seed))


def compared(
    model: Behaviour | Curves, people: Behaviour | Curves, *, lapsing: bool = False, n: int = 200
) -> dict[tuple[str, str], PhaseDifference]:
    rows = compare_phases(repeated(model), repeated(people, 1), lapsing=lapsing, n_replicates=n, rng=seeds.rng("null"))
    return {(row.phase, row.level): row for row in rows}


@pytest.mark.parametrize("people", [False, True])
def test_differences_and_standard_errors_by_hand(people: bool) -> None:
    model, humans = learners(50, seed="m"), learners(6, people=people, seed="h")
    found = compared(model, humans)
    right = humans.correct.reshape(8, 6, N_TRIALS)
    hardest = np.argsort(right.mean(axis=(1, 2)), kind="stable")[:2]
    row = found["late", "hardest"]
    own, theirs = model.correct.reshape(8, 50, -1)[hardest, :, -6:].mean(), right[hardest, :, -6:].mean()
    assert (row.model.value, row.people.value) == pytest.approx((own, theirs))
    assert row.difference.value == pytest.approx(own - theirs)
    late = right[hardest][:, :, -6:].mean(axis=2)  # (subtasks, sessions)
    if people:  # the variance of participants' means
        squared, freedom = late.mean(axis=0).var(ddof=1) / 6, 5
    else:
        squared, freedom = (late.var(axis=1, ddof=1) / 6).sum() / 4, 10
    windows = _windows(repeated(model), repeated(humans))
    prior = session_spread(model, windows, 0.0)[hardest, 1].sum() / 6 / 4
    expected = np.sqrt((freedom * squared + PRIOR * prior) / (freedom + PRIOR))
    reach = t.ppf(0.975, 5 if people else 40) * expected
    assert row.people.hi == pytest.approx(min(row.people.value + reach, 1))


def test_quarters_are_chosen_by_peoples_accuracy() -> None:
    counts = np.tile(np.array([5, 1, 4, 2, 3, 6, 8, 7])[:, None], (1, N_TRIALS))
    side = Repeated(curves := Curves(counts, np.full(8, 10), tuple("abcdefgh")), repeated(curves).replicates, curves)
    groups = difficulty_groups(side)
    assert groups["hardest"].tolist() == [1, 3] and groups["easiest"].tolist() == [7, 6] and len(groups["all"]) == 8


def test_three_subtasks_have_no_quarters() -> None:
    names = ("s0", "s1", "s2")
    found = compared(learners(30, seed="m").of(names), learners(5, seed="h").of(names))
    assert set(found) == {("early", "all"), ("late", "all")}


def test_two_sided_p_and_its_correction_by_hand() -> None:
    null = np.arange(1.0, 100)[:, None] * np.array([1, -1])  # 99 replicates, two tests that always go together
    p, corrected = _two_sided(np.array([98.5, 50]), null)
    assert p[0] == pytest.approx(2 * 2 / 100) and p[1] == 2 / 100  # one is beyond 98.5; none is as large as 50
    assert corrected == pytest.approx([0.04, 0.02])  # two tests that are one need no correction
    alone = seeds.rng("alone").standard_normal((20_000, 10))  # independent tests: as Šidák's correction
    p, corrected = _two_sided(np.full(10, 2.5), alone)
    assert p.mean() == pytest.approx(0.0124, abs=0.002)
    assert corrected.mean() == pytest.approx(1 - (1 - 0.0124) ** 10, abs=0.02)


def test_counts_give_the_same_differences_as_sessions() -> None:
    model, humans = learners(50, seed="m"), learners(10, seed="h")
    whole, counts = compared(model, humans), compared(model, humans.curves())
    for key, row in whole.items():
        assert counts[key].difference.value == pytest.approx(row.difference.value)


def test_neither_names_of_people_nor_the_order_of_sessions_matter() -> None:
    model, humans = learners(50, seed="m"), learners(6, people=True, seed="h")
    order = seeds.rng("order").permutation(len(humans.subtask))
    turned = Behaviour(humans.correct[order], humans.subtask[order], humans.subtasks,
                       np.array([f"p{9 - int(name)}" for name in humans.participant[order]]))  # fmt: skip
    one, other = compared(model, humans, n=400), compared(model, turned, n=400)
    for key, row in one.items():
        assert other[key].difference.value == pytest.approx(row.difference.value)
        assert other[key].people.hi == pytest.approx(row.people.hi) and abs(other[key].p - row.p) < 0.15


def test_lapses_explain_a_difference_where_people_lapse() -> None:
    model, humans = learners(300, seed="m"), learners(40, seed="h", lapse=0.3)
    plain, lapsing = compared(model, humans), compared(model, humans, lapsing=True)
    assert plain["late", "all"].p < 0.02 and plain["late", "all"].difference.lo > 0.05
    assert lapsing["late", "all"].p > 0.05 and abs(lapsing["late", "all"].difference.value) < 0.03
    assert lapsing["late", "all"].people.value == plain["late", "all"].people.value


def test_where_nobody_errs_true_models_are_not_rejected_and_intervals_have_a_width() -> None:
    """Late in the easiest quarter 8 people make no error in 96 trials, and a true model one in 200."""
    rng = seeds.rng("ceiling")
    top = np.array([0.6, 0.6, 0.7, 0.7, 0.8, 0.8, 0.995, 0.995])[:, None, None]
    names = tuple(f"s{k}" for k in range(8))
    sides = []
    for n in (500, 8):
        right = rng.random((8, n, N_TRIALS)) < top
        if n == 8:
            right[6:, :, -6:] = True
        sides.append(
            Behaviour(right.reshape(-1, N_TRIALS), np.repeat(np.arange(8), n), names, np.arange(8 * n).astype(str))
        )
    row = compared(*sides)["late", "easiest"]
    assert row.people.value == 1 and row.p > 0.3 and row.difference.lo < row.difference.value < row.difference.hi
    assert row.people.lo < 1


@pytest.mark.parametrize("people", [False, True])
def test_a_model_that_makes_no_errors_differs_from_people_by_an_interval_not_a_point(people: bool) -> None:
    """Before, [.070, .070]: people who learn as such a model does never err, and their spread is 0."""
    perfect = learners(50, seed="m")
    perfect.correct[:, -6:] = True
    top, held = np.linspace(0.6, 0.99, 8) - 0.5, []
    truth = 1 - (0.5 + 0.9 * top * (1 - np.exp(-np.arange(14, 20) / 3)).mean()).mean()
    for seed in range(60):
        row = compared(perfect, learners(8, seed=seed, lapse=0.1, people=people), n=40)["late", "all"]
        held.append(row.difference.lo <= truth <= row.difference.hi)
        assert (
            row.model.value == row.model.hi == 1 > row.model.lo > 0.98
            and row.p < 0.06
            and 0.02 < row.difference.hi - row.difference.lo < 0.2
        )
    assert np.mean(held) > 0.85


def test_counts_of_a_model_have_no_p() -> None:
    found = compared(learners(50, seed="m").curves(), learners(10, seed="h"))
    assert len(found) == 10 and all(np.isnan(row.p) and np.isnan(row.p_corrected) for row in found.values())


@pytest.mark.parametrize("kind", ["sessions", "participants"])
def test_true_models_are_rejected_as_often_as_p_says(kind: str) -> None:
    """Before, eight people rejected a true model late in the easiest quarter in 38 % of experiments."""
    found = run_cell(PhaseJob(Population(8, 0.0, kind), 8, False, 100, 1))
    for record, n in (("sessions", 100), ("counts", 50)):
        rejected = np.array(found[f"true {record}"])
        assert len(rejected) == n and rejected[:, : len(TESTS)].mean() < 0.08
        assert rejected[:, TESTS.index(("late", "easiest"))].mean() < 0.12
        assert rejected[:, -1].mean() < 0.13  # any of ten, corrected


def test_a_window_is_the_same_for_every_score() -> None:
    assert trial_windows(100) == {
        "accuracy": (0, 100),
        "early": (0, 5),
        "late": (94, 100),
        "trial_2": (1, 2),
        "trial_100": (99, 100),
    }


@pytest.mark.long
def test_both_results_fill_their_tables(tmp_path: Path) -> None:
    jobs = [job for job in phase_jobs(0, 0.04) if job.population.n == 8]
    with open_run(tmp_path / "phases", command="results learn-phases", config={}, seed=0, backend=engine.Here()) as run:
        table = list(simulate_phases(run, jobs))
    names = {"level", "level_corrected", "power_corrected", "coverage", "coverage_of_people"}
    names |= {"highest_level_of_ten_tests", "coverage_if_only_people_lapse"}
    assert {score.name for score in table} == names
    attentive = [job for job in jobs if job.population.lapse and not job.lapsing]
    assert len(table) == 8 * len(jobs) + len(attentive) + 8
    with open_run(tmp_path / "groups", command="results learn-groups", config={}, seed=0, backend=engine.Here()) as run:
        groups = list(simulate_groups(run, 0, 4))
    assert {score.name for score in groups} == {"level", "power", "coverage_equal", "coverage_different"}
    assert len(groups) == 2 * 5 * 2 * 4
