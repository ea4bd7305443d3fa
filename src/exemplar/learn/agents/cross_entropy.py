"""The cross-entropy rule: logistic regression of reward on the chosen action's preference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CrossEntropy:
    """rate: learning rate > 0. The factor 4 inside makes 1 the largest rate that cannot diverge while ‖x‖ ≤ 1."""

    rate: float = 1.0

    def step(self, preference: float, reward: float) -> float:
        """Coefficient of x added to the chosen action's weights. preference: its w·x; reward: −1 or 1."""
        certainty = np.minimum(reward * preference, 700.0)  # beyond, exp would overflow; the step is 0 in either case
        return self.rate * reward * 4 / (1 + np.exp(certainty))
