"""What the statistics do at the edges of what they take: the fewest units, many, refused ones, and options that must arrive."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

from exemplar import stats
from exemplar.errors import UserError
from exemplar.stats import weighted


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: weighted.std([3.0]), "^values has 1, at least 2 are needed: give more$"),
        (lambda: weighted.std([]), "^values is empty: give at least 2 of them$"),
        (lambda: weighted.mean([]), "^values is empty: give at least 1 of them$"),
        (lambda: weighted.difference([3.0], [True]), "^values has 1, at least 2 are needed"),
        (lambda: weighted.pearson([3.0], [1.0]), "^x has 1, at least 2 are needed"),
        (lambda: weighted.pearson([3.0, 1.0], [1.0]), "^y has 1, at least 2 are needed"),
        (lambda: weighted.spearman(generator().normal(size=(4, 2, 2)), range(4)), r"^x must be \(n,\) or \(n, d\), it is \(4, 2, 2\)"),
        (lambda: stats.proportion([1, 5, 9], [4, 4, 4]), "^5 successes of 4 trials"),
        (lambda: stats.proportion([[1, 2], [3, -1]], 4), "^-1 successes of 4 trials"),
        (lambda: stats.proportion(1.5, 4), "^1.5 successes of 4 trials"),
        (lambda: stats.proportion(1, 2.5), "^1 successes of 2.5 trials"),
        (lambda: stats.bootstrap([1, 2, 3, 4], groups=list("aabb"), strata=list("ccdc"), rng=generator()), "^the group of unit 2 is in two strata"),
        (lambda: stats.bootstrap([1, 2, 3, 4], groups=list("aabb"), strata=list("cccd"), rng=generator()), "^the group of unit 2 is in two strata"),
        (lambda: stats.correlation_test([[1.0, 2], [2, 1], [3, 5]], [1, 2, 4], rng=generator()), "^x must be one measure"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_refused(mistake: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        mistake()


@pytest.mark.parametrize("level", [-0.5, 0, 1, 1.5, 95, np.nan])
def test_a_level_lies_between_0_and_1(level: float) -> None:
    for made in (
        lambda: stats.mean([1, 2, 4], level=level),
        lambda: stats.proportion(1, 4, level=level),
        lambda: stats.pearson([1, 2, 3, 5], [4, 2, 1, 5], level=level),
        lambda: stats.bootstrap([1, 2, 4], level=level, rng=generator()),
    ):
        with pytest.raises(UserError, match="must lie between 0 and 1"):
            made()


def test_two_units_are_enough_for_a_line_and_a_spread() -> None:
    both = np.ones((1, 2))
    assert weighted.pearson([0, 1], [5, 3])(both) == weighted.spearman([0, 1], [5, 3])(both) == -1
    assert weighted.std([1, 3])(both) == pytest.approx(np.sqrt(2))
    assert weighted.difference([1, 3], [True, False])(both) == -2


@pytest.mark.parametrize("n", [300, 1000])
def test_many_units_are_units_too(n: int) -> None:
    x, y = generator(n).normal(size=(2, n))
    assert stats.pearson(x, y).value == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
    assert stats.bootstrap(x, strata=np.arange(n) % 2, n_replicates=50, rng=generator()).n == n


def test_measures_far_from_each_other_are_each_as_exact_as_alone() -> None:
    x, y = generator(1).normal(size=(2, 40))
    apart = np.stack([x, x + 1e9], axis=1)
    for statistic in (
        weighted.std,
        lambda values: weighted.pearson(values, y),
        lambda values: weighted.pearson(y, values),
    ):
        near, far = statistic(apart)(stats.resample(40, 20, rng=generator())).T
        assert np.allclose(near, far, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "statistic"), [(stats.pearson, weighted.pearson), (stats.spearman, weighted.spearman)]
)
def test_a_bootstrapped_correlation_is_the_bootstrap_of_the_correlation(kind, statistic) -> None:
    x, y = generator(2).normal(size=(2, 30))
    groups = np.arange(30) // 2
    for options in ({"level": 0.5}, {"method": "percentile"}, {"groups": groups}, {"n_replicates": 200}):
        given = {"method": "bca", "level": 0.95, "n_replicates": 300, "groups": None, **options}
        assert kind(x, y, rng=generator(), **given) == stats.bootstrap(statistic(x, y), rng=generator(), **given)


def test_the_level_of_a_bootstrap_is_the_share_of_its_replicates() -> None:
    x, y = generator(3).normal(size=(2, 30))
    replicates = weighted.pearson(x, y)(stats.resample(30, 999, rng=generator()))
    found = stats.pearson(x, y, level=0.5, method="percentile", n_replicates=999, rng=generator())
    assert np.mean((replicates >= found.lo) & (replicates <= found.hi)) == pytest.approx(0.5, abs=0.01)


def test_differences_that_all_point_one_way_are_matched_by_no_flipping() -> None:
    """Of 2³⁰ ways to flip thirty equal differences one is as far up: none of a thousand random ones. Two sides count twice."""
    for alternative, p in (("two-sided", 2 / 1000), ("greater", 1 / 1000), ("less", 1.0)):
        options = {"alternative": alternative, "n_permutations": 999, "rng": generator()}
        assert stats.paired_test(np.ones(30), np.zeros(30), **options) == stats.PermutationTest(1.0, p, 999, False)


def test_equal_differences_are_flipped_as_coins_fall() -> None:
    """18 of 30 point up: as many or more do so as often as 30 coins show 18 heads."""
    differences, n = np.repeat([1.0, -1.0], [18, 12]), 20_000
    options = {"n_permutations": n, "rng": generator()}
    expected = scipy.stats.binom.sf(17, 30, 0.5)
    found = stats.paired_test(differences, np.zeros(30), alternative="greater", **options)
    assert found.p == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / n))


def test_a_spearman_test_of_ranks_is_a_pearson_test_of_them() -> None:
    x, y = generator(4).integers(0, 5, (2, 8)).astype(float)
    ranked = [scipy.stats.rankdata(part) for part in (x, y)]
    found = stats.correlation_test(x, y, kind="spearman", n_permutations=500, rng=generator())
    assert found == stats.correlation_test(*ranked, n_permutations=500, rng=generator())
