"""Shares whose true mean is known, from populations unlike what intervals assume: to count how often an interval holds it.

Each population gives values (sets, s, k, n) in [0, 1]: of s critics, k concepts and n drawings, as recognizability has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import expit, roots_hermitenorm

from exemplar.spaces.objectives.protonet import chance_of_nearest

N_CONCEPTS, WAYS = 150, 20  # drawings are named among 20 of 150, as Omniglot's
Shape = tuple[int, int, int, int]  # sets, critics, concepts, drawings


@dataclass(frozen=True)
class Graded:
    """Every concept, and every drawing of it, has a difficulty of its own, normal on the logit scale: the chance that another
    concept is nearer. How many of the 149 others are gives each drawing's share in closed form. between, within: deviations
    over concepts and over a concept's drawings; critics: over critics, where there are several."""

    between: float
    within: float
    critics: float = 0.0

    def sample(self, truth: float, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        sets, s, k, n = shape
        level = self._level(truth)
        hard = rng.normal(size=(sets, 1, k, 1)) * self.between + rng.normal(size=(sets, 1, k, n)) * self.within
        nearer = expit(level + hard + rng.normal(size=(sets, s, 1, 1)) * self.critics)
        by_count = chance_of_nearest(torch.arange(N_CONCEPTS), N_CONCEPTS, WAYS).numpy()
        found: np.ndarray = by_count[rng.binomial(N_CONCEPTS - 1, nearer)]
        return found

    def _level(self, truth: float) -> float:
        """The mean difficulty at which the mean share is `truth`: of 19 others, each nearer by chance p, none is."""
        places, weights = roots_hermitenorm(120)
        spread = np.sqrt(self.between**2 + self.within**2 + self.critics**2)
        # p = 0 is far below −40 and p = 1 far above 40, whatever the spread
        return float(brentq(lambda at: _mean_share(at + spread * places, weights) - truth, -40, 40))


@dataclass(frozen=True)
class FewBad:
    """Most concepts are perfect; of a few bad ones each drawing is right with a chance of their own, Beta(right, wrong), or
    never where right is 0. Below a half the other way round: most are wholly wrong, and a few good."""

    right: float
    wrong: float

    def sample(self, truth: float, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        sets, s, k, n = shape
        mean = self.right / (self.right + self.wrong)
        is_bad = rng.random((sets, 1, k, 1)) < min(truth, 1 - truth) / (1 - mean)
        chance = rng.beta(self.right, self.wrong, (sets, 1, k, 1)) if self.right else 0.0
        named = (rng.random((sets, s, k, n)) < np.where(is_bad, chance, 1.0)).astype(np.float64)
        return named if truth >= 0.5 else 1 - named


def _mean_share(difficulty: np.ndarray, weights: np.ndarray) -> float:
    return float(((1 - expit(difficulty)) ** (WAYS - 1) * weights).sum() / weights.sum())


POPULATIONS: dict[str, Graded | FewBad] = {
    "concepts and drawings much alike": Graded(0.3, 0.3),
    "concepts and drawings that differ": Graded(1.0, 1.0),
    "concepts far apart": Graded(2.0, 1.0),
    "a few bad concepts": FewBad(1.0, 3.0),
    "a few wholly wrong concepts": FewBad(0.0, 1.0),
    "three critics that differ": Graded(1.0, 1.0, 0.3),
}
