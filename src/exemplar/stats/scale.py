"""z-scores: values in standard deviations from a mean, on a scale that can be fitted once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.stats.inputs import numbers


@dataclass(frozen=True)
class Scale:
    """mean, std: floats or arrays (...). New values are placed on it without moving those that were there."""

    mean: Any
    std: Any

    def zscores(self, values: Any) -> np.ndarray:
        """values: (n, ...) → (n, ...)."""
        array = numbers(values, "values")
        if array.shape[1:] != np.shape(self.mean):
            raise UserError(
                f"values have measures {array.shape[1:]}, the scale has {np.shape(self.mean)}: give the same"
            )
        return (array - self.mean) / self.std


def fit_scale(values: Any, *, ddof: int = 0) -> Scale:
    """The scale on which values (n, ...) have mean 0 and standard deviation 1 over the first axis.

    ddof: 0 divides by n, 1 by n − 1.
    """
    array = numbers(values, "values", n_least=max(2, ddof + 1))
    constant = np.argwhere(np.atleast_1d(np.ptp(array, axis=0) == 0))
    if len(constant):
        where = f" in measure {', '.join(map(str, constant[0]))}" if array.ndim > 1 else ""
        raise UserError(f"the values are constant{where}, so no scale fits them: leave it out")
    mean, std = array.mean(axis=0), array.std(axis=0, ddof=ddof)
    return Scale(float(mean), float(std)) if array.ndim == 1 else Scale(mean, std)


def zscores(values: Any, *, ddof: int = 0) -> np.ndarray:
    """values (n, ...) on their own scale → (n, ...)."""
    return fit_scale(values, ddof=ddof).zscores(values)
