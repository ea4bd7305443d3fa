"""The hinge rule: learn from a choice until its preference is on the right side with a margin of 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Hinge:
    """rate: learning rate > 0; at_margin: whether to learn at exactly 1 too (hobj does, the paper does not)."""

    rate: float = 1.0
    at_margin: bool = False
    compares: ClassVar[bool] = True
    in_hobj: ClassVar[Mapping[str, bool]] = {"at_margin": True}

    def step(self, preference: float, reward: float) -> float:
        """Coefficient of x added to the chosen action's weights. preference: its w·x; reward: −1 or 1."""
        margin = reward * preference
        return self.rate * reward if margin < 1 or (self.at_margin and margin == 1) else 0.0
