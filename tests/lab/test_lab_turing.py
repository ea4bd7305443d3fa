"""How well drawings are told apart: hand-computed, and with intervals that cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import UserError
from exemplar.lab.studies.turing_coverage import PEOPLE, SHARES, intervals, sample_right, simulate
from exemplar.lab.telling_apart import d_prime, score_agent, score_choices, share_of_right
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
    found = share_of_right(np.array([10.0]), np.array([20.0]))
    assert (found.lo, found.hi) == (pytest.approx(0.27196, abs=1e-5), pytest.approx(0.72804, abs=1e-5))


def test_few_people_tell_little_about_others() -> None:
    """40 choices by 2 people who agree say less than by 20 people who do."""
    few, many = (share_of_right(np.full(k, 20.0 / k), np.full(k, 40.0 / k)) for k in (2, 20))
    assert few.lo < many.lo and many.hi < few.hi


def test_a_few_who_are_always_right_do_not_say_that_everybody_is() -> None:
    """However many choices they made: of 100 people one may see no difference, and 10 people rarely show it."""
    found = share_of_right(np.full(10, 1000.0), np.full(10, 1000.0))
    assert found.value == found.hi == 1 and found.lo < 0.8


def test_participants_who_differ_make_the_interval_wider() -> None:
    n = np.full(8, 10.0)
    alike, differing = share_of_right(np.full(8, 5.0), n), share_of_right(np.array([0.0, 10.0] * 4), n)
    assert differing.hi - differing.lo > 1.5 * (alike.hi - alike.lo)


def test_everybody_counts_alike_and_in_any_order() -> None:
    right, n = np.array([3.0, 9.0, 6.0]), np.array([10.0, 10.0, 8.0])
    found, turned = share_of_right(right, n), share_of_right(right[::-1], n[::-1])
    assert found.value == pytest.approx((0.3 + 0.9 + 0.75) / 3)
    assert (found.lo, found.hi) == (pytest.approx(turned.lo), pytest.approx(turned.hi))


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
    """Few judges and many, alike or not; all cells are a kept result, `lab-turing-coverage`."""
    for people, share, spread in ((1, 0.5, 0.0), (5, 0.75, 0.1), (10, 0.99, 0.1), (20, 0.95, 0.1), (60, 0.99, 0.1)):
        lo, hi = intervals(sample_right(1000, people, 20, share, spread, np.random.default_rng(1)), 20)
        assert ((lo <= share) & (share <= hi)).mean() >= 0.94, (people, share, spread)


def test_the_study_says_how_often_both_hold_the_truth() -> None:
    found = {(score.name, score.agent): score.value for score in simulate(0, 20)}
    assert len(found) == 2 * len(PEOPLE) * len(SHARES)
    for (name, agent), value in found.items():
        if name == "coverage_of_told_apart":  # what holds the share holds d′; more does so where d′ ends
            assert value <= found["coverage_of_d_prime", agent] <= 1


def test_the_study_s_intervals_are_those_of_the_score() -> None:
    right = np.array([[0.0, 0.0], [10.0, 10.0], [3.0, 9.0], [5.0, 5.0]])
    for one in (right, right[:, :1]):
        lo, hi = intervals(one, 10)
        for place, row in enumerate(one):
            found = share_of_right(row, np.full(len(row), 10.0))
            assert (lo[place], hi[place]) == (pytest.approx(found.lo), pytest.approx(found.hi))
