"""Cases of draw's measures that can be worked out by hand: who is compared with whom, and where intervals end."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import t

from exemplar import seeds
from exemplar.draw import measures
from exemplar.draw.measures import neighbours, recognizability
from exemplar.draw.measures.ceiling import drawer_halves
from exemplar.draw.measures.differences import Headline, difference
from exemplar.draw.measures.diversity import people_divisor, spread
from exemplar.draw.measures.features import CriticFeatures, EncodedDrawings
from exemplar.draw.measures.human_distance import load_reference
from exemplar.draw.measures.intervals import POSITIVE, Resamples, interval_over, sample_resamples
from exemplar.draw.measures.sides import (
    Side,
    feature_measures,
    measure_side,
    normalised,
    recognition_measures,
    reliability_scores,
)
from exemplar.draw.measures.told_apart import _invert
from exemplar.errors import UserError


def test_what_holds_arrays_is_frozen_and_equals_itself_alone():
    """Arrays have no single truth: comparing two such records field by field would raise."""
    names = [f"{measures.__name__}.{module.name}" for module in pkgutil.iter_modules(measures.__path__)]
    own = [kind for name in names for kind in vars(importlib.import_module(name)).values()
           if dataclasses.is_dataclass(kind) and kind.__module__ == name]  # fmt: skip
    holders = [one for one in own if any("np.ndarray" in str(field.type) for field in dataclasses.fields(one))]
    assert len(holders) >= 9
    for kind in holders:
        assert kind.__eq__ is object.__eq__ and kind.__dataclass_params__.frozen, kind


# copies and neighbours


def test_copies_are_judged_by_peoples_distances_and_not_by_the_agents_own():
    people = np.arange(1.0, 101).reshape(10, 10)  # 5 % are nearer than 5.95
    assert neighbours.copies(np.full((2, 3), 5.9), people, 0.05).all()
    assert not neighbours.copies(np.full((2, 3), 6.0), people, 0.05).any()


def test_a_drawing_that_is_in_no_half_counts_as_the_others_do_on_average():
    """Three against three, one neighbour: at 0 and 1 inside people's ball of radius 1, at 9 outside; the fourth is left out."""
    drawn, real = np.array([[[0.0], [1.0], [9.0], [0.5]]]), np.array([[[0.0], [1.0], [2.0], [50.0]]])
    half = np.array([[[0, 1, 2]]])
    found = neighbours.overlap(drawn, real, 1, halves=(half, half))
    assert found.precision == pytest.approx(np.array([[1, 1, 0, 2 / 3]]))
    assert found.density == pytest.approx(np.array([[2, 3, 0, 5 / 3]]))
    assert found.coverage == pytest.approx(np.array([[1, 1, 1, 1]]))


# recognizability


def test_episodes_of_many_ways_lose_nothing_to_rounding():
    exemplars = (100 + 1e-3 * seeds.rng("near").standard_normal((40, 5))).astype(np.float32)
    copies = np.repeat(exemplars[:, None], 2, axis=1)
    assert (recognizability.sample_episodes(copies, exemplars, 30, 20, rng=seeds.rng("many")) == 1).all()


def test_the_hard_choice_is_among_exemplars_of_the_same_group():
    """Each drawing is nearest to the exemplar of the other group's concept, and far from that of its own group."""
    exemplars, groups = np.array([[0.0], [10.0], [1.0], [11.0]]), np.array([0, 0, 1, 1])
    drawn = np.array([[[0.9]], [[10.9]], [[0.1]], [[10.1]]])
    critic = CriticFeatures("s", np.repeat(drawn, 3, axis=1), exemplars)
    encoded = EncodedDrawings((critic,), (critic,), "a", tuple("abcd"), groups, None, "", "people")
    own = measure_side([critic], [critic], "drawn", unbiased=False)
    found = {measure.name: measure for measure in recognition_measures(encoded, own, (0,))}
    assert (found["recognizability_all_way"].by_drawing == 0).all()
    assert (found["recognizability_hard"].by_drawing == 1).all()
    assert found["recognizability_hard"].variant.startswith("among 2 to 2 of the same group")


# intervals


def test_what_critics_differ_by_beyond_their_residuals_is_the_variance_component_of_the_textbook():
    """Two-way analysis of variance with one value per cell: (mean square of critics − of residuals) / concepts."""
    value = seeds.rng("anova").standard_normal((4, 6)) + np.array([[0.0], [1], [2], [5]])
    mean, squares = value.mean(), {"critics": 0.0, "rest": 0.0}
    for critic in range(4):
        squares["critics"] += 6 * (value[critic].mean() - mean) ** 2 / 3
        for concept in range(6):
            rest = value[critic, concept] - value[critic].mean() - value[:, concept].mean() + mean
            squares["rest"] += rest**2 / (3 * 5)
    over_critics = t.ppf(0.975, 3) * np.sqrt((squares["critics"] - squares["rest"]) / 6 / 4)
    over_concepts = t.ppf(0.975, 5) * value.mean(axis=0).std(ddof=1) / np.sqrt(6)
    found = interval_over(value, (-np.inf, np.inf))
    assert found.hi - found.value == pytest.approx(np.hypot(over_critics, over_concepts))
    assert interval_over(np.abs(value), POSITIVE).lo >= 0


