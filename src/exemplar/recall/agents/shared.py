"""A network that nobody changes: copies of a learner share it, since copying modules costs as much as a step of tuning."""

from __future__ import annotations

from typing import Any

from torch import nn


class Shared:
    """network: read only; tuning is done on a copy."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network

    def __deepcopy__(self, memo: dict[int, Any]) -> Shared:
        return self
