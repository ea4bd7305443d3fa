"""How the partner is trained: cross-entropy, under the constraint that every layer has norm 1 at most (deel-torchlip)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional

from exemplar.attend.partner.network import GroupSort2, build_classifier
from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate

ARCHITECTURE = "lipschitz-classifier"
PART = 1024


@dataclass(frozen=True)
class LipschitzClassifier:
    """channels, hidden: of the network; temperature: outputs are multiplied by it before the softmax: the larger, the
    more accurate and the less robust; batch: drawings per step; learning_rate: Adam's, which falls to 0 along a cosine
    by `last_step`."""

    name: ClassVar[str] = "LipschitzClassifier"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = ""
    channels: tuple[int, int, int] = (16, 32, 32)
    hidden: int = 128
    temperature: float = 32.0
    batch: int = 128
    learning_rate: float = 5e-3
    last_step: int = 1500

    def build(self, data: TrainingImages) -> nn.Module:
        check_rate(self.learning_rate)
        if data.shape[0] != 1 or data.shape[1] != data.shape[2] or data.shape[1] % 4:
            raise UserError(f"The partner takes square drawings of a multiple of 4 px, these are {data.shape[1:]}.")
        if data.n_classes < 2:
            raise UserError("The partner needs at least 2 concepts to tell apart.")
        return constrained(build_classifier(data.n_classes, data.shape[1], self.channels, self.hidden))

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        rows = torch.randint(len(data.pixels), (self.batch,), generator=rng, device=rng.device)
        logits = network(data.take(rows)) * self.temperature
        return functional.cross_entropy(logits, data.label[rows]), {}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss and accuracy on every held-out drawing."""
        assert data.held_out is not None
        there = data.held_out
        rows = torch.arange(len(there.pixels)).split(PART)
        logits = torch.cat([network(there.take(some)) for some in rows]) * self.temperature
        return {
            "loss": float(functional.cross_entropy(logits, there.label)),
            "accuracy": float((logits.argmax(dim=1) == there.label).float().mean()),
        }

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * min(step / self.last_step, 1.0)))

    def for_steps(self, steps: int) -> Self:
        from dataclasses import replace

        return replace(self, last_step=steps)

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {}

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        plain = plain_copy(network)
        config = {
            "classes": int(plain[-1].out_features),  # type: ignore[arg-type]
            "size": shape[1],
            "channels": list(self.channels),
            "hidden": self.hidden,
        }
        return KeptNetwork(plain, ARCHITECTURE, config)


def constrained(plain: nn.Sequential) -> nn.Sequential:
    """The same layers with weights that are kept at norm 1 (Björck's orthogonalisation after the spectral norm)."""
    from deel import torchlip

    found: list[nn.Module] = []
    for layer in plain:
        if isinstance(layer, nn.Conv2d):
            size, padding = layer.kernel_size[0], int(layer.padding[0])
            found.append(torchlip.SpectralConv2d(layer.in_channels, layer.out_channels, size, padding=padding))
        elif isinstance(layer, nn.Linear):
            found.append(torchlip.SpectralLinear(layer.in_features, layer.out_features))
        else:
            found.append(layer)
    return nn.Sequential(*found)


def plain_copy(network: nn.Module) -> nn.Sequential:
    """Of a constrained network, plain layers that compute the same."""
    found: list[nn.Module] = []
    for layer in network.children():
        if isinstance(layer, nn.Conv2d):
            one: nn.Module = nn.Conv2d(
                layer.in_channels, layer.out_channels, layer.kernel_size[0], padding=layer.padding[0]
            )
        elif isinstance(layer, nn.Linear):
            one = nn.Linear(layer.in_features, layer.out_features)
        else:
            found.append(GroupSort2() if isinstance(layer, GroupSort2) else layer)
            continue
        assert layer.bias is not None
        one.load_state_dict({"weight": layer.weight.detach(), "bias": layer.bias.detach()})
        found.append(one)
    return nn.Sequential(*found)
