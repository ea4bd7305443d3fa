"""A value is never bare: it comes with its interval and its sample size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A value, the interval [lo, hi] around it (95 % unless another level was asked for), and the sample size n.

    value, lo, hi: floats, or arrays of one shape where many things were estimated at once; `estimate[i]` is then the
    estimate of the i-th. n: how many independent units it rests on (groups, where groups were resampled).
    """

    value: Any
    lo: Any
    hi: Any
    n: Any

    def __getitem__(self, place: Any) -> Estimate:
        n = self.n[place] if np.ndim(self.n) else self.n
        return estimate(self.value[place], self.lo[place], self.hi[place], n)


def estimate(value: Any, lo: Any, hi: Any, n: Any) -> Estimate:
    """An Estimate of plain Python numbers where the arrays have no dimensions left."""
    return Estimate(
        *(np.asarray(part).item() if np.ndim(part) == 0 else np.asarray(part) for part in (value, lo, hi, n))
    )
