"""How a mean varies where its units are weighed at random: compiled, for `shares`.

Weights that are equally likely in all ways are exponential numbers over their sum. So the weighted mean of x lies below t where
the units above t, each an exponential time of mean x − t, end before those below it, each of mean t − x: a race. Exponential
times forget what has passed, so that whoever runs at the moment ends first with a chance that depends on the two means alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STEPS = 100  # at most; a dozen are the rule
NEAR = 1e-9  # how well an end is known


@njit(cache=True)
def lower_ends(ordered: np.ndarray, tail: float) -> np.ndarray:
    """(r,): for each row of shares (r, n), ascending, the t below which its weighted mean falls with probability `tail`, where
    a share of 0 is added to the row in half of the weighings and a share of 1 in the other half."""
    rows, n = ordered.shape
    ends, chances = np.empty(rows), np.empty(n + 2)
    for row in range(rows):
        x = ordered[row]
        low, high = 0.0, x.mean()
        below, above, side = -tail, _chance_below(x, high, chances) - tail, 0
        for step in range(STEPS):
            if high - low < NEAR:
                break
            # false position (Illinois), and every fourth step a bisection, for where the chance jumps
            middle = 0.5 * (low + high) if step % 4 == 3 else low - below * (high - low) / (above - below)
            gap = _chance_below(x, middle, chances) - tail
            if gap < 0:
                low, below = middle, gap
                above = above / 2 if side < 0 else above  # an end that stays counts for less
                side = -1
            else:
                high, above = middle, gap
                below = below / 2 if side > 0 else below
                side = 1
        ends[row] = low
    return ends


@njit(cache=True)
def _chance_below(x: np.ndarray, t: float, chances: np.ndarray) -> float:
    """That the weighted mean of x (n,), ascending, is below t: the mean of two chances, with 0 added to x and with 1 added.

    chances: (n + 2,), to work in: chances[j] that the units above t so far end before the first j of those below.
    """
    n = len(x)
    n_below = int(np.searchsorted(x, t, side="right"))
    chances[: n_below + 2] = 1.0
    for i in range(n_below, n):
        _run(x, t, x[i] - t, n_below, chances)
    with_zero = chances[n_below + 1]  # the 0 comes last of those below
    _run(x, t, 1.0 - t, n_below, chances)
    return 0.5 * (with_zero + chances[n_below])


@njit(cache=True)
def _run(x: np.ndarray, t: float, above: float, n_below: int, chances: np.ndarray) -> None:
    """One more unit above t, by `above`, runs against those below."""
    chances[0] = 0.0  # nobody is left to end after it
    for j in range(1, n_below + 2):
        below = t - x[j - 1] if j <= n_below else t
        share = below / (above + below) if above + below > 0 else 1.0
        chances[j] = chances[j - 1] + share * (chances[j] - chances[j - 1])
