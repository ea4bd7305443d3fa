"""The prototype rule: remember the mean image of each key, and press the key whose mean is nearest (Reed 1972)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from exemplar.learn.agents.linear import GRAIN, GRID


@dataclass
class Prototype:
    """An agent that keeps, for each choice, the mean of the images for which it was right.

    Of two choices, a wrong one tells which was right; of more, only a right one does. A choice without images has its prototype
    at the origin, where features are centred. n_choices: C ≥ 2.
    """

    n_choices: int = 2
    total: np.ndarray = field(init=False, repr=False, compare=False)

    def reset(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.total = np.zeros((self.n_choices, 0))
        self.n_seen = np.zeros(self.n_choices)

    def choose(self, x: np.ndarray) -> int:
        """The choice whose prototype is nearest; at random among several that are equally near."""
        if not self.total.size:
            self.total = np.zeros((self.n_choices, len(x)))
        self.x = np.asarray(x, dtype=np.float64)
        mean = self.total / np.maximum(self.n_seen, 1)[:, None]
        nearness = np.rint((mean @ self.x - (mean * mean).sum(axis=1) / 2) * GRID) * GRAIN  # ‖x‖² is the same for all
        best = np.flatnonzero(nearness == nearness.max())
        self.choice = int(best[int(self.rng.random() * len(best))] if len(best) > 1 else best[0])
        return self.choice

    def feedback(self, reward: float) -> None:
        if reward > 0 or self.n_choices == 2:
            right = self.choice if reward > 0 else 1 - self.choice
            self.total[right] += self.x
            self.n_seen[right] += 1
