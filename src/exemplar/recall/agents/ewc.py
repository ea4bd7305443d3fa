"""Elastic weight consolidation: weights that mattered to earlier sets are held near where those left them.

After Kirkpatrick et al. (2017), in the online form of Schwarz et al. (2018): one running sum of Fisher diagonals, and the
weights after the last set as the anchor. The Fisher information is that of the set's own labels, sample by sample.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from exemplar.recall.agents.tuning import Term

FISHER = "fisher "


class Ewc:
    """A `Keeper`. strength: λ of the quadratic penalty."""

    def __init__(self, strength: float = 100.0) -> None:
        self.strength = strength

    def reset(self, n_labels: int) -> None:
        self.fisher: dict[str, torch.Tensor] = {}

    def before(self, network: nn.Module, images: torch.Tensor) -> Term | None:
        if not self.fisher:
            return None
        fisher, anchor = self.fisher, {name: value.detach().clone() for name, value in network.named_parameters()}

        def held(network: nn.Module, outputs: torch.Tensor) -> torch.Tensor:
            parts = [
                (fisher[name] * (value - anchor[name]).square()).sum() for name, value in network.named_parameters()
            ]
            return self.strength / 2 * torch.stack(parts).sum()

        return held

    def after(self, network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
        """Add the mean squared gradient of each sample's log probability."""
        weights = dict(network.named_parameters())
        total = self.fisher or {name: torch.zeros_like(value) for name, value in weights.items()}
        for k in range(len(images)):
            loss = functional.cross_entropy(network(images[k : k + 1]), labels[k : k + 1])
            for name, slope in zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True):
                total[name] += slope.square() / len(images)
        self.fisher = total

    def state(self) -> dict[str, torch.Tensor]:
        return {f"{FISHER}{name}": value.detach() for name, value in self.fisher.items()}

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        self.fisher = {name.removeprefix(FISHER): value for name, value in state.items()}
