"""Bootstrap samples as weights: a replicate is a row that says how often each unit was drawn.

A statistic of weights then scores every replicate in one matrix product, and one matrix serves any number of scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.stats.inputs import check_count, codes

CACHED = 2**14  # weights made at once: a block that stays in the processor's cache is twice as fast …
ROWS = 64  # … but a product with few rows wastes its time on reading the values,
LARGEST = 2**24  # and no block may take more than this (128 MB)


@dataclass(frozen=True, eq=False)
class Design:
    """What is drawn: units in groups, groups in strata.

    group: (n,) the group of each unit, groups numbered stratum by stratum; stratum: (n_groups,) sorted;
    within: whether the units of each drawn group are resampled.
    """

    group: np.ndarray
    stratum: np.ndarray
    within: bool

    @property
    def n(self) -> int:
        return len(self.group)

    @property
    def n_groups(self) -> int:
        return len(self.stratum)

    @cached_property
    def n_in_stratum(self) -> np.ndarray:
        """(n_groups,) how many groups share this group's stratum."""
        return np.bincount(self.stratum)[self.stratum]

    @cached_property
    def _first_in_stratum(self) -> np.ndarray:
        return np.searchsorted(self.stratum, self.stratum)

    @cached_property
    def _one_by_one(self) -> bool:
        return self.n == self.n_groups and bool((self.group == np.arange(self.n)).all())

    @cached_property
    def _units(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Among units sorted by group: where each group starts, how many it has; and each unit's place (None: sorted)."""
        size = np.bincount(self.group)
        place = np.argsort(np.argsort(self.group, kind="stable"))
        return np.cumsum(size) - size, size, None if (place == np.arange(self.n)).all() else place

    def draws(self, n_replicates: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The replicates' weights in blocks of (rows, n) float64 whose memory is bounded."""
        for start, stop in self._blocks(n_replicates):
            yield self._draw(stop - start, rng)

    def leave_one_out(self) -> Iterator[np.ndarray]:
        """The jackknife's weights, ones with one group zeroed, in blocks of (rows, n) float64."""
        for start, stop in self._blocks(self.n_groups):
            yield (self.group != np.arange(start, stop)[:, None]).astype(np.float64)

    def _blocks(self, rows: int) -> Iterator[tuple[int, int]]:
        step = max(CACHED // self.n, min(ROWS, LARGEST // self.n), 1)
        for start in range(0, rows, step):
            yield start, min(start + step, rows)

    def _draw(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """(rows, n): as many groups as a stratum has, drawn from it with replacement."""
        drawn = _below(self.n_in_stratum, (rows, self.n_groups), rng)
        if self.stratum[-1] > 0:
            drawn = drawn + self._first_in_stratum
        row = np.arange(rows)[:, None]
        if not self.within:
            weights = _tally(row * self.n_groups + drawn, (rows, self.n_groups))
            return weights if self._one_by_one else weights[:, self.group]
        start, size, place = self._units
        n_drawn = size[drawn].ravel()  # units to draw from each drawn group
        index = np.repeat((row * self.n + start[drawn]).ravel(), n_drawn)
        reach = size[:1] if size.min() == size.max() else np.repeat(n_drawn, n_drawn)
        index += _below(reach, index.shape, rng)
        weights = _tally(index, (rows, self.n))
        return weights if place is None else weights[:, place]


def design(n: int, groups: Any = None, within: bool = False, strata: Any = None) -> Design:
    """The design of n units; groups, strata: (n,) labels or None. See `resample`."""
    if n < 2:
        raise UserError(f"an interval needs at least 2 units, there is {n}: give more")
    if within and groups is None:
        raise UserError("within=True draws units within groups: give the groups too")
    group, _ = (np.arange(n), None) if groups is None else codes(groups, n, "groups")
    n_groups = int(group.max()) + 1
    if n_groups < 2:
        raise UserError("an interval needs at least 2 groups to draw from, there is 1: give more, or leave groups out")
    stratum, names = (np.zeros(n, np.intp), None) if strata is None else codes(strata, n, "strata")
    stratum_of = np.zeros(n_groups, np.intp)
    stratum_of[group] = stratum
    if (stratum_of[group] != stratum).any():
        unit = int(np.flatnonzero(stratum_of[group] != stratum)[0])
        raise UserError(f"the group of unit {unit} is in two strata: a group belongs to one")
    few = np.flatnonzero(np.bincount(stratum_of) < 2)
    if names is not None and len(few):
        raise UserError(
            f"{len(few)} of {len(names)} strata have a single unit to draw from (the first is {names[few[0]]!s}), "
            "which resampling cannot vary: merge those strata or leave them out"
        )
    order = np.argsort(stratum_of, kind="stable")
    return Design(np.argsort(order)[group], stratum_of[order], within)


def resample(
    n: int,
    n_replicates: int = 1000,
    *,
    groups: Any = None,
    within: bool = False,
    strata: Any = None,
    rng: np.random.Generator,
) -> np.ndarray:
    """Weights of bootstrap samples of n units: (n_replicates, n) float64 counts.

    groups: (n,) labels; whole groups are drawn (cluster bootstrap). within: then the units within each drawn group are
    drawn too, as many as it has (two levels). The spread of group means already holds what units add to it, so two
    levels widen an interval where groups are small: use them when units would be drawn again in a new experiment.
    strata: (n,) labels, fixed; units (or groups) are drawn within each, as many as it has.
    """
    check_count("n_replicates", n_replicates, 1)
    plan = design(n, groups, within, strata)
    weights = np.empty((n_replicates, n))
    start = 0
    for block in plan.draws(n_replicates, rng):
        weights[start : start + len(block)] = block
        start += len(block)
    return weights


def leave_one_out(n: int, *, groups: Any = None) -> np.ndarray:
    """Weights of the jackknife: (n, n), or (n_groups, n) in order of appearance; ones with a unit or group zeroed."""
    return np.concatenate(list(design(n, groups).leave_one_out()))


def _below(size: np.ndarray, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Whole numbers in [0, size), uniform; size: broadcasts to shape."""
    if size.min() == size.max():
        return rng.integers(0, size[0], shape)  # not uint16, whose stream would depend on the size of a block
    return (rng.random(shape) * size).astype(np.intp)


def _tally(index: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """How often each place of a (rows, n) matrix occurs among flat indices."""
    return np.bincount(index.ravel(), minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)
