"""Bootstrap by weights against scipy.stats.bootstrap (vectorized) on the same statistic and size; CPU time, percentile.

Run: python speed/bootstrap.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes in: a second thread that waits would count as CPU time

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from exemplar import seeds, stats
from record import record, timed

N, N_REPLICATES, N_GROUPS, N_COLUMNS = 600, 2000, 60, 32


def cpu_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """The least CPU time of a few calls, after one to warm up: the cores are shared, so the others only tell of neighbours."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def correlation(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    """Pearson's r over an axis, the plain way (scipy.stats.pearsonr, with its p-values, would be slower still)."""
    a, b = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
    return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))


def rank_correlation(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    ranks = scipy.stats.rankdata(x, axis=axis), scipy.stats.rankdata(y, axis=axis)
    return correlation(*ranks, axis=axis)


def two_level(values: np.ndarray) -> Callable[..., np.ndarray]:
    """The mean of groups drawn by SciPy, whose units are drawn here: SciPy has no second level. values: (groups, units)."""
    rng = np.random.default_rng(0)

    def statistic(group: np.ndarray, axis: int = -1) -> np.ndarray:
        units = rng.integers(0, values.shape[1], (*group.shape, values.shape[1]))
        return values[group[..., None], units].mean(axis=(-2, -1))

    return statistic


def main() -> None:
    rng = seeds.rng("speed", "bootstrap")
    x = rng.normal(size=N)
    y = x + rng.normal(size=N)
    many = rng.normal(size=(N, N_COLUMNS))
    groups = np.repeat(np.arange(N_GROUPS), N // N_GROUPS)

    def ours(statistic: Any, **options: Any) -> float:
        draw = np.random.default_rng(0)
        return cpu_seconds(lambda: stats.bootstrap(statistic, n_replicates=N_REPLICATES, rng=draw, **options))

    def theirs(data: tuple[ArrayLike, ...], statistic: Callable[..., Any], **options: Any) -> float:
        options = {"method": "percentile", "vectorized": True, "n_resamples": N_REPLICATES, **options}
        draw = np.random.default_rng(0)
        return cpu_seconds(lambda: scipy.stats.bootstrap(data, statistic, rng=draw, **options))

    def deviation(values: np.ndarray, axis: int = -1) -> np.ndarray:
        return values.std(axis=axis, ddof=1)

    table = {
        "mean": (ours(x), theirs((x,), np.mean)),
        "mean, BCa": (ours(x, method="bca"), theirs((x,), np.mean, method="BCa")),
        f"mean of {N_COLUMNS} columns": (ours(many), theirs((many,), np.mean, axis=0)),
        "standard deviation": (ours(stats.weighted.std(x)), theirs((x,), deviation)),
        "Pearson": (ours(stats.weighted.pearson(x, y)), theirs((x, y), correlation, paired=True)),
        "Spearman": (ours(stats.weighted.spearman(x, y)), theirs((x, y), rank_correlation, paired=True)),
        "two-level mean": (
            ours(x, groups=groups, within=True),
            theirs((np.arange(N_GROUPS),), two_level(x.reshape(N_GROUPS, -1))),
        ),
    }
    print(f"{N} units, {N_REPLICATES} replicates, {N_GROUPS} groups; CPU milliseconds")
    print(f"{'statistic':<22}{'exemplar':>10}{'scipy':>10}{'ratio':>8}")
    for name, (mine, peer) in table.items():
        print(f"{name:<22}{1e3 * mine:>10.1f}{1e3 * peer:>10.1f}{peer / mine:>7.1f}×")
    peer_name = "scipy.stats.bootstrap, vectorized"
    ratios = {name: peer / mine for name, (mine, peer) in table.items()}
    low, high = min(ratios, key=lambda name: ratios[name]), max(ratios, key=lambda name: ratios[name])
    record(
        __file__,
        f"bootstrap by weights next to scipy, {N} units, {N_REPLICATES:,} replicates, {N_GROUPS} groups",
        [timed(name, 1e3 * mine, "CPU ms", peer_name, 1e3 * peer) for name, (mine, peer) in table.items()],
        seen=f"{ratios[low]:.1f} × ({low}) to {ratios[high]:.1f} × ({high})",
    )


if __name__ == "__main__":
    main()
