"""Curves over the course of something: what they were early and late."""

from __future__ import annotations

from typing import Any

import numpy as np


def quarter_means(step: Any, value: Any) -> np.ndarray:
    """(4,) float64: the mean of value (n,) over the steps in each quarter of the way from 0 to the last step.

    step: (n,), rising, above 0; each quarter holds at least one.
    """
    step, value = np.asarray(step, float), np.asarray(value, float)
    quarter = np.ceil(4 * step / step[-1])
    return np.array([value[quarter == k].mean() for k in (1, 2, 3, 4)])
