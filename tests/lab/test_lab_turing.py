"""How well drawings are told apart: hand-computed, and with intervals that cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exemplar import UserError
from exemplar.lab.telling_apart import d_prime, score_choices, share_interval
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
    assert d_prime(0.5, 100) == pytest.approx(0)
    assert d_prime(0.8, 100) == pytest.approx(-d_prime(0.2, 100))
    assert np.isfinite(d_prime(1.0, 10)) and d_prime(1.0, 10) == d_prime(0.95, 10)


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


@pytest.mark.long
@pytest.mark.parametrize("share", [0.5, 0.75, 0.95])
@pytest.mark.parametrize("people,spread", [(1, 0.0), (5, 0.0), (5, 0.1), (20, 0.1), (60, 0.1)])
def test_the_interval_covers_the_truth(share: float, people: int, spread: float) -> None:
    """Participants whose own shares vary as a beta distribution with that standard deviation; 20 choices each."""
    rng = np.random.default_rng(1)
    n, covered, rounds = np.full(people, 20.0), 0, 2000
    variance = min(spread**2, 0.5 * share * (1 - share))
    for _ in range(rounds):
        own = np.full(people, share)
        if variance:
            total = share * (1 - share) / variance - 1
            own = rng.beta(share * total, (1 - share) * total, people)
        lo, hi = share_interval(rng.binomial(20, own).astype(float), n)
        covered += lo <= share <= hi
    skewed = share == 0.95 and spread  # most are always right, a few are not: a handful of people rarely shows it
    assert covered / rounds >= (0.9 if skewed else 0.93)
