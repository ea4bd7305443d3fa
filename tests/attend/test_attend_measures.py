"""Pure functions of maps: hand-computed cases, invariances, and agreement with plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import correlate1d
from scipy.stats import spearmanr

from exemplar import UserError, seeds
from exemplar.attend.measures.blurring import blur, kernel_sigma, kernel_width, resize_maps
from exemplar.attend.measures.ranking import correlate_pairs, partial_correlation, rank_maps
from exemplar.attend.measures.reliability import (
    agreement_within,
    find_outliers,
    reliability_of_mean,
    sample_pairs,
    split_halves,
)
from exemplar.attend.measures.sparseness import centroids, entropy, gini, half_area, ink_overlap
from exemplar.attend.scores import ratio_of_means

some_maps = arrays(np.float64, (2, 5, 6), elements=st.floats(0, 10, width=16)).filter(
    lambda maps: np.ptp(maps.reshape(2, -1), axis=1).min() > 0.01
)


def test_the_blur_is_the_published_kernel_mirrored_at_the_edges():
    maps = seeds.rng("blur").random((2, 256, 256), dtype=np.float32)
    offset = np.arange(-24, 25)
    kernel = np.exp(-0.5 * (offset / kernel_sigma(49)) ** 2)
    kernel /= kernel.sum()
    wanted = correlate1d(correlate1d(maps, kernel, axis=1, mode="mirror"), kernel, axis=2, mode="mirror")
    np.testing.assert_allclose(blur(maps), wanted, atol=1e-6)


def test_the_kernel_is_the_same_share_of_maps_of_any_size():
    assert [kernel_width(side) for side in (256, 128, 48, 8)] == [49, 25, 9, 1]
    one = np.full((1, 5, 7), 3.0, np.float32)
    np.testing.assert_allclose(blur(one), one, rtol=1e-6)


def test_ranked_products_are_scipys_spearman_with_ties():
    maps = np.round(seeds.rng("ranks").random((6, 12, 12)), 1)
    ranked = rank_maps(maps)
    first, second = np.array([0, 1, 5]), np.array([3, 1, 2])
    wanted = [spearmanr(maps[a].ravel(), maps[b].ravel())[0] for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(correlate_pairs(ranked, first, second), wanted, atol=1e-6)
    many = seeds.rng("pairs").integers(0, 6, (2, 50))  # by one product of matrices
    wanted = [spearmanr(maps[a].ravel(), maps[b].ravel())[0] for a, b in many.T]
    np.testing.assert_allclose(correlate_pairs(ranked, *many), wanted, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(some_maps)
def test_rank_correlation_ignores_any_rising_scale(maps):
    before = correlate_pairs(rank_maps(maps), np.array([0]), np.array([1]))
    after = correlate_pairs(rank_maps(np.stack([np.exp(maps[0] / 4), 3 * maps[1] + 1])), np.array([0]), np.array([1]))
    np.testing.assert_allclose(before, after, atol=1e-5)


@pytest.mark.parametrize(("value", "word"), [(0.0, "empty"), (0.5, "constant")])
def test_a_map_that_cannot_be_ranked_is_named(value, word):
    with pytest.raises(UserError, match=f"The map of Ann for cat is {word}"):
        rank_maps(np.full((1, 4, 4), value), ["Ann for cat"])


def test_partial_correlation_by_hand():
    """As by the formula of three correlations, and 0 for what is taken out itself."""
    a, b, c = rank_maps(seeds.rng("partial").random((3, 9, 9)) + np.linspace(0, 1, 9))
    ab, ac, bc = (float(x @ y) for x, y in ((a, b), (a, c), (b, c)))
    wanted = (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))
    assert partial_correlation(a, b, c[None]) == pytest.approx(wanted, abs=1e-5)
    assert partial_correlation(a, c, c[None]) == 0.0
    assert partial_correlation(a, b, np.stack([c, c])) == pytest.approx(
        wanted, abs=1e-5
    )  # taken out twice is taken out


def test_sparseness_by_hand():
    point, even, half = (np.zeros((1, 2, 2)) for _ in range(3))
    point[0, 1, 1], even[:], half[0, 0] = 5, 2, 3
    maps = np.concatenate([point, even, half])
    np.testing.assert_allclose(gini(maps), [0.75, 0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(entropy(maps), [0.0, 1.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(half_area(maps), [0.125, 0.5, 0.25])
    np.testing.assert_allclose(centroids(maps), [[0.75, 0.75], [0.5, 0.5], [0.25, 0.5]])
    np.testing.assert_allclose(ink_overlap(maps, half.repeat(3, axis=0) / 3), [0.0, 0.5, 1.0])
    assert gini(np.array([[[1.0, 2.0], [3.0, 4.0]]]))[0] == pytest.approx(0.25)  # Σ|xi − xj| / (2 n² mean) = 20 / 80


@settings(max_examples=25, deadline=None)
@given(some_maps, st.floats(0.1, 100))
def test_sparseness_ignores_units_and_the_order_of_pixels(maps, unit):
    turned = unit * maps[:, ::-1, ::-1]
    for measure in (gini, entropy, half_area):
        np.testing.assert_allclose(measure(maps), measure(turned), atol=1e-9)
    np.testing.assert_allclose(centroids(turned), 1 - centroids(maps), atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(some_maps)
def test_blurring_never_makes_a_map_sparser_than_a_point(maps):
    assert (gini(maps) < 1).all() and (half_area(maps) <= 0.5 + 1e-12).all() and (entropy(maps) <= 1 + 1e-12).all()


def test_what_has_no_shares_is_refused():
    with pytest.raises(UserError, match="Map 0 has values below 0"):
        gini(np.array([[[-1.0, 2.0]]]))
    with pytest.raises(UserError, match="Map 1 is empty"):
        entropy(np.array([[[1.0, 2.0]], [[0.0, 0.0]]]))


def test_maps_are_resized_as_images_are_and_keep_their_scale():
    ramp = np.tile(np.arange(8, dtype=np.float32), (8, 1))[None] - 3
    small = resize_maps(ramp, (4, 4))
    assert small.mean() == pytest.approx(ramp.mean()) and small.min() < 0
    assert resize_maps(ramp, (8, 8)) is ramp


# Reliability

IMAGE, WHO = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 0])


def test_agreement_by_hand():
    ranked = rank_maps(seeds.rng("agree").random((6, 6, 6)))
    r = ranked.astype(np.float64) @ ranked.T
    found = agreement_within(ranked, IMAGE, WHO)
    assert found.image.tolist() == [0, 1]
    np.testing.assert_allclose(found.r, [(r[0, 1] + r[0, 2] + r[1, 2]) / 3, r[3, 4]], atol=1e-6)
    np.testing.assert_allclose(found.of_annotation[:2], [(r[0, 1] + r[0, 2]) / 2, (r[1, 0] + r[1, 2]) / 2], atol=1e-6)
    assert np.isnan(found.of_annotation[5])  # alone on its image


def test_one_participant_alone_has_no_reliability():
    ranked = rank_maps(seeds.rng("alone").random((6, 6, 6)))
    with pytest.raises(UserError, match="two participants"):
        agreement_within(ranked, IMAGE, np.zeros(6, int))
    with pytest.raises(UserError, match="two participants"):
        sample_pairs(IMAGE, np.zeros(6, int), 10, same=True, rng=seeds.rng("x"))


def test_random_pairs_are_of_different_participants_and_as_uniform_as_they_say():
    first, second = sample_pairs(IMAGE, WHO, 6000, same=True, rng=seeds.rng("same"))
    assert len(first) == 6000 and (IMAGE[first] == IMAGE[second]).all() and (WHO[first] != WHO[second]).all()
    assert np.bincount(IMAGE[first], minlength=3)[2] == 0
    pairs = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
    assert pairs == {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 2), (3, 4))}
    first, second = sample_pairs(IMAGE, WHO, 500, same=False, rng=seeds.rng("other"))
    assert (IMAGE[first] != IMAGE[second]).all() and (WHO[first] != WHO[second]).all()


def test_an_outlier_is_two_standard_deviations_away():
    rng = seeds.rng("outlier")
    truth = rng.standard_normal((4, 1, 12, 12))
    maps = truth + 0.3 * rng.standard_normal((4, 6, 12, 12))
    maps[2, 5] = -truth[2, 0]
    ranked = rank_maps(maps.reshape(24, 12, 12))
    agreement = agreement_within(ranked, np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4))
    r = agreement.of_annotation
    wanted = np.abs(r - r.mean()) > 2 * r.std(ddof=1)
    np.testing.assert_array_equal(find_outliers(agreement), wanted)
    assert find_outliers(agreement)[17]


def test_halves_share_nobody_and_alike_halves_are_perfectly_reliable():
    maps = seeds.rng("halves").random((6, 4, 4)).astype(np.float32)
    who = np.array([0, 0, 1, 1, 2, 3])
    first, second = split_halves(maps, who, rng=seeds.rng("x"), n_splits=30)
    total = np.stack([maps[who == p].sum(axis=0) for p in range(4)])
    for one, other in zip(first, second, strict=True):
        found = [
            np.allclose(one, total[list(a)].sum(axis=0) / np.isin(who, a).sum(), atol=1e-5)
            and np.allclose(other, total[list(b)].sum(axis=0) / np.isin(who, b).sum(), atol=1e-5)
            for a, b in (
                ((0, 1), (2, 3)),
                ((0, 2), (1, 3)),
                ((0, 3), (1, 2)),
                ((2, 3), (0, 1)),
                ((1, 3), (0, 2)),
                ((1, 2), (0, 3)),
            )
        ]
        assert sum(found) == 1
    same = np.repeat(maps[:1], 4, axis=0)
    assert reliability_of_mean(same, np.arange(4), rng=seeds.rng("x")) == pytest.approx(1.0, abs=1e-6)


def test_a_ratio_of_means_by_hand():
    found = ratio_of_means(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    assert (found.value, found.lo, found.hi, found.n) == (0.5, 0.5, 0.5, 3)
    found = ratio_of_means(np.array([0.4, 0.6]), np.array([1.0, 1.0]))
    assert found.value == 0.5 and found.hi - found.value == pytest.approx(12.706 * 0.1, rel=1e-3)
