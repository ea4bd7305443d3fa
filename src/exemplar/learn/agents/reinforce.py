"""REINFORCE: make what was rewarded more probable, by the gradient of the log of its probability (Williams 1992)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reinforce:
    """rate: learning rate > 0. The only rule that changes the weights of every action, not of the chosen one alone."""

    rate: float = 1.0

    def step_each(self, probability: float, chosen: bool, reward: float) -> float:
        """Coefficient of x added to one action's weights.

        probability: the softmax of preferences at this action; chosen: whether it was taken; reward: −1 or 1.
        """
        return self.rate * reward * ((1.0 if chosen else 0.0) - probability)
