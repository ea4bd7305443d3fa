"""Many tests at once: p-values adjusted so that they can be held against the level one would use for a single test."""

from __future__ import annotations

from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.stats.inputs import numbers, one_of


def adjust_p(p: Any, method: str = "holm") -> np.ndarray:
    """Adjusted p-values (m,) in [0, 1], in the order given.

    method: "bonferroni" or "holm" hold the chance of any false alarm (Holm is never weaker); "benjamini-hochberg" holds
    the expected share of false alarms among the findings.
    """
    one_of("correction", method, ("bonferroni", "holm", "benjamini-hochberg"))
    values = numbers(p, "p")
    if values.ndim != 1:
        raise UserError(f"p must be a list of p-values, it is {values.shape}: flatten it")
    if ((values < 0) | (values > 1)).any():
        place = int(np.flatnonzero((values < 0) | (values > 1))[0])
        raise UserError(f"p has {values[place]} at {place}: a p-value lies between 0 and 1")
    m = len(values)
    if method == "bonferroni":
        return np.minimum(values * m, 1)
    order = np.argsort(values, kind="stable")
    ordered, rank = values[order], np.arange(1, m + 1)
    if method == "holm":
        stepped = np.maximum.accumulate(ordered * (m + 1 - rank))
    else:
        stepped = np.minimum.accumulate((ordered * m / rank)[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted
