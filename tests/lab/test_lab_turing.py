"""How well drawings are told apart: hand-computed, and with intervals that cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import UserError
from exemplar.lab.studies.turing_coverage import CHOICES, PEOPLE, SHARES, sample_right, simulate
from exemplar.lab.telling_apart import d_prime, score_agent, score_choices, share_interval, share_intervals
from exemplar.records import Trials


def choices(right: list[int], n: int) -> Trials:
    """One agent judged by several participants, each with n choices, so many of them right."""
    correct = [k < r for r in right for k in range(n)]
    who = [f"p{i}" for i in range(len(right)) for _ in range(n)]
    trial = [k for _ in right for k in range(n)]
    return Trials.of(agent="people", participant=who, subtask="cfgdm", session=who, trial=trial, phase="test", stimulus="a",
                     choice=[0] * len(correct), correct=correct, timed_out=False)  # fmt: skip


def test_three_of_four_right_is_a_d_prime_of_one() -> None:
    share, sensitivity = score_choices(choices([15, 15, 15], 20))
    assert share.value == 0.75 and share.n == 3
    assert sensitivity.value == pytest.approx(np.sqrt(2) * 0.6744897501960817)  # √2 z(.75) = .954


def test_guessing_is_no_sensitivity_and_its_mirror_image_the_opposite() -> None:
    assert d_prime(0.5) == pytest.approx(0)
    assert d_prime(0.8) == pytest.approx(-d_prime(0.2))


def test_the_interval_of_one_participant_is_that_of_independent_choices() -> None:
    """10 of 20: Clopper and Pearson's interval, as tables have it."""
    lo, hi = share_interval(np.array([10.0]), np.array([20.0]))
    assert (lo, hi) == (pytest.approx(0.27196, abs=1e-5), pytest.approx(0.72804, abs=1e-5))


def test_few_people_tell_little_about_others() -> None:
    """40 choices by 2 people who agree say less than by 20 people who do."""
    few, many = (share_interval(np.full(k, 20.0 / k), np.full(k, 40.0 / k)) for k in (2, 20))
    assert few[0] < many[0] and many[1] < few[1]


def test_participants_who_differ_make_the_interval_wider() -> None:
    n = np.full(8, 10.0)
    alike, differing = share_interval(np.full(8, 5.0), n), share_interval(np.array([0.0, 10.0] * 4), n)
    assert differing[1] - differing[0] > 1.5 * (alike[1] - alike[0])


def test_order_of_participants_does_not_matter() -> None:
    right, n = np.array([3.0, 9.0, 6.0]), np.array([10.0, 10.0, 8.0])
    assert share_interval(right, n) == share_interval(right[::-1], n[::-1])


def test_an_empty_folder_is_said(tmp_path: Path, exemplar: Any) -> None:
    said = exemplar("lab", "turing", tmp_path)
    assert said.code == 2 and "trials.parquet" in said.err
    with pytest.raises(UserError):
        score_choices(choices([1], 1).subset(np.zeros(0, int)))


def test_intervals_of_d_prime_are_those_of_the_share() -> None:
    """With everybody always right no upper end can be told: d′ says 4.37, where it ends, and not what a choice more would be."""
    share, sensitivity = score_choices(choices([10, 10], 10))
    assert share.ci95[1] == 1 and sensitivity.ci95[1] == pytest.approx(d_prime(0.999)) == pytest.approx(
        4.3702, abs=1e-4
    )
    assert sensitivity.ci95[0] == pytest.approx(d_prime(share.ci95[0]))
    assert sensitivity.value == pytest.approx(d_prime(1 - 1 / 40))  # half a choice from certainty
    for right in ([0, 0], [3, 9], [10, 10]):
        _, found = score_choices(choices(right, 10))
        assert found.ci95[0] <= found.value <= found.ci95[1]
    many = score_agent("cfgdm", np.full(50, 100.0), np.full(50, 100.0))[1]
    assert many.ci95[0] <= many.value <= many.ci95[1]


def test_intervals_cover_the_truth() -> None:
    """Few judges and many, whose own shares differ or not; all cells are a kept result, `lab-turing-coverage`."""
    for people, share, spread, least in (
        (1, 0.5, 0.0, 0.95), (5, 0.75, 0.1, 0.93), (20, 0.5, 0.1, 0.93), (60, 0.95, 0.1, 0.9), (20, 0.99, 0.0, 0.95),
        (10, 0.9995, 0.0, 0.95),
    ):  # fmt: skip
        right = sample_right(1000, people, 20, share, spread, np.random.default_rng(1))
        lo, hi = share_intervals(right, np.full(people, 20))
        assert ((lo <= share) & (share <= hi)).mean() >= least, (people, share, spread)
        held = [d_prime(a) <= d_prime(share) <= d_prime(b) for a, b in zip(lo[:100], hi[:100], strict=True)]
        assert np.mean(held) >= least - 0.05  # of 100 sets


def test_the_study_says_how_often_both_hold_the_truth() -> None:
    found = {(score.name, score.agent): score.value for score in simulate(0, 20)}
    assert len(found) == 2 * len(PEOPLE) * len(CHOICES) * len(SHARES)
    for (name, agent), value in found.items():
        if name == "coverage_of_told_apart":  # what holds the share holds d′; more does so where d′ ends
            assert value <= found["coverage_of_d_prime", agent] <= 1


def test_many_sets_at_once_are_each_as_alone() -> None:
    right, n = np.array([[0.0, 0.0], [10.0, 10.0], [3.0, 9.0], [5.0, 5.0]]), np.array([10.0, 10.0])
    lo, hi = share_intervals(right, n)
    for place, row in enumerate(right):
        assert (lo[place], hi[place]) == share_interval(row, n)
