"""How well two ways to score agree over concepts: correlations and slopes, their intervals over concepts and critics' seeds.

A side is (s, k): what each of s critics of one recipe says of each of k concepts (or units grouped by concept). Both
concepts and critics are resampled; a replicate is the mean over the pairs of critics that were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from exemplar import stats
from exemplar.draw.measures.intervals import Resamples
from exemplar.records import Score
from exemplar.stats import Estimate, Statistic


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which critic of one kind is set beside which of another. first, second: (m,) their places; weights: (r, m) how often
    each pair is drawn; names: (m,), "" where there is but one pair."""

    first: np.ndarray
    second: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...]


def all_pairs(first: tuple[str, ...], second: tuple[str, ...], draws: Resamples) -> Pairs:
    """Every critic of one kind with every one of another. draws: with lots for both kinds, the first's first."""
    places = np.array(list(product(range(len(first)), range(len(second)))))
    ours, theirs = _times_drawn(draws.lot[:, : len(first)]), _times_drawn(draws.lot[:, len(first) :][:, : len(second)])
    weights = (ours[:, :, None] * theirs[:, None, :]).reshape(len(ours), -1)
    return Pairs(places[:, 0], places[:, 1], weights, tuple(f"{a}, {b}" for a, b in product(first, second)))


def each_with_itself(names: tuple[str, ...], draws: Resamples) -> Pairs:
    """Each critic with itself, where it scores in two ways."""
    places = np.arange(len(names))
    return Pairs(places, places, _times_drawn(draws.lot[:, : len(names)]), names)


def seeds_apart(names: tuple[str, ...], draws: Resamples) -> Pairs | None:
    """Every two critics of one kind, all of them in every replicate; None where there is but one."""
    if len(names) < 2:
        return None
    places = np.array(list(combinations(range(len(names)), 2)))
    weights = np.ones((len(draws.concepts), len(places)))
    return Pairs(places[:, 0], places[:, 1], weights, tuple(f"{a}, {b}" for a, b in combinations(names, 2)))


def slope(x: np.ndarray, y: np.ndarray) -> Statistic:
    """Of the least-squares line of y on x, (n, d) each → (b, d), column by column."""
    correlation, over, up = stats.weighted.pearson(x, y), stats.weighted.std(x), stats.weighted.std(y)
    return Statistic(len(x), lambda weights: correlation(weights) * up(weights) / over(weights))


def r_squared(x: np.ndarray, y: np.ndarray) -> Statistic:
    """Pearson's r, squared."""
    correlation = stats.weighted.pearson(x, y)
    return Statistic(len(x), lambda weights: np.square(correlation(weights)))


STATISTICS = {"rank_correlation": stats.weighted.spearman, "r_squared": r_squared, "slope": slope}


def agreement(
    name: str,
    first: np.ndarray,
    second: np.ndarray,
    pairs: Pairs,
    draws: Resamples,
    *,
    groups: np.ndarray | None = None,
) -> tuple[Estimate, Estimate]:
    """Over all pairs of critics, and of each pair. name: one of STATISTICS; first: (s, n), second: (p, n); groups: (n,) the
    concept of each unit, where units are drawings and not concepts."""
    statistic = STATISTICS[name](first[pairs.first].T, second[pairs.second].T)
    k = draws.concepts.shape[1]
    replicates = statistic(draws.concepts if groups is None else draws.concepts[:, groups])  # (r, m)
    value = statistic(np.ones((1, statistic.n)))[0]
    together = (replicates * pairs.weights).sum(axis=1) / pairs.weights.sum(axis=1)
    return stats.interval(together, value.mean(), n=k), stats.interval(replicates, value, n=k)


def agreement_scores(
    name: str,
    first: np.ndarray,
    second: np.ndarray,
    pairs: Pairs,
    draws: Resamples,
    *,
    agent: str,
    groups: np.ndarray | None = None,
    title: str | None = None,
) -> Iterator[Score]:
    """The score over all pairs (space ""), then that of each pair; agent: what is compared; title: of the score, its name
    unless given."""
    together, apart = agreement(name, first, second, pairs, draws, groups=groups)
    title = title or name
    yield Score.of(title, together, agent=agent)
    for place, space in enumerate(pairs.names):
        one = apart[place]
        yield Score.of(title, one, agent=agent, space=space)


def pair_range_scores(
    name: str, first: np.ndarray, second: np.ndarray, pairs: Pairs, draws: Resamples, *, agent: str
) -> list[Score]:
    """The lowest and the highest of all pairs of critics, each with its own interval over concepts: how much it matters which
    trainings are compared. Arguments as in `agreement_scores`; nothing where there is but one pair."""
    if len(pairs.first) < 2:
        return []
    _, apart = agreement(name, first, second, pairs, draws)
    ends = (("lowest", np.argmin(apart.value)), ("highest", np.argmax(apart.value)))
    return [Score.of(f"{name}_{end}_pair", apart[int(place)], agent=agent) for end, place in ends]


def between_seeds(kind: str, found: np.ndarray, names: tuple[str, ...], draws: Resamples) -> list[Score]:
    """How well critics agree that differ in their seed only: more cannot be asked of others."""
    pairs = seeds_apart(names, draws)
    if pairs is None:
        return []
    return list(agreement_scores("rank_correlation", found, found, pairs, draws, agent=f"{kind}, two seeds"))


def _times_drawn(lot: np.ndarray) -> np.ndarray:
    """(r, s) numbers in [0, 1) → (r, s): how often each of s critics is drawn when s are, with replacement."""
    n_critics = lot.shape[1]
    drawn = (lot * n_critics).astype(np.intp)
    return (drawn[:, :, None] == np.arange(n_critics)).sum(axis=1)
