"""The statistics against SciPy, statsmodels and cases worked by hand; and whether 95 % intervals hold the truth as often."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from exemplar import stats
from exemplar.errors import UserError
from exemplar.stats import weighted
from exemplar.stats.bootstrapping import METHODS

SEED = st.integers(0, 2**32 - 1)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(weights: np.ndarray) -> np.ndarray:
    """The resample a row of weights stands for: unit i as often as its weight says."""
    return np.repeat(np.arange(len(weights)), weights.astype(int))


def ends(estimate: stats.Estimate) -> np.ndarray:
    return np.array([estimate.lo, estimate.hi])


def scipy_interval(
    data: tuple[np.ndarray, ...], statistic: Callable[..., Any], replicates: np.ndarray, method: str, **options: Any
) -> tuple[float, float]:
    """What scipy.stats.bootstrap makes of replicates it did not draw."""
    given_to_it = SimpleNamespace(bootstrap_distribution=replicates)
    options = {"n_resamples": 0, "bootstrap_result": given_to_it, "vectorized": False, **options}
    found = scipy.stats.bootstrap(data, statistic, method="BCa" if method == "bca" else method, **options)
    return found.confidence_interval


# --- weights -------------------------------------------------------------------------------------------------------


def test_each_replicate_draws_as_many_units_as_there_are_and_each_unit_once_on_average() -> None:
    weights = stats.resample(7, 20_000, rng=generator())
    assert (weights.sum(axis=1) == 7).all()
    # a count is Binomial(7, 1/7): mean 1, variance 6/7; counts of two units covary by −1/7
    covariance = np.cov(weights.T)
    assert np.allclose(weights.mean(axis=0), 1, atol=5 * math.sqrt(6 / 7 / 20_000))
    assert np.allclose(covariance, np.eye(7) - 1 / 7, atol=0.05)


def test_groups_are_drawn_whole() -> None:
    groups = np.array(list("aabbbcda"))
    weights = stats.resample(8, 500, groups=groups, rng=generator())
    for label in "abcd":
        assert (np.ptp(weights[:, groups == label], axis=1) == 0).all()
    assert (weights[:, [0, 2, 5, 6]].sum(axis=1) == 4).all()


@pytest.mark.parametrize("groups", [list("aabbccdd"), list("abbdccdddd")])
def test_two_levels_draw_groups_and_then_as_many_units_as_each_drawn_group_has(groups: list[str]) -> None:
    labels = np.array(groups)
    names, size = np.unique(labels, return_counts=True)
    weights = stats.resample(len(labels), 20_000, groups=labels, within=True, rng=generator())
    in_group = np.stack([weights[:, labels == name].sum(axis=1) for name in names], axis=1)
    assert (in_group % size == 0).all() and ((in_group / size).sum(axis=1) == len(names)).all()
    assert np.ptp(weights[:, labels == "d"], axis=1).max() > 0
    assert np.allclose(weights.mean(axis=0), 1, atol=0.06)


def test_strata_keep_their_size() -> None:
    strata = np.array([0, 1, 0, 1, 1, 2, 2, 0, 1])
    weights = stats.resample(9, 300, strata=strata, rng=generator())
    for stratum, size in enumerate(np.bincount(strata)):
        assert (weights[:, strata == stratum].sum(axis=1) == size).all()


def test_groups_are_drawn_within_their_strata() -> None:
    strata = np.repeat(["easy", "hard"], [6, 4])
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 4])
    weights = stats.resample(10, 300, groups=groups, strata=strata, rng=generator())
    heads = weights[:, [0, 2, 4, 6, 7]]
    assert (heads[:, :3].sum(axis=1) == 3).all() and (heads[:, 3:].sum(axis=1) == 2).all()
    assert np.array_equal(weights, heads[:, groups])


def test_the_variance_of_a_two_level_mean_is_that_of_group_means_plus_that_within() -> None:
    values = generator(1).normal(size=(12, 5)) + 2 * generator(2).normal(size=(12, 1))
    groups = np.repeat(np.arange(12), 5)
    weights = stats.resample(60, 40_000, groups=groups, within=True, rng=generator())
    expected = values.mean(axis=1).var() / 12 + values.var(axis=1).mean() / 60
    assert weighted.mean(values.ravel())(weights).var() == pytest.approx(expected, rel=0.04)


def test_leaving_one_out_leaves_one_out() -> None:
    assert np.array_equal(stats.leave_one_out(3), 1 - np.eye(3))
    assert stats.leave_one_out(3, groups=["b", "a", "b"]).tolist() == [[0, 1, 0], [1, 0, 1]]


def test_blocks_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = stats.resample(50, 400, rng=generator())
    values = generator(1).normal(size=50)
    estimate = stats.bootstrap(values, n_replicates=400, rng=generator())
    by_hand = stats.interval(weighted.mean(values)(whole), values.mean(), n=50)
    assert np.allclose(ends(estimate), ends(by_hand), rtol=1e-12)
    monkeypatch.setattr("exemplar.stats.resampling.CACHED", 10**6)
    assert np.array_equal(whole, stats.resample(50, 400, rng=generator()))


# --- statistics of weights -----------------------------------------------------------------------------------------

VALUES = np.round(generator(3).normal(size=(15, 2)), 1)  # rounded: with ties
FIRST = np.arange(15) < 6


@pytest.mark.parametrize(
    ("statistic", "plain"),
    [
        (weighted.mean(VALUES), lambda i: VALUES[i].mean(axis=0)),
        (weighted.std(VALUES), lambda i: VALUES[i].std(axis=0, ddof=1)),
        (weighted.median(VALUES), lambda i: np.median(VALUES[i], axis=0)),
        (weighted.quantile(VALUES, 0.37), lambda i: np.quantile(VALUES[i], 0.37, axis=0)),
        (weighted.difference(VALUES, FIRST), lambda i: VALUES[i][FIRST[i]].mean(0) - VALUES[i][~FIRST[i]].mean(0)),
        (weighted.ratio(VALUES, FIRST), lambda i: VALUES[i][FIRST[i]].mean(0) / VALUES[i][~FIRST[i]].mean(0)),
        (weighted.pearson(*VALUES.T), lambda i: scipy.stats.pearsonr(*VALUES[i].T).statistic),
        (weighted.spearman(*VALUES.T), lambda i: scipy.stats.spearmanr(*VALUES[i].T).statistic),
        (weighted.pearson(VALUES, VALUES[:, 1]), lambda i: [scipy.stats.pearsonr(*VALUES[i].T).statistic, 1]),
        (weighted.spearman(VALUES[:, 1], VALUES), lambda i: [scipy.stats.spearmanr(*VALUES[i].T).statistic, 1]),
    ],
)
def test_a_statistic_of_weights_is_the_statistic_of_the_resample(
    statistic: stats.Statistic, plain: Callable[[np.ndarray], Any]
) -> None:
    groups = np.arange(15) % 4  # of several sizes, so that totals differ too
    for weights in (
        stats.resample(15, 60, strata=FIRST, rng=generator()),
        stats.resample(15, 60, groups=groups, rng=generator()),
    ):
        expected = np.array([plain(drawn(row)) for row in weights])
        assert np.allclose(statistic(weights), expected, atol=1e-12)


def test_weighted_moments_are_those_of_statsmodels() -> None:
    weights = stats.resample(15, 5, groups=np.arange(15) // 2, rng=generator())
    for row, mean, std in zip(weights, weighted.mean(VALUES)(weights), weighted.std(VALUES)(weights), strict=True):
        oracle = DescrStatsW(VALUES, weights=row, ddof=1)
        assert np.allclose(mean, oracle.mean) and np.allclose(std, oracle.std)


def test_a_large_offset_or_a_tiny_scale_costs_no_digits() -> None:
    x, y = generator(4).normal(size=(2, 40))
    weights = stats.resample(40, 50, rng=generator())
    for statistic in (weighted.std, lambda values: weighted.pearson(values, y)):
        assert np.allclose(statistic(x + 1e7)(weights), statistic(x)(weights), rtol=1e-6)
    assert np.allclose(weighted.pearson(x * 1e-150, y)(weights), weighted.pearson(x, y)(weights))


def test_a_correlation_of_one_unit_drawn_again_and_again_does_not_exist() -> None:
    rows = np.array([[5.0, 0, 0, 0, 0], [0, 4, 1, 0, 0]])
    x, y = [0.1, 0.7, 0.2, 0.9, 0.4], [3.3, 1.7, 1.9, 2.3, 0.1]
    for statistic in (weighted.pearson(x, y), weighted.spearman(x, y)):
        assert np.isnan(statistic(rows)[0]) and statistic(rows)[1] == pytest.approx(-1)
    assert weighted.std(x)(rows)[0] == 0


@settings(deadline=None, max_examples=40)
@given(seed=SEED, shift=st.floats(-100, 100), factor=st.floats(0.01, 100))
def test_shift_scale_and_order_of_units_matter_only_as_they_should(seed: int, shift: float, factor: float) -> None:
    rng = generator(seed)
    x, y = rng.normal(size=(2, 12))
    weights, order = stats.resample(12, 30, strata=np.arange(12) // 6, rng=rng), rng.permutation(12)

    def close(a: np.ndarray, b: np.ndarray) -> bool:
        return np.allclose(a, b, rtol=1e-7, atol=1e-7, equal_nan=True)

    moved = shift + factor * x
    for location in (weighted.mean, weighted.median):
        assert close(location(moved)(weights), shift + factor * location(x)(weights))
    assert close(weighted.std(moved)(weights), factor * weighted.std(x)(weights))
    assert close(weighted.pearson(moved, y)(weights), weighted.pearson(x, y)(weights))
    assert close(weighted.spearman(np.exp(x), -y)(weights), -weighted.spearman(x, y)(weights))
    for pair in (weighted.pearson, weighted.spearman):
        assert close(pair(x[order], y[order])(weights[:, order]), pair(x, y)(weights))
        assert close(pair(y, x)(weights), pair(x, y)(weights))


# --- bootstrap intervals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_intervals_are_scipys_on_the_same_resamples(method: str, level: float) -> None:
    x = generator(5).exponential(size=25)
    y = x + generator(6).normal(size=25)
    cases: list[tuple[stats.Statistic, tuple[np.ndarray, ...], Callable[..., Any]]] = [
        (weighted.mean(x), (x,), np.mean),
        (weighted.std(x), (x,), lambda a: a.std(ddof=1)),
        (weighted.median(x), (x,), np.median),
        (weighted.pearson(x, y), (x, y), lambda a, b: scipy.stats.pearsonr(a, b).statistic),
        (weighted.spearman(x, y), (x, y), lambda a, b: scipy.stats.spearmanr(a, b).statistic),
    ]
    for statistic, data, plain in cases:
        replicates = statistic(stats.resample(25, 999, rng=generator(7)))
        ours = stats.bootstrap(statistic, method=method, level=level, n_replicates=999, rng=generator(7))
        options = {"confidence_level": level, "paired": True}
        theirs = scipy_interval(data, plain, replicates, method, **options)
        assert np.allclose(ends(ours), theirs, rtol=1e-9, atol=1e-12)
        assert ours.n == 25


@pytest.mark.parametrize("method", METHODS)
def test_two_independent_samples_are_two_strata(method: str) -> None:
    first, second = generator(8).exponential(size=12), generator(9).exponential(size=30)
    values, mask = np.concatenate([first, second]), np.arange(42) < 12
    for statistic, plain in (
        (weighted.difference(values, mask), lambda a, b: a.mean() - b.mean()),
        (weighted.ratio(values, mask), lambda a, b: a.mean() / b.mean()),
    ):
        ours = stats.bootstrap(statistic, strata=mask, method=method, n_replicates=1500, rng=generator(7))
        replicates = statistic(stats.resample(42, 1500, strata=mask, rng=generator(7)))
        assert np.allclose(ends(ours), scipy_interval((first, second), plain, replicates, method), rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_an_independent_bootstrap_of_scipys_agrees_within_monte_carlo_error(method: str) -> None:
    x = generator(10).gamma(2, size=40)
    ours = stats.bootstrap(x, method=method, n_replicates=20_000, rng=generator(1))
    name = "BCa" if method == "bca" else method
    theirs = scipy.stats.bootstrap((x,), np.mean, method=name, n_resamples=20_000, rng=generator(2))
    assert np.allclose(ends(ours), theirs.confidence_interval, atol=0.05 * theirs.standard_error)


def test_a_bootstrap_of_two_values_by_hand() -> None:
    # Means of two draws from {0, 1}: 0, ½, ½, 1 with equal chance, so a 40 % interval ends at ½ and a 60 % one at 0 and 1.
    for level, lo, hi in ((0.4, 0.5, 0.5), (0.6, 0.0, 1.0)):
        estimate = stats.bootstrap([0.0, 1.0], level=level, n_replicates=5000, rng=generator())
        assert estimate == stats.Estimate(0.5, lo, hi, 2)


def test_an_array_of_measures_has_an_array_of_intervals_each_as_if_alone() -> None:
    values = generator(11).exponential(size=(20, 2, 3))
    for method in METHODS:
        together = stats.bootstrap(values, method=method, rng=generator())
        alone = stats.bootstrap(values[:, 1, 2], method=method, rng=generator())
        assert together.value.shape == together.lo.shape == together.hi.shape == (2, 3)
        assert np.allclose(ends(together[1, 2]), ends(alone)) and together[1, 2].n == alone.n == 20


@settings(deadline=None, max_examples=30)
@given(seed=SEED, method=st.sampled_from(METHODS))
def test_a_group_of_copies_has_the_interval_of_one_whatever_groups_are_called(seed: int, method: str) -> None:
    values = generator(seed).normal(size=10)
    size = 3
    one = stats.bootstrap(values, method=method, n_replicates=200, rng=generator())
    for names in (np.arange(10), np.array(list("qwertyuiop")), -np.arange(10.0)):
        copies = stats.bootstrap(
            np.repeat(values, size), groups=np.repeat(names, size), method=method, n_replicates=200, rng=generator()
        )
        assert copies.n == one.n == 10
        assert np.allclose([copies.value, copies.lo, copies.hi], [one.value, one.lo, one.hi], atol=1e-9)


def test_bca_over_groups_is_bca_of_their_means() -> None:
    values, groups = generator(12).exponential(size=(15, 4)), np.repeat(np.arange(15), 4)
    over_groups = stats.bootstrap(values.ravel(), groups=groups, method="bca", rng=generator())
    assert np.allclose(ends(over_groups), ends(stats.bootstrap(values.mean(axis=1), method="bca", rng=generator())))


def test_constant_values_leave_no_doubt() -> None:
    for method in METHODS:
        assert stats.bootstrap(np.full(6, 0.25), method=method, rng=generator()) == stats.Estimate(0.25, 0.25, 0.25, 6)


def test_replicates_without_a_value_widen_the_interval_and_too_many_are_an_error() -> None:
    replicates = np.linspace(-1, 1, 1001)
    without = replicates.copy()
    without[[400, 500, 600]] = np.nan
    full, some = stats.interval(replicates, 0.0, n=9), stats.interval(without, 0.0, n=9)
    assert some.lo < full.lo and full.hi < some.hi
    assert some.hi == pytest.approx(0.956)  # three counted as highest: the 976th of the 998 values that are left
    without[:30] = np.nan
    with pytest.raises(UserError, match="does not exist for 33 of 1001 resamples"):
        stats.interval(without, 0.0, n=9)


def test_the_same_seed_gives_the_same_bytes() -> None:
    values, groups = generator(13).normal(size=(40, 3)), np.arange(40) // 3
    for options in ({}, {"groups": groups}, {"groups": groups, "within": True}, {"strata": np.arange(40) % 7}):
        for method in METHODS:
            one, two = (stats.bootstrap(values, method=method, rng=generator(3), **options) for _ in range(2))
            assert ends(one).tobytes() == ends(two).tobytes()
    tests = [stats.difference_test(values[:15], values[15:], n_permutations=500, rng=generator(3)) for _ in range(2)]
    assert tests[0].p.tobytes() == tests[1].p.tobytes()


# --- coverage ------------------------------------------------------------------------------------------------------

N_SETS = 1000  # data sets a coverage is counted over


def coverage(estimate: stats.Estimate, truth: float) -> float:
    return float(((estimate.lo <= truth) & (truth <= estimate.hi)).mean())


def within_binomial_error(found: float, expected: float) -> bool:
    return abs(found - expected) < 3.3 * math.sqrt(expected * (1 - expected) / N_SETS)


def test_students_interval_holds_the_mean_95_times_in_100() -> None:
    assert within_binomial_error(coverage(stats.mean(generator(20).normal(size=(8, N_SETS))), 0), 0.95)


@pytest.mark.parametrize("method", METHODS)
def test_bootstrap_intervals_hold_the_mean_as_often_as_theory_says(method: str) -> None:
    # The bootstrap's spread lacks Bessel's correction and Student's tails: this much is to be expected of normal data.
    n = 30
    expected = 1 - 2 * scipy.stats.t.sf(1.96 * math.sqrt((n - 1) / n), n - 1)
    estimate = stats.bootstrap(
        generator(21).normal(size=(n, N_SETS)), method=method, n_replicates=2000, rng=generator()
    )
    assert within_binomial_error(coverage(estimate, 0), expected)


def test_groups_and_two_levels_hold_the_mean_where_ignoring_groups_does_not() -> None:
    n_groups, size = 40, 6
    shared, own = generator(22).normal(size=(n_groups, 1, N_SETS)), generator(23).normal(size=(n_groups, size, N_SETS))
    values, groups = (shared + own).reshape(-1, N_SETS), np.repeat(np.arange(n_groups), size)
    whole = coverage(stats.bootstrap(values, groups=groups, rng=generator()), 0)
    both = coverage(stats.bootstrap(values, groups=groups, within=True, rng=generator()), 0)
    naive = coverage(stats.bootstrap(values, rng=generator()), 0)

    def expected(variance: float) -> float:
        """For a bootstrap variance that is this multiple of the variance of the mean, as Student would have it."""
        return 1 - 2 * scipy.stats.t.sf(1.96 * math.sqrt(variance), n_groups - 1)

    kept = 1 - 1 / n_groups
    twice = (1 / size) * (1 - 1 / size) / (1 + 1 / size)  # what the second level adds to what group means already vary
    assert within_binomial_error(whole, expected(kept))
    assert within_binomial_error(both, expected(kept + twice))
    assert naive < 0.75


def test_strata_hold_the_mean_where_ignoring_them_is_too_cautious() -> None:
    strata = np.repeat(np.arange(8), 12)
    values = generator(24).normal(size=(96, N_SETS)) + 2.0 * strata[:, None] - 7.0
    expected = 1 - 2 * scipy.stats.t.sf(1.96 * math.sqrt(11 / 12), 8 * 11)
    assert within_binomial_error(coverage(stats.bootstrap(values, strata=strata, rng=generator()), 0), expected)
    assert coverage(stats.bootstrap(values, rng=generator()), 0) > 0.99


@pytest.mark.parametrize("kind", [stats.pearson, stats.spearman])
def test_intervals_of_correlations_hold_the_truth(kind: Callable[..., stats.Estimate]) -> None:
    rho, n = 0.6, 60
    x, noise = generator(25).normal(size=(2, n, N_SETS))
    truth = rho if kind is stats.pearson else 6 / math.pi * math.asin(rho / 2)
    y = rho * x + math.sqrt(1 - rho**2) * noise
    assert within_binomial_error(coverage(kind(x, y), truth), 0.95)


@pytest.mark.parametrize(("method", "least"), [("wilson", 0.93), ("clopper-pearson", 0.95)])
def test_intervals_of_proportions_hold_the_truth(method: str, least: float) -> None:
    n = 40
    k = np.arange(n + 1)
    for p in (0.1, 0.35, 0.5):
        estimate = stats.proportion(k, n, method=method)
        chance = scipy.stats.binom.pmf(k, n, p)[(estimate.lo <= p) & (p <= estimate.hi)].sum()
        assert least <= chance < 0.99


# --- intervals in closed form and correlations ---------------------------------------------------------------------


def test_students_interval_is_that_of_statsmodels() -> None:
    values = generator(30).normal(size=(11, 3))
    estimate = stats.mean(values, level=0.9)
    assert np.allclose(ends(estimate), DescrStatsW(values).tconfint_mean(alpha=0.1))
    assert stats.mean([1, 2, 3]).hi == pytest.approx(2 + 4.302652729911275 / math.sqrt(3))


@pytest.mark.parametrize(("method", "name"), [("wilson", "wilson"), ("clopper-pearson", "beta")])
def test_intervals_of_proportions_are_those_of_statsmodels(method: str, name: str) -> None:
    n = np.array([1, 5, 20, 1000])[:, None]
    k = np.minimum(np.array([0, 1, 3, 1000]), n)
    estimate = stats.proportion(k, n, method=method, level=0.9)
    assert np.allclose(
        ends(estimate), proportion_confint(k, np.broadcast_to(n, k.shape), alpha=0.1, method=name), atol=1e-12
    )
    assert estimate.value.shape == estimate.n.shape == (4, 4)
    assert isinstance(stats.proportion(3, 4, method=method).lo, float)


def test_pearson_and_its_p_are_scipys() -> None:
    x, y = generator(31).normal(size=(2, 20))
    y = y - 0.4 * x
    oracle = scipy.stats.pearsonr(x, y)
    estimate = stats.pearson(x, y, level=0.9)
    assert estimate.value == pytest.approx(oracle.statistic) and estimate.value < 0
    assert np.allclose(ends(estimate), oracle.confidence_interval(0.9))
    for alternative in ("two-sided", "greater", "less"):
        expected = scipy.stats.pearsonr(x, y, alternative=alternative).pvalue
        assert stats.correlation_p(estimate.value, 20, alternative=alternative) == pytest.approx(expected)


def test_spearman_with_ties_and_its_p_are_scipys() -> None:
    x, y = generator(32).integers(0, 6, size=(2, 30))
    oracle = scipy.stats.spearmanr(x, y)
    estimate = stats.spearman(x, y)
    assert estimate.value == pytest.approx(oracle.statistic)
    assert stats.correlation_p(estimate.value, 30) == pytest.approx(oracle.pvalue, rel=1e-9, abs=0)
    error = math.sqrt((1 + oracle.statistic**2 / 2) / 27)
    assert np.allclose(
        np.arctanh(ends(estimate)), math.atanh(oracle.statistic) + np.array([-1.959964, 1.959964]) * error
    )


def test_a_perfect_correlation_stays_perfect() -> None:
    x = np.arange(6.0)
    for kind in (stats.pearson, stats.spearman):
        assert kind(x, -2 * x) == stats.Estimate(-1.0, -1.0, -1.0, 6)
        bootstrapped = kind(x, 3 * x + 1, n_replicates=200, rng=generator())
        assert np.allclose([bootstrapped.value, bootstrapped.lo, bootstrapped.hi], 1)
    assert stats.correlation_p(1.0, 6) == 0


def test_a_correlation_over_groups_of_copies_is_as_sure_as_one_over_single_units() -> None:
    x, y = generator(33).normal(size=(2, 25)) + generator(34).normal(size=25)
    for kind in (stats.pearson, stats.spearman):
        single = kind(x, y, rng=generator())
        copies = kind(np.repeat(x, 4), np.repeat(y, 4), groups=np.repeat(np.arange(25), 4), rng=generator())
        assert np.allclose(ends(single), ends(copies)) and copies.n == 25
        assert np.diff(ends(kind(np.repeat(x, 4), np.repeat(y, 4)))) < 0.7 * np.diff(ends(copies))


# --- permutation tests ---------------------------------------------------------------------------------------------


def test_a_difference_of_means_by_hand() -> None:
    # {3, 4} against {1, 2}: of the 6 ways to choose two of four, one has as large a difference and all have as small.
    test = stats.difference_test([3, 4], [1, 2], alternative="greater", rng=generator())
    assert test == stats.PermutationTest(2.0, 1 / 6, 6, True)
    assert stats.difference_test([3, 4], [1, 2], alternative="less", rng=generator()).p == 1
    assert stats.difference_test([3, 4], [1, 2], rng=generator()).p == pytest.approx(1 / 3)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_permutation_tests_are_scipys_where_all_arrangements_are_seen(alternative: str) -> None:
    a, b = np.round(generator(40).normal(size=(2, 7)), 1)
    short = a[:5] + 0.5

    def oracle(data: tuple[np.ndarray, ...], statistic: Callable[..., Any], kind: str) -> Any:
        options = {"n_resamples": np.inf, "alternative": alternative, "vectorized": True}
        return scipy.stats.permutation_test(data, statistic, permutation_type=kind, **options)

    def difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return x.mean(axis=axis) - y.mean(axis=axis)

    def product(x: np.ndarray, axis: int) -> np.ndarray:
        return scipy.stats.pearsonr(x, np.broadcast_to(b, x.shape), axis=axis).statistic

    options: dict[str, Any] = {"alternative": alternative, "rng": generator()}
    for ours, theirs in (
        (stats.difference_test(short, b, **options), oracle((short, b), difference, "independent")),
        (stats.paired_test(a, b, **options), oracle((a, b), difference, "samples")),
        (stats.correlation_test(a, b, **options), oracle((a,), product, "pairings")),
    ):
        assert (
            ours.exact and ours.statistic == pytest.approx(theirs.statistic) and ours.p == pytest.approx(theirs.pvalue)
        )


def test_random_arrangements_agree_with_all_of_them_within_monte_carlo_error() -> None:
    a, b = generator(41).normal(size=(2, 8)) + np.array([[0.6], [0]])
    for test in (stats.difference_test, stats.paired_test, stats.correlation_test):
        exact = test(a, b, n_permutations=50_000, rng=generator())
        some = test(a, b, n_permutations=200 if test is stats.paired_test else 10_000, rng=generator())
        assert exact.exact and not some.exact
        assert some.p == pytest.approx(exact.p, abs=5 * math.sqrt(exact.p / some.n_permutations))


def test_random_arrangements_never_give_a_p_of_zero() -> None:
    far = stats.difference_test(
        np.arange(20) + 100, np.arange(20), alternative="greater", n_permutations=99, rng=generator()
    )
    assert far.p == 1 / 100 and not far.exact


def test_several_measures_share_arrangements_and_give_the_p_each_has_alone() -> None:
    a, b = generator(42).normal(size=(2, 12, 3))
    for test in (stats.difference_test, stats.paired_test):
        together = test(a, b, n_permutations=400, rng=generator())
        alone = test(a[:, 2], b[:, 2], n_permutations=400, rng=generator())
        assert together.p.shape == (3,) and together.p[2] == alone.p
    ranked = stats.correlation_test(a[:, 0], b, kind="spearman", n_permutations=400, rng=generator())
    assert np.allclose(ranked.statistic, [scipy.stats.spearmanr(a[:, 0], b[:, j]).statistic for j in range(3)])


def test_p_is_uniform_where_nothing_is_there() -> None:
    a, b = generator(43).normal(size=(2, 10, 2000))
    p = stats.difference_test(a, b, n_permutations=999, rng=generator()).p
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.001


def test_a_difference_of_nothing_has_a_p_of_one() -> None:
    same = np.full(9, 0.1)
    assert stats.difference_test(same, same[:4], rng=generator()).p == 1
    assert stats.paired_test(same, same, rng=generator()).p == 1


# --- many tests, z-scores ------------------------------------------------------------------------------------------


def test_three_p_values_adjusted_by_hand() -> None:
    p = [0.04, 0.01, 0.03]
    assert np.allclose(stats.adjust_p(p, "bonferroni"), [0.12, 0.03, 0.09])
    assert np.allclose(stats.adjust_p(p, "holm"), [0.06, 0.03, 0.06])
    assert np.allclose(stats.adjust_p(p, "benjamini-hochberg"), [0.04, 0.03, 0.04])


@settings(deadline=None, max_examples=25)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_p_values_are_those_of_statsmodels_and_scipy(p: list[float]) -> None:
    for method, name in (("bonferroni", "bonferroni"), ("holm", "holm"), ("benjamini-hochberg", "fdr_bh")):
        np.testing.assert_allclose(stats.adjust_p(p, method), multipletests(p, method=name)[1], rtol=1e-12, atol=0)
    found = stats.adjust_p(p, "benjamini-hochberg")
    np.testing.assert_allclose(found, scipy.stats.false_discovery_control(p), rtol=1e-12, atol=0)


def test_z_scores_are_scipys_and_new_values_do_not_move_the_old() -> None:
    values = generator(50).normal(3, 2, size=(9, 2))
    for ddof in (0, 1):
        assert np.allclose(stats.zscores(values, ddof=ddof), scipy.stats.zscore(values, ddof=ddof))
    scale = stats.fit_scale(values)
    more = np.concatenate([values, [[1e6, -1e6]]])
    assert np.allclose(scale.zscores(more)[:9], stats.zscores(values))
    assert stats.fit_scale([1.0, 3.0]) == stats.Scale(2.0, 1.0)
    assert np.array_equal(stats.Scale(2.0, 0.5).zscores([3.0]), [2.0])


# --- mistakes ------------------------------------------------------------------------------------------------------

RNG = generator()
GOOD = [0.1, 0.5, 0.2, 0.9]


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: stats.bootstrap([], rng=RNG), "empty"),
        (lambda: stats.bootstrap([1, np.nan, 2], rng=RNG), "nan at 1"),
        (lambda: stats.mean([[1, 2], [3, np.inf]]), r"inf at \(1, 1\)"),
        (lambda: stats.mean(["a", "b"]), "must be numbers"),
        (lambda: stats.mean(3.0), "must be a list"),
        (lambda: stats.mean([3.0]), "at least 2"),
        (lambda: stats.bootstrap([3.0], rng=RNG), "at least 2 units"),
        (lambda: stats.bootstrap(GOOD, groups=list("aaaa"), rng=RNG), "at least 2 groups"),
        (lambda: stats.bootstrap(GOOD, groups=list("ab"), rng=RNG), "one label for each"),
        (lambda: stats.bootstrap(GOOD, groups=[0, 1, np.nan, 1], rng=RNG), "NaN at 2"),
        (lambda: stats.bootstrap(GOOD, groups=np.array([0, "a", None, 1], object), rng=RNG), "cannot be compared"),
        (lambda: stats.bootstrap(GOOD, within=True, rng=RNG), "give the groups"),
        (lambda: stats.bootstrap(GOOD, strata=list("aaab"), rng=RNG), "single unit .* first is b"),
        (lambda: stats.bootstrap(GOOD, groups=list("aabb"), strata=list("ccdc"), rng=RNG), "in two strata"),
        (lambda: stats.bootstrap(GOOD, method="percentil", rng=RNG), "did you mean percentile"),
        (lambda: stats.bootstrap(GOOD, level=95, rng=RNG), "between 0 and 1"),
        (lambda: stats.bootstrap(GOOD, n_replicates=0, rng=RNG), "at least 2"),
        (lambda: stats.bootstrap(stats.Statistic(4, lambda w: w.sum()), rng=RNG), "for each of 1 rows"),
        (lambda: stats.interval(np.ones(10), 0.0, n=4, method="bca", acceleration=0.0), "one side of the value"),
        (lambda: stats.interval(np.zeros((10, 2)), 0.0, n=4), "do not belong"),
        (lambda: stats.interval(np.zeros(10), 0.0, n=4, method="bca"), "needs the acceleration"),
        (lambda: stats.interval(np.zeros(10), np.nan, n=4), "no finite value"),
        (lambda: weighted.mean(GOOD)(np.ones((3, 5))), "4 units"),
        (lambda: weighted.difference(GOOD, [True] * 4), "empty"),
        (lambda: weighted.difference(GOOD, [0, 1, 1, 0]), "True or False"),
        (lambda: weighted.quantile(GOOD, 50), "between 0 and 1"),
        (lambda: stats.pearson(GOOD, GOOD[:3]), "4 units and y has 3"),
        (lambda: stats.pearson(GOOD, [1, 1, 1, 1]), "y is constant"),
        (lambda: stats.spearman([[1, 2], [1, 3], [1, 4], [1, 1]], GOOD), "x is constant in column 0"),
        (lambda: stats.pearson(np.ones((4, 2)) * np.c_[GOOD], np.ones((4, 3)) * np.c_[GOOD]), "2 measures and y has 3"),
        (lambda: stats.pearson(GOOD, GOOD, groups=list("aabb")), "give rng"),
        (lambda: stats.pearson(GOOD[:3], GOOD[:3]), "at least 4 units"),
        (lambda: stats.correlation_p(0.3, 2), "at least 3 units"),
        (lambda: stats.correlation_p(1.3, 9), "between −1 and 1"),
        (lambda: stats.proportion(5, 4), "5 successes of 4 trials"),
        (lambda: stats.proportion(0, 0), "trials ≥ 1"),
        (lambda: stats.proportion([1, 2], [3, 4, 5]), "as many of both"),
        (lambda: stats.proportion(1, 2, method="wald"), "no interval of a proportion 'wald'"),
        (lambda: stats.paired_test(GOOD, GOOD[:3], rng=RNG), "same units"),
        (lambda: stats.difference_test(np.ones((3, 2)), np.ones((3, 1)), rng=RNG), "same for both"),
        (lambda: stats.difference_test(GOOD, [], rng=RNG), "second is empty"),
        (lambda: stats.difference_test(GOOD, GOOD, alternative="more", rng=RNG), "no alternative 'more'"),
        (lambda: stats.correlation_test(GOOD, GOOD, kind="kendall", rng=RNG), "no correlation 'kendall'"),
        (lambda: stats.adjust_p([0.1, 1.2]), "1.2 at 1"),
        (lambda: stats.adjust_p([0.1], "sidak"), "no correction 'sidak'"),
        (lambda: stats.zscores([2, 2, 2]), "constant"),
        (lambda: stats.fit_scale(np.ones((4, 2)) * GOOD[0]), "constant in measure 0"),
        (lambda: stats.fit_scale(GOOD).zscores([[1.0, 2.0]]), "measures"),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(mistake: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        mistake()
    assert "\n" not in str(caught.value)


def test_quarters_are_of_the_way_to_the_last_step() -> None:
    value = np.arange(1.0, 9.0)
    assert stats.quarter_means(100 * value, value).tolist() == [1.5, 3.5, 5.5, 7.5]
    assert stats.quarter_means([1, 2, 3, 4, 5], [1, 2, 4, 8, 16]).tolist() == [1, 2, 4, 12]  # 5 / 4 of a step each
