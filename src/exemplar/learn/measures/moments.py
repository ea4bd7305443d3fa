"""What MSE_n is made of: means of products of two sides' learning curves; the lapse rate that suits a model best, and the
error.

Two forms of MSE_n: "paper" subtracts the model's sampling variance (a perfect model reaches the noise floor), "hobj" subtracts
people's too (a perfect model reaches 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar.errors import unknown
from exemplar.learn.measures.curves import Curves, Replicates
from exemplar.learn.tasks import VARIANTS


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over all cells (subtask and trial), each a number or (replicates,), with a = model − chance, b = people − chance.

    aa, ab, bb: of a², a·b, b²; model_variance, people_variance: of the sampling variances (Eq. 4).
    """

    aa: np.ndarray
    ab: np.ndarray
    bb: np.ndarray
    model_variance: np.ndarray
    people_variance: np.ndarray


def fit_lapse(moments: Moments, variant: str = "paper") -> np.ndarray:
    """The share of trials, in [0, 1], on which the model should guess to come nearest to people.

    "paper" minimises MSE_n, "hobj" the raw mean squared error. Both are parabolas in 1 − lapse.
    """
    _check(variant)
    curvature = moments.aa - moments.model_variance if variant == "paper" else moments.aa
    # Where the parabola opens downwards (a guesser, by chance), its least value in [0, 1] is at one of the ends.
    at_ends = np.where(curvature - 2 * moments.ab <= 0, 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.clip(moments.ab / curvature, 0, 1)
    return 1 - np.where(curvature > 0, inside, at_ends)


def mse_n(moments: Moments, variant: str = "paper", lapse: np.ndarray | float | None = None) -> np.ndarray:
    """MSE_n of moments, after a lapse rate that is fitted unless given. variant: "paper" or "hobj"."""
    _check(variant)
    keep = 1 - (fit_lapse(moments, variant) if lapse is None else np.asarray(lapse))
    error = keep**2 * (moments.aa - moments.model_variance) - 2 * keep * moments.ab + moments.bb
    return error if variant == "paper" else error - moments.people_variance


def moments_of(model: Curves, people: Curves) -> Moments:
    """Moments of two sets of curves."""
    a, b = model.accuracy - people.chance, people.accuracy - people.chance
    parts = (a * a, a * b, b * b, model.variance, people.variance)
    return Moments(*(part.mean() for part in parts))


def replicate_moments(model: Replicates, people: Replicates, chance: float) -> Moments:
    """Moments of each pair of replicates, (replicates,) each. chance: accuracy of guessing."""
    sums = np.zeros((5, len(model)))
    sizes = [side.sizes.astype(np.float64) for side in (model, people)]
    _sum_moments(model.n_correct, sizes[0], people.n_correct, sizes[1], chance, sums)
    return Moments(*(sums / np.prod(model.n_correct.shape[1:])))


@njit(cache=True)
def _sum_moments(
    model: np.ndarray, n_model: np.ndarray, people: np.ndarray, n_people: np.ndarray, chance: float, sums: np.ndarray
) -> None:
    """model, people: (replicates, subtasks, trials) counts; n_model, n_people: (replicates, subtasks) sessions; sums: (5,
    replicates) to fill, in float64."""
    for replicate in range(len(model)):
        for subtask in range(model.shape[1]):
            m, h = n_model[replicate, subtask], n_people[replicate, subtask]
            for trial in range(model.shape[2]):
                x, y = model[replicate, subtask, trial] / m, people[replicate, subtask, trial] / h
                sums[0, replicate] += (x - chance) ** 2
                sums[1, replicate] += (x - chance) * (y - chance)
                sums[2, replicate] += (y - chance) ** 2
                sums[3, replicate] += x * (1 - x) / (m - 1)
                sums[4, replicate] += y * (1 - y) / (h - 1)


def _check(variant: str) -> None:
    if variant not in VARIANTS:
        raise unknown("form of MSE_n", variant, VARIANTS)