def test_a_resample_counts_each_concept_as_often_as_it_was_drawn():
    draws = Resamples(np.array([[2, 0, 1], [1, 1, 1], [0, 3, 0]]), np.zeros((3, 2)))
    assert draws.means(np.array([[1.0, 5, 4], [0, 0, 3]])) == pytest.approx(np.array([[2, 1], [10 / 3, 1], [5, 0]]))


def test_a_difference_on_which_only_critics_disagree_has_students_t_over_them():
    gap = np.repeat(np.array([[0.0], [1], [2]]), 5, axis=1)  # the same at each of five concepts
    _, (low, high), p = difference(Headline(gap, 0.0, 1.0), Headline(0 * gap, 0.0, 1.0))
    half = t.ppf(0.975, 2) / np.sqrt(3)
    assert (low, high) == pytest.approx((1 - half, 1 + half))
    assert p == pytest.approx(2 * t.sf(np.sqrt(3), 2))


def test_the_distance_of_someone_far_away_has_the_ends_of_its_normal_noise():
    """One critic, ten away, noise of deviation 1 along the way: 10 ± 1.96."""
    noise = ndtri((np.arange(4000) + 0.5) / 4000)
    error = np.stack([noise, np.zeros(4000)], axis=1)[:, None]
    low, high = _invert(np.array([[10.0, 0.0]]), error, np.zeros((4000, 1), int))
    assert (low, high) == pytest.approx((10 - 1.96, 10 + 1.96), abs=0.01)


def test_nowhere_else_the_distance_may_be_as_large_as_noise_is_in_95_of_100():
    error = np.stack([np.arange(1, 1001) / 1000, np.zeros(1000)], axis=1)[:, None]
    ends = _invert(np.zeros((1, 2)), error, np.zeros((1000, 1), int))
    assert ends == pytest.approx((0, 0.95), abs=0.001)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("how", ["people", "per sample"])
def test_raw_diversity_is_of_the_features_as_they_are_and_diversity_of_divided_ones(how, unbiased):
    rng = seeds.rng("raw")
    drawn, theirs, exemplars = rng.random((3, 5, 4)), 7 * rng.random((3, 5, 4)), rng.random((3, 4))
    critic = CriticFeatures("s", drawn, exemplars, theirs)
    seen = [normalised(critic, how)]
    encoded = EncodedDrawings((critic,), (critic,), "a", tuple("abc"), np.zeros(3), None, "", "people")
    own = measure_side(seen, [critic], "drawn", unbiased=unbiased)
    found = {one.name: one.value[0] for one in feature_measures(encoded, seen, own, how, unbiased=unbiased)}
    divisor = people_divisor(theirs) if how == "people" else drawn.std(axis=2, keepdims=True)
    assert found["diversity_raw"] == pytest.approx(spread(drawn, unbiased=unbiased))
    assert found["diversity"] == pytest.approx(spread(drawn / divisor, unbiased=unbiased))


# halves of the drawers


def test_halves_of_one_drawing_have_no_diversity_that_could_repeat():
    rng = seeds.rng("halves of one")
    able = np.linspace(0, 3, 12)[:, None]
    for n, whether in ((3, False), (4, True)):
        features = able[:, :, None] * rng.standard_normal((12, n, 5))
        side = Side(
            rng.random((1, 12, n)), (able + 0.1 * rng.random((12, n)))[None], np.zeros((1, 12, n), int), (features,)
        )
        encoded = EncodedDrawings((), (), "a", tuple("abcdefghijkl"), np.zeros(12), None, "", "people")
        halves = drawer_halves(np.tile(np.arange(n), (12, 1)), 6, rng=rng)
        found = {s.name: s for s in reliability_scores(encoded, side, halves, 0, sample_resamples(12, 1, 200, rng))}
        assert found["reliability_of_originality"].value > 0.98
        assert ("reliability_of_diversity" in found) == whether
        assert found["reliability_of_originality"].variant == f"{n // 2} against {n // 2} of people"


# the frozen scale


@pytest.mark.parametrize("wrong", [{"std": 0.0}, {"std": -1.0}, {"std": float("inf")}, {"mean": float("nan")}])
@pytest.mark.parametrize("axis", ["diversity", "recognizability"])
def test_a_reference_whose_scale_is_none_is_refused(tmp_path: Path, axis: str, wrong: dict[str, float]):
    page = {"name": "x", "diversity": {"mean": 1.0, "std": 1.0}, "recognizability": {"mean": 1.0, "std": 1.0}}
    (tmp_path / "r.json").write_text(json.dumps(page))
    assert load_reference(tmp_path / "r.json").name == "x"
    (tmp_path / "r.json").write_text(json.dumps(page | {axis: {"mean": 1.0, "std": 1.0} | wrong}))
    with pytest.raises(UserError, match=f"{axis} has the scale|holds no reference"):
        load_reference(tmp_path / "r.json")
