"""How the partner is trained: cross-entropy, under the constraint that every layer has norm 1 at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrize import register_parametrization

from exemplar.attend.partner.network import GroupSort2, build_classifier
from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate

ARCHITECTURE = "lipschitz-classifier"
PART = 1024
BJORCK = 12  # iterations


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


class UnitNorm(nn.Module):
    """A weight as (out, rest), with its largest singular value 1 and the others brought near it; times `scale`.

    The weight is divided by its norm, then Björck's iteration (Björck & Bowie 1971) raises what is below 1 and never leaves
    [0, 1]. The norm is computed exactly, from the eigenvalues of the smaller Gram matrix: by a few steps of power iteration, as
    in deel-torchlip, it can come out too small, and then the iteration diverges."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        w = weight.flatten(1)
        wide = w.shape[0] <= w.shape[1]
        gram = (w @ w.T if wide else w.T @ w).detach()
        w = w / torch.linalg.eigvalsh(gram)[-1].sqrt()
        for _ in range(BJORCK):
            w = 1.5 * w - 0.5 * ((w @ w.T) @ w if wide else w @ (w.T @ w))
        return self.scale * w.view_as(weight)


def constrained(plain: nn.Sequential) -> nn.Sequential:
    """The same layers, of norm 1 at most. A pixel takes part in k × k places of a convolution, whose norm is therefore up to k
    times that of its kernel as a matrix."""
    for layer in plain:
        if isinstance(layer, nn.Conv2d):
            register_parametrization(layer, "weight", UnitNorm(1 / layer.kernel_size[0]))
        elif isinstance(layer, nn.Linear):
            register_parametrization(layer, "weight", UnitNorm(1.0))
    return plain


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
