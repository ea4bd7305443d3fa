"""Who is told apart from the data's own drawers: people are not, whatever hands they have; others are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exemplar import seeds
from exemplar.draw.measures import told_apart
from exemplar.draw.measures.distance import typical_shift
from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.measures.human_distance import Reference
from exemplar.draw.measures.told_apart import (
    compare_with_null,
    distance_intervals,
    hand_noise,
    index_hands,
    known_hands,
    null_words,
)
from exemplar.stats import Scale

K, N = 24, 9


def people(rng: np.random.Generator, drawer: float, k: int = K, n: int = N) -> np.ndarray:
    """A plane (2 critics, k, n, 2) of as many new people: hands move all their drawings alike, by `drawer`."""
    hands = drawer * rng.standard_normal((n, 2))
    both = np.exp(0.4 * rng.standard_normal((k, n, 2))) + hands
    return np.stack([both + 0.2 * rng.standard_normal(both.shape) for _ in range(2)])


def test_the_noise_of_hands_is_that_of_their_means():
    values = seeds.rng("values").random((1, K, N, 2))
    noise = hand_noise(values, index_hands(K, N))
    by_hand = values[0].mean(axis=0)  # (n, 2)
    assert np.square(noise.parts[:, 0]).sum(axis=0) == pytest.approx(by_hand.var(axis=0, ddof=1) / N)
    assert noise.free == pytest.approx(N - 1)
    alone = hand_noise(values, np.arange(K * N).reshape(K, N))
    each = values[0].var(axis=1, ddof=1) / N
    assert np.square(alone.parts[:, 0]).sum(axis=0) == pytest.approx(each.sum(axis=0) / K**2)
    assert alone.free == pytest.approx(K * (N - 1))


def test_unnamed_makers_are_told_apart_by_their_place():
    named = np.arange(K * N).reshape(K, N)
    assert known_hands(named) is named
    assert (known_hands(np.zeros((K, N), int)) == index_hands(K, N)).all()


@pytest.mark.parametrize("drawer", [0.0, 0.5])
def test_new_people_are_rarely_told_apart_and_their_distance_may_be_0(drawer):
    """Before, the lower end of the distance was above 0 for any two groups."""
    rng, apart, from_0 = seeds.rng("new people", drawer), [], []
    for _ in range(100):
        old, new = people(rng, drawer), people(rng, drawer)
        apart.append(compare_with_null(new, old, index_hands(K, N), rng=rng, n_null=499).p < 0.05)
        ends = distance_intervals(new, old, index_hands(K, N), rng.random((300, 2)), rng=rng)
        assert (ends[:, 0] <= ends[:, 1]).all() and ends.shape == (3, 2)
        from_0.append(ends[0, 0] == 0)
    assert np.mean(apart) < 0.11 and np.mean(from_0) > 0.9  # .05 and .95 give 11 % and 90 % once in 200 times


def test_hands_that_are_ignored_would_tell_people_from_people():
    """Why makers are resampled whole."""
    rng, drawings = seeds.rng("ignored"), np.arange(K * N).reshape(K, N)
    pairs = [(people(rng, 0.5), people(rng, 0.5)) for _ in range(40)]
    shuffled = [rng.permuted(a, axis=2) for a, _ in pairs]  # nor does the place say who drew
    apart = [
        compare_with_null(a, b, drawings, rng=rng, n_null=199).p < 0.05
        for a, (_, b) in zip(shuffled, pairs, strict=True)
    ]
    assert np.mean(apart) > 0.3


@pytest.mark.parametrize("away", [(0.5, 0.0), (0.0, -0.5), (1.0, 1.0)])
def test_who_draws_otherwise_is_told_apart_and_the_interval_holds_the_truth(away):
    rng, found, holds = seeds.rng("away", str(away)), [], []
    for _ in range(40):
        old, new = people(rng, 0.05), people(rng, 0.05) + np.array(away)
        found.append(compare_with_null(new, old, index_hands(K, N), rng=rng, n_null=199).p < 0.05)
        low, high = distance_intervals(new, old, index_hands(K, N), rng.random((300, 2)), rng=rng)[0]
        holds.append(low <= np.hypot(*away) <= high)
    assert np.mean(found) > 0.9 and np.mean(holds) > 0.85


def test_the_very_same_drawings_are_no_distance_away():
    old = people(seeds.rng("same"), 0.3)
    ends = distance_intervals(old, old, index_hands(K, N), np.zeros((9, 2)), rng=seeds.rng("same"))
    assert (ends == 0).all()


def test_a_new_group_is_expected_less_diverse_by_what_the_most_typical_drawing_takes_away():
    """By hand: 3 drawings at −3, 0 and 3; the exemplar is 0. The others' deviation is √18; without −3 or 3 it is √4.5."""
    features = CriticFeatures("s", np.zeros((1, 2, 1)), np.zeros((1, 1)), np.array([[[-3.0], [3.0]]]))
    unit = Reference("one", Scale(0.0, 1.0), Scale(0.0, 1.0))
    expected = (np.sqrt(18) + 2 * np.sqrt(4.5)) / 3 - np.sqrt(18)
    assert typical_shift([features], [unit], unbiased=False) == pytest.approx(np.array([[expected, 0.0]]))


def test_the_words_follow_the_level():
    assert null_words(0.05, "people") == "not told apart from people"
    assert null_words(0.049, "the simulated drawers") == (
        "farther from the simulated drawers than the simulated drawers are from each other"
    )
    assert told_apart.LEVEL == 0.05


def test_a_run_says_whether_its_drawings_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The command's values: who draws by the true program is not told apart from the set's own hands, copies are."""
    import exemplar as ex

    monkeypatch.chdir(tmp_path)
    stranger, copies, own = (ex.draw.score(who, data="glyphs", n=9) for who in ("redraw@1", "copies", "simulated"))
    assert stranger["verdict"].startswith("not told apart from simulated drawers (p = ")
    assert stranger["p_of_distance_to_simulated_drawers"]["value"] > 0.05
    assert stranger["distance_to_simulated_drawers"]["ci95"][0] == 0
    assert copies["verdict"].startswith("farther from simulated drawers than simulated drawers are from each other")
    null = copies["null_distance_to_simulated_drawers"]
    assert 0 < null["value"] < null["ci95"][1] < copies["distance_to_simulated_drawers"]["value"]
    assert "verdict" not in own and own["p_of_distance_to_simulated_drawers"]["value"] == 1
    assert copies["verdict"] in copies.text
