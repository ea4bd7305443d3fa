"""The exponential rule: steps that grow exponentially with the error, on weights of limited length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Exponential:
    """rate: learning rate > 0; limit: the greatest length of the weights, to which longer ones are projected;
    together: whether the limit is one for all actions' weights together (hobj) or for each action's (paper).
    """

    rate: float = 1.0
    limit: float = 10.0
    together: bool = False
    in_hobj: ClassVar[Mapping[str, bool]] = {"together": True}

    def step(self, preference: float, reward: float) -> float:
        """Coefficient of x added to the chosen action's weights. preference: its w·x; reward: −1 or 1."""
        return self.rate * reward * np.exp(-reward * preference)
