"""The mean-absolute-error rule: move the chosen action's preference towards its reward by a step of fixed length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class MeanAbsoluteError:
    """rate: learning rate > 0; rest_when_right: whether a preference equal to the reward stays (hobj) or steps back (paper)."""

    rate: float = 1.0
    rest_when_right: bool = False
    compares: ClassVar[bool] = True
    in_hobj: ClassVar[Mapping[str, bool]] = {"rest_when_right": True}

    def step(self, preference: float, reward: float) -> float:
        """Coefficient of x added to the chosen action's weights. preference: its w·x; reward: −1 or 1."""
        if preference < reward:
            return self.rate
        return 0.0 if self.rest_when_right and preference == reward else -self.rate
