"""The perceptron rule: learn from a choice only when its preference had the wrong sign (Rosenblatt 1958)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Perceptron:
    """rate: learning rate > 0; it scales all weights alike, so choices do not depend on it."""

    rate: float = 1.0
    compares: ClassVar[bool] = True

    def step(self, preference: float, reward: float) -> float:
        """Coefficient of x added to the chosen action's weights. preference: its w·x; reward: −1 or 1."""
        return self.rate * reward if reward * preference <= 0 else 0.0
