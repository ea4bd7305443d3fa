"""The square rule: nudge the chosen action's weights towards the reward it brought (Widrow & Hoff 1960)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Square:
    """rate: learning rate > 0; 1 is the largest that cannot diverge while ‖x‖ ≤ 1."""

    rate: float = 1.0

    def step(self, preference: float, reward: float) -> float:
        """Coefficient of x added to the chosen action's weights. preference: its w·x; reward: −1 or 1."""
        return self.rate * (reward - preference)
