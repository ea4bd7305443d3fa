"""Permutation tests: every arrangement where there are few, random ones with the +1 correction where there are many.

p is that of the observed arrangement among all; two-sided, it is twice the smaller tail (at most 1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.stats import weighted
from exemplar.stats.correlation import ALTERNATIVES
from exemplar.stats.inputs import check_count, numbers, one_of, pair

BLOCK = 2**20  # numbers in a block of arrangements: 8 MB


@dataclass(frozen=True)
class PermutationTest:
    """statistic, p: floats, or arrays where several measures were tested on the same arrangements.

    n_permutations: how many arrangements were looked at; exact: whether those were all there are.
    """

    statistic: Any
    p: Any
    n_permutations: int
    exact: bool


def difference_test(
    first: Any, second: Any, *, alternative: str = "two-sided", n_permutations: int = 10_000, rng: np.random.Generator
) -> PermutationTest:
    """Do two independent samples differ in mean? first: (n, ...), second: (m, ...); statistic: mean(first) − mean(second).

    "greater" asks whether first is greater.
    """
    a, b = numbers(first, "first"), numbers(second, "second")
    if a.shape[1:] != b.shape[1:]:
        raise UserError(f"first has measures {a.shape[1:]} and second {b.shape[1:]}: give the same for both")
    n, m = len(a), len(b)
    both = np.concatenate([a, b]).reshape(n + m, -1)
    centred = both - both.mean(axis=0)  # so that the rest of the sum is minus the part

    def random(rows: int) -> np.ndarray:
        return rng.permuted(np.broadcast_to(np.arange(n + m) < n, (rows, n + m)), axis=1)

    def every() -> np.ndarray:
        chosen = _table(itertools.combinations(range(n + m), n), n)
        members = np.zeros((len(chosen), n + m), bool)
        np.put_along_axis(members, chosen, True, axis=1)
        return members

    def score(members: np.ndarray) -> np.ndarray:
        return members.astype(np.float64) @ centred * (1 / n + 1 / m)

    largest = np.abs(centred).sum(axis=0) * (1 / n + 1 / m)
    observed = np.arange(n + m)[None] < n
    test = _test(score, observed, largest, every, random, math.comb(n + m, n), n_permutations, alternative)
    return _shaped(test, a.shape[1:])


def paired_test(
    first: Any, second: Any, *, alternative: str = "two-sided", n_permutations: int = 10_000, rng: np.random.Generator
) -> PermutationTest:
    """Do two measurements of the same units differ in mean? first, second: (n, ...); statistic: mean(first − second)."""
    a, b = numbers(first, "first"), numbers(second, "second")
    if a.shape != b.shape:
        raise UserError(f"first is {a.shape} and second is {b.shape}: give both for the same units")
    n, differences = len(a), (a - b).reshape(len(a), -1)

    def random(rows: int) -> np.ndarray:
        return rng.integers(0, 2, (rows, n), dtype=np.int8)

    def every() -> np.ndarray:
        return (np.arange(2**n)[:, None] >> np.arange(n)) & 1

    def score(flipped: np.ndarray) -> np.ndarray:
        return (1.0 - 2.0 * flipped) @ differences / n

    largest = np.abs(differences).mean(axis=0)
    test = _test(score, np.zeros((1, n)), largest, every, random, 2**n, n_permutations, alternative)
    return _shaped(test, a.shape[1:])


def correlation_test(
    x: Any,
    y: Any,
    *,
    kind: str = "pearson",
    alternative: str = "two-sided",
    n_permutations: int = 10_000,
    rng: np.random.Generator,
) -> PermutationTest:
    """Are x (n,) and y, (n,) or (n, d), correlated? statistic: Pearson's or ("spearman") Spearman's r."""
    one_of("correlation", kind, ("pearson", "spearman"))
    a, b = pair(x, y, n_least=3)
    if a.ndim != 1:
        raise UserError(f"x must be one measure, (n,), it is {a.shape}: put several into y")
    n, columns = len(a), b.reshape(len(b), -1)
    if kind == "spearman":
        ones = np.ones((1, n))
        a = weighted.ranks(a, ones)[0]
        columns = np.stack([weighted.ranks(column, ones)[0] for column in columns.T], axis=1)
    a, columns = _unit_length(a), _unit_length(columns)

    def random(rows: int) -> np.ndarray:
        return rng.permuted(np.broadcast_to(np.arange(n), (rows, n)), axis=1)

    def every() -> np.ndarray:
        return _table(itertools.permutations(range(n)), n)

    def score(order: np.ndarray) -> np.ndarray:
        return a[order] @ columns

    observed, largest = np.arange(n)[None], np.ones(columns.shape[1])
    test = _test(score, observed, largest, every, random, math.factorial(n), n_permutations, alternative)
    return _shaped(test, b.shape[1:])


def _test(
    score: Callable[[np.ndarray], np.ndarray],
    observed: np.ndarray,
    largest: np.ndarray,
    every: Callable[[], np.ndarray],
    random: Callable[[int], np.ndarray],
    n_arrangements: int,
    n_permutations: int,
    alternative: str,
) -> PermutationTest:
    """Arrangements (rows, n) → score (rows, d) → how many are at least, and at most, the observed one's.

    largest: (d,) a bound of the scores, to judge rounding by.
    """
    one_of("alternative", alternative, ALTERNATIVES)
    check_count("n_permutations", n_permutations, 1)
    statistic = score(observed)[0]
    exact = n_arrangements <= n_permutations
    total = n_arrangements if exact else n_permutations
    step = max(BLOCK // observed.shape[1], 1)

    def blocks() -> Iterator[np.ndarray]:
        arrangements = every() if exact else None
        for start in range(0, total, step):
            rows = min(step, total - start)
            yield random(rows) if arrangements is None else arrangements[start : start + rows]

    slack = 1e-12 * largest  # arrangements that tie with the observed one may differ from it in the last digits
    greater, less = np.zeros(statistic.shape), np.zeros(statistic.shape)
    for block in blocks():
        scores = score(block)
        greater += (scores >= statistic - slack).sum(axis=0)
        less += (scores <= statistic + slack).sum(axis=0)
    plus = 0 if exact else 1  # the observed arrangement is one of the possible ones
    tails = {"greater": (greater + plus) / (total + plus), "less": (less + plus) / (total + plus)}
    p = tails[alternative] if alternative in tails else np.minimum(2 * np.minimum(tails["greater"], tails["less"]), 1)
    return PermutationTest(statistic, p, total, exact)


def _shaped(test: PermutationTest, shape: tuple[int, ...]) -> PermutationTest:
    statistic, p = (np.asarray(part).reshape(shape) for part in (test.statistic, test.p))
    if not shape:
        return PermutationTest(statistic.item(), p.item(), test.n_permutations, test.exact)
    return PermutationTest(statistic, p, test.n_permutations, test.exact)


def _table(rows: Iterator[tuple[int, ...]], width: int) -> np.ndarray:
    return np.fromiter(itertools.chain.from_iterable(rows), np.intp).reshape(-1, width)


def _unit_length(values: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and length 1, so that a product of two is their correlation."""
    centred = values - values.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=0)
