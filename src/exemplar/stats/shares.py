"""The interval of a mean of shares: numbers between 0 and 1, few or many, near the ends too.

Near an end a bootstrap knows nothing of what it has not seen: where nothing went wrong it says [1, 1]. This interval reckons
with one unit more, unseen, as bad as can be half of the time and as good as can be the other half. Units are weighed at random,
all weightings being equally likely (a flat Dirichlet distribution), and the weighted mean lies between the ends in 95 % of
them. Of shares that are 0 or 1 this is the mid-P interval of Clopper and Pearson; with an unseen unit that is always bad for
the lower end and always good for the upper one it would be Gaffke's bound (2005), which is wider. Where all of n are right the
lower end is 0.05 ** (1 / n), about 1 − 3 / n: the rule of three. Nothing is random, and the order of units does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.stats.estimate import Estimate, estimate
from exemplar.stats.inputs import check_level, numbers

ROUNDING = 1e-9  # how far beyond 0 or 1 a share may lie


def mean_share(values: Any, *, level: float = 0.95) -> Estimate:
    """Mean of shares (n, ...) in [0, 1] over the first axis, with an interval that covers near 0 and 1 too.

    >>> found = mean_share([1.0] * 30)
    >>> found.value, round(found.lo, 3), found.hi
    (1.0, 0.905, 1.0)
    """
    from exemplar.stats.weighings import lower_ends  # compiled: only where it is needed

    check_level(level)
    array = numbers(values, "shares")
    if array.min() < -ROUNDING or array.max() > 1 + ROUNDING:
        raise UserError(f"shares must lie between 0 and 1, these go from {array.min():g} to {array.max():g}")
    n, tail = len(array), (1 - level) / 2
    # each column's own shares in order, one column per row
    ordered = np.sort(np.clip(array, 0, 1).reshape(n, -1).T, axis=1)
    low = lower_ends(ordered, tail)
    high = 1 - lower_ends(np.ascontiguousarray(1 - ordered[:, ::-1]), tail)
    centre = array.mean(axis=0)
    lo, hi = (ends.reshape(centre.shape) for ends in (low, high))
    return estimate(centre, np.minimum(lo, centre), np.maximum(hi, centre), n)
