"""A random guesser: the floor that anything which learns must leave behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class RandomGuesser:
    """An agent that presses any key, whatever it sees. n_choices: C ≥ 2."""

    n_choices: int = 2

    def reset(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def choose(self, x: np.ndarray) -> int:
        return int(self.rng.random() * self.n_choices)

    def feedback(self, reward: float) -> None:
        """It learns nothing."""
