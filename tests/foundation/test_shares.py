"""The interval of a mean of shares: against Clopper and Pearson, by hand, and whether it holds the truth near the ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from exemplar import seeds, stats
from exemplar.errors import UserError

SHARES = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=40)


@pytest.mark.parametrize("n", [1, 3, 19, 150])
def test_where_nothing_went_wrong_the_lower_end_is_the_rule_of_three(n: int) -> None:
    right, wrong = stats.mean_share(np.ones(n)), stats.mean_share(np.zeros(n))
    # half of P(no error at all), which is lo ** n, is the tail of 2.5 %
    assert (right.value, right.hi) == (1, 1) and right.lo == pytest.approx(0.05 ** (1 / n))
    assert (wrong.value, wrong.lo) == (0, 0) and wrong.hi == pytest.approx(1 - 0.05 ** (1 / n))


@pytest.mark.parametrize(("right", "n"), [(1, 2), (3, 10), (28, 30), (149, 150)])
def test_of_zeros_and_ones_it_is_the_mid_p_interval_of_a_binomial(right: int, n: int) -> None:
    found = stats.mean_share(np.arange(n) < right)
    for end, tail in ((found.lo, scipy.stats.binom.sf), (found.hi, scipy.stats.binom.cdf)):
        beyond = tail(right, n, end) if end == found.lo else tail(right - 1, n, end)
        assert beyond + scipy.stats.binom.pmf(right, n, end) / 2 == pytest.approx(0.025, abs=1e-6)


def test_two_shares_by_hand() -> None:
    # Of 0.4, 0.8 and 1 the mean is below t < 0.4 in no weighing; of 0.4, 0.8 and 0 it is in t² / (0.4 · 0.8) of them (a corner
    # of the triangle of weights). Half of that is the tail.
    found = stats.mean_share([0.4, 0.8])
    assert found.value == pytest.approx(0.6) and found.lo == pytest.approx(np.sqrt(0.025 * 2 * 0.4 * 0.8))


def test_it_is_what_random_weights_give() -> None:
    rng = seeds.rng("weighings")
    values = rng.beta(5, 0.5, 25)
    weights = rng.dirichlet(np.ones(26), 400_000)
    means = np.concatenate([weights[::2] @ np.append(values, 0), weights[1::2] @ np.append(values, 1)])
    found = stats.mean_share(values)
    assert (found.lo, found.hi) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.002)


@settings(max_examples=60, deadline=None)
@given(SHARES, st.randoms(use_true_random=False))
def test_it_holds_its_value_stays_between_0_and_1_and_ignores_the_order(values: list[float], random) -> None:
    found = stats.mean_share(values)
    assert 0 <= found.lo <= found.value <= found.hi <= 1 and found.lo < found.hi
    turned = random.sample(values, len(values))
    assert stats.mean_share(turned).lo == found.lo and stats.mean_share(turned).hi == found.hi
    mirrored = stats.mean_share(1 - np.array(values))
    assert (1 - mirrored.hi, 1 - mirrored.lo) == pytest.approx((found.lo, found.hi), abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(SHARES, st.data())
def test_more_units_of_the_same_kind_narrow_it_and_a_better_one_raises_it(
    values: list[float], data: st.DataObject
) -> None:
    once, twice = stats.mean_share(values), stats.mean_share(values * 2)
    assert twice.lo >= once.lo - 1e-7 and twice.hi <= once.hi + 1e-7
    place = data.draw(st.integers(0, len(values) - 1))
    better = stats.mean_share([*values[:place], 1.0, *values[place + 1 :]])
    assert better.lo >= once.lo - 1e-7 and better.hi >= once.hi - 1e-7


def test_columns_are_estimated_one_by_one() -> None:
    values = seeds.rng("columns").random((12, 2, 3))
    found, alone = stats.mean_share(values), stats.mean_share(values[:, 1, 2])
    assert found.value.shape == (2, 3) and found[1, 2] == alone


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(UserError, match="between 0 and 1, these go from 0.5 to 1.5"):
        stats.mean_share([0.5, 1.5])


@pytest.mark.parametrize(("n", "before"), [(3, 0.3), (19, 0.7)])
def test_drawings_that_are_nearly_always_right_are_covered_where_a_bootstrap_holds_the_truth_rarely(
    n: int, before: float
) -> None:
    rng = seeds.rng("nearly always right", n)
    # 30 concepts, .997 right; errors come together in a concept (correlation .1 between its drawings)
    values = rng.binomial(n, rng.beta(0.997 * 9, 0.003 * 9, (30, 1000))) / n
    held = []
    for found in (stats.mean_share(values), stats.bootstrap(values, n_replicates=400, rng=rng)):
        held.append(((found.lo <= 0.997) & (found.hi >= 0.997)).mean())
    assert held[0] > 0.95 and held[1] < before


@pytest.mark.parametrize("truth", [0.05, 0.5, 0.9, 0.99, 0.997, 0.999])
@pytest.mark.parametrize("k", [10, 30, 150])
def test_it_holds_the_truth_92_times_in_100_where_a_bootstrap_does_not(k: int, truth: float) -> None:
    rng = seeds.rng("a few bad concepts", k, truth)
    # most are perfect, a few are bad: 1 in 4 of what they do is right; below a half the other way round
    wrong = min(truth, 1 - truth) / 0.75
    bad = rng.random((k, 600)) < wrong
    values = np.where(bad, rng.beta(1, 3, (k, 600)), 1.0)
    values = values if truth > 0.5 else 1 - values
    found = stats.mean_share(values)
    assert ((found.lo <= truth) & (truth <= found.hi)).mean() > 0.92
    if (k, truth) == (30, 0.997):
        usual = stats.bootstrap(values, n_replicates=200, rng=rng)
        assert ((usual.lo <= truth) & (truth <= usual.hi)).mean() < 0.3
