"""An average of a network's weights over its training (EMA): a copy that follows slowly, and often draws better.

The copy is part of the network that is trained, so that checkpoints hold it and a step that is recorded once and replayed on a
GPU moves it, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Averaged(nn.Module):
    """A network with an average of its weights beside it; called, it is the one that learns in training, the average else.

    decay: how much of the average stays at each step, in (0, 1); over the first steps less, min(decay, (1 + n) / (10 + n))."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        super().__init__()
        self.network, self.decay = network, decay
        self.average = copy.deepcopy(network).requires_grad_(False)
        self.register_buffer("n_steps", torch.zeros(()))
        self.n_steps: torch.Tensor

    def condition(self, exemplars: torch.Tensor) -> torch.Tensor:
        return self._chosen().condition(exemplars)

    def forward(self, noisy: torch.Tensor, time: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        return self._chosen()(noisy, time, condition)

    @torch.no_grad()
    def follow(self) -> None:
        """Move the average towards the weights as they are; never waits for the device."""
        self.n_steps += 1
        decay = ((1 + self.n_steps) / (10 + self.n_steps)).clamp(max=self.decay)
        averages, weights = ([part.data for part in some.parameters()] for some in (self.average, self.network))
        torch._foreach_mul_(averages, decay)
        torch._foreach_add_(averages, list(torch._foreach_mul(weights, 1 - decay)))

    def _chosen(self) -> Any:
        return self.network if self.training else self.average


def with_average(network: nn.Module, decay: float) -> nn.Module:
    """The network with an average beside it; itself where decay is 0."""
    return Averaged(network, decay) if decay else network


def follow(network: nn.Module) -> None:
    """Move the network's average, if it has one; compiled or not."""
    move: Callable[[], None] | None = getattr(network, "follow", None)
    if move is not None:
        move()


def part_that_draws(network: nn.Module) -> nn.Module:
    """The average where there is one, else the network itself."""
    return network.average if isinstance(network, Averaged) else network
