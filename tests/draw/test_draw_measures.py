"""What is measured of drawings: hand-computed cases, invariances, and agreement with the slow and obvious way."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde, ortho_group

from exemplar import seeds, stats
from exemplar.draw.measures import ceiling, diversity, neighbours, originality, recognizability
from exemplar.draw.measures.generalization import (
    Curve,
    area_between,
    best_envelope,
    compare_curves,
    crossing,
    generalization_curve,
)
from exemplar.draw.measures.human_distance import family_medians, fit_reference, load_reference
from exemplar.draw.measures.intervals import (
    POSITIVE,
    SHARE,
    Measure,
    Resamples,
    concept_intervals,
    interval_over,
    sample_resamples,
    to_scores,
)
from exemplar.errors import UserError

NUMBER = st.integers(0, 2**32)


def some(k: int, n: int, d: int, seed: object = 0) -> np.ndarray:
    return seeds.rng("features", seed).normal(size=(k, n, d))


# diversity


def test_spread_is_the_mean_over_dimensions_of_the_corrected_deviation():
    assert diversity.spread(np.array([[[0.0, 0.0], [2.0, 4.0]]])) == pytest.approx([(2**0.5 + 8**0.5) / 2])


def test_copies_have_no_diversity():
    copies = np.repeat(some(3, 1, 7), 5, axis=1)
    assert diversity.spread(copies) == pytest.approx([0, 0, 0], abs=1e-12)
    assert diversity.cosine_spread(copies) == pytest.approx([0, 0, 0], abs=1e-6)
    assert diversity.vendi(copies) == pytest.approx([1, 1, 1])


@settings(deadline=None, max_examples=20)
@given(seed=NUMBER, n=st.integers(3, 8))
def test_diversity_does_not_depend_on_order_or_on_where_zero_is(seed, n):
    rng, features = seeds.rng("order", seed), some(2, n, 4, seed)
    shuffled = features[:, rng.permutation(n)]
    for measure in (diversity.spread, diversity.cosine_spread, diversity.vendi):
        assert measure(shuffled) == pytest.approx(measure(features))
        assert measure(features[::-1])[::-1] == pytest.approx(measure(features))
    assert diversity.spread(features + rng.normal(size=4)) == pytest.approx(diversity.spread(features))
    assert diversity.spread(3 * features) == pytest.approx(3 * diversity.spread(features))
    turned = features @ ortho_group.rvs(4, random_state=seed % 1000)
    for measure in (diversity.cosine_spread, diversity.vendi):
        assert measure(5 * turned) == pytest.approx(measure(features), rel=1e-6)


def test_what_each_drawing_contributes_has_the_score_as_mean_and_the_jackknife_as_error():
    features = some(2, 6, 5)
    for measure, by_drawing in (
        (diversity.spread, diversity.spread_by_drawing),
        (diversity.cosine_spread, diversity.cosine_spread_by_drawing),
    ):
        found = by_drawing(features)
        assert found.mean(axis=1) == pytest.approx(measure(features))
        left = np.stack([measure(np.delete(features, i, axis=1)) for i in range(6)], axis=1)
        error = np.sqrt(5 / 6 * np.square(left - left.mean(axis=1, keepdims=True)).sum(axis=1))
        assert found.std(axis=1, ddof=1) / 6**0.5 == pytest.approx(error)


def test_the_corrected_spread_does_not_grow_with_the_number_of_drawings():
    assert diversity.c4(2) == pytest.approx((2 / np.pi) ** 0.5)
    assert diversity.c4(20) == pytest.approx(0.98693, abs=1e-5)
    features = some(200, 20, 30)
    plain, fair = ([diversity.spread(features[:, :n], unbiased=u).mean() for n in (3, 20)] for u in (False, True))
    assert plain[0] < 0.92 * plain[1]
    assert fair == pytest.approx([1, 1], abs=0.01)


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_spread_without_a_drawing_is_that_of_the_others(unbiased):
    features = some(3, 5, 4)
    left = np.stack([diversity.spread(np.delete(features, i, axis=1), unbiased=unbiased) for i in range(5)], axis=1)
    np.testing.assert_allclose(diversity.spread_without_each(features, unbiased=unbiased), left, rtol=1e-12)


def test_a_drawing_divided_by_its_own_deviation_has_deviation_one_and_a_blank_one_stays():
    features = some(2, 3, 9) * 7
    features[0, 0] = 4
    found = diversity.per_sample(features)
    assert found.std(axis=2).ravel()[1:] == pytest.approx(np.ones(5))
    assert (found[0, 0] == 4).all()


def test_people_divided_by_their_own_number_have_spread_one_over_all_concepts():
    features = 3 * some(5, 8, 6) + 50
    unit = features / diversity.people_divisor(features)
    assert diversity.spread(unit.reshape(1, 40, 6)) == pytest.approx([1])


def test_cosine_spread_times_the_pairs_is_the_sum_of_the_third_equation():
    features = some(1, 5, 4)
    total = 0.0
    for a, b in combinations(features[0], 2):
        total += np.sqrt(2 - 2 * a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    assert diversity.cosine_spread(features) * 10 == pytest.approx([total])


@pytest.mark.parametrize(("n", "d"), [(4, 9), (9, 4)])
def test_vendi_counts_wholly_different_drawings(n, d):
    size = min(n, d)
    assert diversity.vendi(np.eye(d)[None, :size]) == pytest.approx([size])
    assert diversity.vendi(np.repeat(np.eye(d)[None, :2], 3, axis=1)) == pytest.approx([2])
    features = some(1, n, d)
    unit = features[0] / np.linalg.norm(features[0], axis=1, keepdims=True)
    weight = np.linalg.eigvalsh(unit @ unit.T / n)
    weight = weight[weight > 1e-12]
    assert diversity.vendi(features) == pytest.approx([np.exp(-(weight * np.log(weight)).sum())])


@pytest.mark.parametrize(("n", "d"), [(4, 9), (9, 4)])
def test_vendi_by_drawing_is_its_slope_in_a_drawings_weight(n, d):
    features = some(1, n, d)
    unit = features[0] / np.linalg.norm(features[0], axis=1, keepdims=True)

    def weighted(shares: np.ndarray) -> float:
        value = np.linalg.eigvalsh((unit.T * shares) @ unit)
        value = value[value > 1e-12]
        return float(np.exp(-(value * np.log(value)).sum()))

    even, step = np.full(n, 1 / n), 1e-5
    slope = [weighted((1 - step) * even + step * np.eye(n)[i]) - weighted(even) for i in range(n)]
    assert diversity.vendi_by_drawing(features)[0] - weighted(even) == pytest.approx(np.array(slope) / step, abs=1e-3)


# originality


def test_originality_is_the_root_mean_square_distance_to_the_exemplar():
    drawings, exemplars = np.array([[[3.0, 4.0], [0.0, 0.0]]]), np.zeros((1, 2))
    assert originality.originality(drawings, exemplars).tolist() == [[pytest.approx(12.5**0.5), 0]]
    right, left = np.array([[[0.0, 2.0], [-3.0, 0.0]]]), np.array([[5.0, 0.0]])
    assert originality.cosine_originality(right, left)[0] == pytest.approx([2**0.5, 2])


@settings(deadline=None, max_examples=20)
@given(seed=NUMBER)
def test_originality_does_not_depend_on_turning_or_moving_the_space(seed):
    drawings, exemplars = some(2, 3, 5, seed), some(1, 2, 5, seed)[0]
    turn, move = ortho_group.rvs(5, random_state=seed % 1000), some(1, 1, 5, (seed, 1))[0, 0]
    found = originality.originality(drawings, exemplars)
    assert originality.originality(drawings @ turn + move, exemplars @ turn + move) == pytest.approx(found)
    angle = originality.cosine_originality(drawings, exemplars)
    assert originality.cosine_originality(7 * drawings @ turn, exemplars @ turn) == pytest.approx(angle)


def test_the_density_of_originality_has_the_area_one_and_follows_the_values():
    values = seeds.rng("density").gamma(4, 0.1, (20, 50))
    places, height = originality.density(values)
    assert height == pytest.approx(gaussian_kde(values.ravel())(places), rel=1e-9)
    assert np.trapezoid(height, places) == pytest.approx(1, abs=0.01)
    assert abs(places[height.argmax()] - 0.3) < 0.1
    assert (originality.density(np.zeros((2, 3)))[1] == 0).all()


# recognizability


def test_copies_are_always_recognised_and_copies_of_another_never_among_all():
    exemplars = some(1, 8, 5)[0]
    own = recognizability.count_nearer(np.repeat(exemplars[:, None], 3, axis=1), exemplars)
    assert (own == 0).all() and (recognizability.recognised(own, 5) == 1).all()
    other = recognizability.count_nearer(np.roll(exemplars, 1, axis=0)[:, None], exemplars)
    assert (recognizability.recognised(other) == 0).all()


@pytest.mark.parametrize("ways", [2, 3, 5, 6])
def test_the_closed_form_is_the_share_of_all_episodes(ways):
    drawings, exemplars = some(6, 3, 2), some(1, 6, 2, 1)[0]
    found = recognizability.recognised(recognizability.count_nearer(drawings, exemplars), ways)
    for k in range(6):
        for i in range(3):
            distance = np.square(drawings[k, i] - exemplars).sum(axis=1)
            others = [c for c in range(6) if c != k]
            right = [all(distance[k] < distance[c] for c in rest) for rest in combinations(others, ways - 1)]
            assert found[k, i] == pytest.approx(np.mean(right))


def test_drawings_of_nothing_in_particular_are_recognised_by_chance():
    drawings, exemplars = some(60, 40, 30), some(1, 60, 30, 1)[0]
    n_nearer = recognizability.count_nearer(drawings, exemplars)
    for ways, chance in ((20, 1 / 20), (0, 1 / 60)):
        by_concept = recognizability.recognised(n_nearer, ways).mean(axis=1)
        assert abs(by_concept.mean() - chance) < 4 * by_concept.std(ddof=1) / 60**0.5


def test_who_tells_nothing_apart_is_never_right():
    assert (recognizability.recognised(recognizability.count_nearer(np.ones((4, 2, 3)), np.ones((4, 3))), 2) == 0).all()


def test_distractors_of_the_same_group_are_all_that_count():
    exemplars = np.array([[0.0], [10.0], [1.0], [11.0]])  # two groups of two, one of each near the other
    drawings = np.array([[[0.9]], [[10.9]], [[0.1]], [[10.1]]])
    groups = np.array([0, 0, 1, 1])
    hard = recognizability.count_nearer(drawings, exemplars, groups=groups)
    assert hard.tolist() == [[0], [0], [0], [0]]
    assert recognizability.count_nearer(drawings, exemplars).tolist() == [[1], [1], [1], [1]]
    assert (recognizability.recognised(hard, 20, groups=groups) == 1).all()


def test_episodes_agree_with_the_closed_form_within_their_error():
    exemplars = some(1, 30, 6)[0]
    drawings = exemplars[:, None] + 0.8 * some(30, 10, 6, 1)
    exact = recognizability.recognised(recognizability.count_nearer(drawings, exemplars), 5).mean()
    shares = recognizability.sample_episodes(drawings, exemplars, 5, 3000, rng=seeds.rng("episodes"))
    assert 0.5 < exact < 0.99
    assert abs(shares.mean() - exact) < 4 * shares.std(ddof=1) / 3000**0.5


@settings(deadline=None, max_examples=15)
@given(seed=NUMBER)
def test_recognition_does_not_depend_on_turning_moving_or_scaling_the_space(seed):
    drawings, exemplars = some(5, 4, 6, seed), some(1, 5, 6, (seed, 1))[0]
    turn, move = ortho_group.rvs(6, random_state=seed % 1000), some(1, 1, 6, (seed, 2))[0, 0]
    found = recognizability.count_nearer(drawings, exemplars)
    assert (recognizability.count_nearer(3 * (drawings @ turn + move), 3 * (exemplars @ turn + move)) == found).all()


def test_an_impossible_number_of_ways_is_said():
    for ways in (1, -2, 7):
        with pytest.raises(UserError, match=f"a choice among {ways} of 6"):
            recognizability.recognised(np.zeros((6, 2), int), ways)
    with pytest.raises(UserError, match="need as many concepts"):
        recognizability.sample_classes(6, 7, 3, seeds.rng("classes"))


# neighbours


def slow_overlap(drawn: np.ndarray, real: np.ndarray, k: int) -> dict[str, float]:
    def ball(points: np.ndarray, i: int) -> float:
        return sorted(float(np.linalg.norm(points[i] - p)) for j, p in enumerate(points) if j != i)[k - 1]

    inside = [[np.linalg.norm(y - real[i]) <= ball(real, i) for i in range(len(real))] for y in drawn]
    back = [[np.linalg.norm(x - drawn[j]) <= ball(drawn, j) for j in range(len(drawn))] for x in real]
    return {
        "precision": float(np.mean([any(row) for row in inside])),
        "density": float(np.sum(inside) / (k * len(drawn))),
        "recall": float(np.mean([any(row) for row in back])),
        "coverage": float(np.mean(np.any(inside, axis=0))),
    }


@settings(deadline=None, max_examples=25)
@given(seed=NUMBER, k=st.integers(1, 3), n=st.integers(4, 7), m=st.integers(4, 7))
def test_overlap_is_what_its_definitions_say(seed, k, n, m):
    drawn, real = some(1, n, 3, seed) + 0.7, some(1, m, 3, (seed, 1))
    found = neighbours.overlap(drawn, real, k)
    for name, value in slow_overlap(drawn[0], real[0], k).items():
        assert getattr(found, name).mean() == pytest.approx(value), name
    back = neighbours.overlap(real, drawn, k)
    assert back.recall.mean() == found.precision.mean()


def test_the_same_drawings_overlap_wholly_and_drawings_far_away_not_at_all():
    real = some(2, 6, 4)
    same, far = neighbours.overlap(real, real, 2), neighbours.overlap(real + 100, real, 2)
    equal = neighbours.overlap(np.ones((1, 5, 3)), np.ones((1, 5, 3)), 2)
    for found in (same, equal):
        assert found.precision.all() and found.recall.all() and found.coverage.all()
    assert not (far.precision.any() or far.recall.any() or far.density.any() or far.coverage.any())
    with pytest.raises(UserError, match="6 neighbours cannot be found among 6 drawings"):
        neighbours.overlap(real, real, 6)


def test_halves_are_compared_as_if_nothing_else_were_there():
    drawn, real = some(2, 8, 3), some(2, 8, 3, 1)
    first, last = np.array([[[0, 1, 2, 3]], [[4, 5, 6, 7]]]), np.array([[[4, 5, 6, 7]], [[0, 1, 2, 3]]])
    found = neighbours.overlap(drawn, real, 2, halves=(first, last))
    alone = [slow_overlap(drawn[k][first[k, 0]], real[k][last[k, 0]], 2) for k in range(2)]
    for k in range(2):
        assert found.precision[k][first[k, 0]].mean() == pytest.approx(alone[k]["precision"])
        assert found.coverage[k][last[k, 0]].mean() == pytest.approx(alone[k]["coverage"])


def test_the_nearest_of_a_pool_is_found_and_a_copy_is_at_zero():
    pool, drawn = some(1, 3000, 5)[0].astype(np.float32), some(2, 3, 5, 1).astype(np.float32)
    drawn[1, 2] = pool[77]
    found = neighbours.nearest(drawn, pool)
    slow = np.sqrt(np.square(drawn[:, :, None].astype(float) - pool).mean(axis=3)).min(axis=2)
    assert found == pytest.approx(slow, abs=1e-6) and found[1, 2] == 0


def test_about_the_asked_share_of_people_count_as_copies_and_copies_all_do():
    of_people = seeds.rng("copies").gamma(5, 1, (100, 20))
    assert neighbours.copies(of_people, of_people, 0.05).mean() == pytest.approx(0.05, abs=0.001)
    assert neighbours.copies(np.zeros((3, 2)), of_people).all()
    with pytest.raises(UserError, match="between 0 and 1"):
        neighbours.copies(of_people, of_people, 0)


# generalization curves


def weights(k: int) -> np.ndarray:
    return stats.resample(k, 200, rng=seeds.rng("weights", k))


def parabola(a: float, b: float, c: float, reach: tuple[float, float] = (0.2, 1.2), spread: float = 0.0) -> Curve:
    x = np.linspace(*reach, 10)
    replicates = np.array([a, b, c]) + spread * seeds.rng("curve", a).normal(size=(400, 1)) * [1, 0, 0]
    y = a + b * x + c * x * x
    return Curve(x, y, y, y, np.array([a, b, c]), replicates, 0.0, 500, 50)


def test_the_curve_finds_the_parabola_behind_the_drawings():
    levels = np.repeat(np.linspace(0.2, 1.2, 10), 5)  # ten levels of originality, five drawings each
    original = np.tile(seeds.rng("shuffle").permutation(levels), (8, 1))
    curve = generalization_curve(original, 1 - 0.1 * original - 0.3 * original**2, weights=weights(8))
    assert curve.coefficients == pytest.approx([1, -0.1, -0.3])
    assert curve.error == pytest.approx(0, abs=1e-20)
    assert curve.originality == pytest.approx(np.linspace(0.2, 1.2, 10))
    assert curve.at(np.array([0.5])).value == pytest.approx([0.875])
    assert curve.reach == pytest.approx((0.2, 1.2))


def test_the_curve_and_its_band_stay_within_what_a_share_can_be():
    steep = parabola(1.2, -0.5, 0.0, spread=0.3)  # from 1.2 at 0 to −.8 at 4
    at = steep.at(np.array([0.0, 1.0, 4.0]))
    assert at.value == pytest.approx([1, 0.7, 0])
    assert at.lo.min() >= 0 and at.hi.max() <= 1 and at.lo[1] < 0.7 < at.hi[1]


def test_bins_hold_each_concepts_own_most_and_least_original_drawings():
    original = np.array([[3.0, 1.0, 2.0], [30.0, 20.0, 10.0]])
    named = np.array([[0.0, 1.0, 0.5], [0.2, 0.4, 0.6]])
    curve = generalization_curve(original, named, n_bins=10, weights=weights(2))
    assert curve.originality == pytest.approx([5.5, 11, 16.5])
    assert curve.recognised == pytest.approx([0.8, 0.45, 0.1])
    assert (curve.lo <= curve.recognised).all() and (curve.recognised <= curve.hi).all()


def test_few_drawings_are_warned_about_and_many_are_not():
    for n, warned in ((20, True), (500, False)):
        original = seeds.rng("few", n).random((3, n))
        curve = generalization_curve(original, 1 - original, weights=weights(3))
        assert ("20 drawings per concept" in curve.warning) == warned


def test_copies_have_a_flat_curve():
    curve = generalization_curve(np.zeros((4, 12)), np.ones((4, 12)), weights=weights(4))
    assert curve.at(np.array([0.0])).value == pytest.approx([1])
    assert np.isfinite(curve.replicates).all()


def test_a_curve_survives_being_written():
    original = seeds.rng("written").random((5, 30))
    curve = generalization_curve(original, 1 - original**2, weights=weights(5))
    again = Curve.of_arrays(curve.arrays("curve_"), "curve_")
    for name, value in vars(curve).items():
        assert np.array_equal(getattr(again, name), value), name


def test_the_best_of_a_family_is_its_highest_member_where_it_reaches():
    low, high = parabola(1, -0.5, 0, (0.2, 1.0)), parabola(0.7, 0, 0, (0.6, 1.2))
    places, best, which = best_envelope([low, high])
    assert best == pytest.approx(np.where(places < 0.6, 1 - 0.5 * places, 0.7), abs=1e-9)
    assert set(which[places < 0.59]) == {0} and set(which[places > 0.61]) == {1}
    with pytest.raises(UserError, match="no curves"):
        best_envelope([])


def test_area_and_crossing_of_two_curves_are_those_of_calculus():
    flat, falling = parabola(0.8, 0, 0, spread=0.001), parabola(1, -0.4, 0)
    assert area_between(flat, falling).value == pytest.approx(-0.2 * 1 + 0.4 * (1.2**2 - 0.2**2) / 2)
    met = crossing(flat, falling)
    assert met is not None and met.value == pytest.approx(0.5) and met.lo < 0.5 < met.hi
    assert crossing(falling, flat) is None  # it starts above, and ends below
    assert crossing(parabola(2, 0, 0), falling) is None
    with pytest.raises(UserError, match="share no originality"):
        area_between(flat, parabola(1, 0, 0, (5, 6)))
    assert compare_curves(flat, parabola(1, 0, 0, (5, 6))) == {}
    assert set(compare_curves(flat, falling)) == {"curve_area", "curve_crossing"}
    assert set(compare_curves(falling, flat)) == {"curve_area"}


# distance to people


def test_a_new_model_is_placed_without_moving_the_others(tmp_path: Path):
    rng = seeds.rng("plane")
    diverse, named = rng.normal(1, 0.3, 30), rng.normal(0.9, 0.05, 30)
    reference = fit_reference("published", diverse, named)
    before = reference.distance(diverse, named, (diverse[0], named[0]))
    after = reference.distance(np.append(diverse, 9.0), np.append(named, 0.1), (diverse[0], named[0]))
    assert after[:30].tolist() == before.tolist() and before[0] == 0
    z = np.stack([stats.zscores(diverse), stats.zscores(named)])
    assert before == pytest.approx(np.hypot(*(z - z[:, :1])))
    reference.save(tmp_path / "reference.json")
    assert load_reference(tmp_path / "reference.json") == reference


def test_a_file_that_is_no_reference_is_refused(tmp_path: Path):
    (tmp_path / "wrong.json").write_text('{"name": "x", "diversity": {"mean": 1, "std": 0}}')
    with pytest.raises(UserError, match="holds no reference"):
        load_reference(tmp_path / "wrong.json")


def test_what_drawings_contribute_to_the_distance_adds_up_to_it():
    mine, hers = (seeds.rng("sides", who).random((2, 4, 6)) for who in range(2))
    reference = fit_reference("people", hers[0].mean(axis=1), hers[1].mean(axis=1))
    by_drawing = reference.distance_by_drawing(mine[0], mine[1], (hers[0], hers[1]))
    means = [axis.mean(axis=1) for axis in (*mine, *hers)]
    assert by_drawing.mean(axis=1) == pytest.approx(reference.distance(means[0], means[1], (means[2], means[3])))
    assert (reference.distance_by_drawing(hers[0], hers[1], (hers[0], hers[1])) == 0).all()


def test_families_come_nearest_first():
    found = family_medians(np.array([3.0, 1, 2, 9, 8]), ["a", "b", "b", "a", "a"], rng=seeds.rng("families"))
    assert [(name, found[name].value, found[name].n) for name in found] == [("b", 1.5, 2), ("a", 8, 3)]
    assert found["a"].lo <= 8 <= found["a"].hi


# the ceiling


def test_halves_share_no_drawer_and_trade_places():
    makers = np.array([[4, 2, 0, 1, 3], [0, 1, 2, 3, 4]])
    first, last = ceiling.drawer_halves(makers, 6, rng=seeds.rng("halves"))
    assert first.shape == last.shape == (2, 6, 2)
    for k in range(2):
        for split in range(6):
            assert not set(makers[k][first[k, split]]) & set(makers[k][last[k, split]])
    assert (first[:, :3] == last[:, 3:]).all() and (first[:, 3:] == last[:, :3]).all()
    in_order = [sorted(makers[k][first[k, 0]]) for k in range(2)]
    assert in_order[0] == in_order[1]  # the same drawers, whatever they drew
    with pytest.raises(UserError, match="even number of splits"):
        ceiling.drawer_halves(makers, 3, rng=seeds.rng("halves"))


def test_reliability_is_one_for_equal_halves_and_follows_spearman_and_brown():
    rng = seeds.rng("reliable")
    true = rng.normal(size=(200, 1))
    draws = stats.resample(200, 100, rng=rng)
    assert ceiling.reliability(true, true, weights=draws).value == pytest.approx(1)
    one, other = (true + rng.normal(size=(200, 40)) for _ in range(2))
    assert ceiling.reliability(one, other, weights=draws).value == pytest.approx(2 / 3, abs=0.1)  # r is 1/2


# how sure


def test_a_concepts_interval_is_students_over_its_drawings_within_reach():
    values = seeds.rng("students").random((1, 3, 10))
    low, high = concept_intervals(Measure("share", "", ("a",), values, (0.0, 0.6)))
    plain = stats.mean(values[0].T)
    assert low == pytest.approx(plain.lo)
    assert high == pytest.approx(np.minimum(plain.hi, 0.6))


def test_no_error_at_all_leaves_room_for_one_that_was_not_seen():
    right = Measure("share", "", ("a", "b"), np.ones((2, 30, 19)), SHARE)
    overall, *rest = to_scores(right, "agent", tuple(map(str, range(30))))
    assert overall.ci95 == pytest.approx((0.05 ** (1 / 30), 1))  # over 30 concepts
    for score in rest:
        n = 19 if score.concept else 30
        assert score.n == n and score.ci95 == pytest.approx((0.05 ** (1 / n), 1))


def test_three_critics_by_hand():
    # two concepts by three critics: 1 and 2 by the first, 2 and 3 by the second, 3 and 4 by the third
    value = np.array([[1.0, 2], [2, 3], [3, 4]])
    found = interval_over(value, POSITIVE)
    # over concepts, 2 and 3: Student's t of 1 degree, 12.706 · √(0.5 / 2); over critics, 1.5, 2.5 and 3.5, whose residuals are 0:
    # Student's t of 2 degrees, 4.303 · √(1 / 3)
    half = np.hypot(12.706205 * 0.5, 4.302653 * np.sqrt(1 / 3))
    assert (found.value, found.lo, found.hi) == pytest.approx((2.5, 0, 2.5 + half))
    two = interval_over(value[:2], POSITIVE)  # of these two alone
    assert two.hi - two.value == pytest.approx(12.706205 * 0.5)


def test_the_order_of_concepts_and_critics_changes_no_interval():
    value = seeds.rng("critics").beta(9, 1, (3, 20))
    turned = value[[2, 0, 1]][:, seeds.rng("turned").permutation(20)]
    for reach in (SHARE, POSITIVE):
        one, other = interval_over(value, reach), interval_over(turned, reach)
        assert (one.lo, one.value, one.hi) == pytest.approx((other.lo, other.value, other.hi))
        assert one.lo < one.value < one.hi


def test_critics_that_disagree_widen_every_interval():
    values = seeds.rng("critics").random((1, 12, 10))
    agree, differ = np.repeat(values, 3, axis=0), values + np.array([-1.0, 0, 1])[:, None, None]
    concepts, spaces = tuple("abcdefghijkl"), ("x", "y", "z")
    width = []
    for by_drawing in (agree, differ):
        found = list(to_scores(Measure("m", "", spaces, by_drawing, (-9, 9)), "agent", concepts))
        assert [score.space for score in found[:4]] == ["", *spaces] and len(found) == 4 + 12
        assert found[0].value == pytest.approx(np.mean([score.value for score in found[1:4]]))
        width.append([score.ci95[1] - score.ci95[0] for score in (found[0], found[4], found[1])])
    assert width[1][0] > 2 * width[0][0] and width[1][1] > 2 * width[0][1]
    assert width[1][2] == pytest.approx(width[0][2])  # one critic by itself is as sure as before


def test_concepts_without_a_measure_are_left_out():
    by_drawing = np.ones((1, 4, 3))
    by_drawing[0, 1] = 100
    measure = Measure("m", "", ("x",), by_drawing, mask=np.array([True, False, True, True]))
    found = list(to_scores(measure, "agent", ("a", "b", "c", "d")))
    assert found[0].value == 1 and found[0].n == 3
    assert [score.concept for score in found if score.concept] == ["a", "c", "d"]


def test_the_same_concepts_are_drawn_for_any_number_of_critics():
    one, three = (sample_resamples(7, n, 5, seeds.rng("same")) for n in (1, 3))
    assert (one.concepts == three.concepts).all()
    means = np.arange(10.0).reshape(5, 2)
    assert Resamples(one.concepts, np.zeros((5, 2))).over_critics(means) == pytest.approx(means[:, 0])
