"""The standard classifier: one output per class. The control S17, which overfits where classes have few drawings, and what
"pretrain and tune" begins with in continual few-shot learning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks import BACKBONE, build_backbone, build_critic, list_networks
from exemplar.spaces.objectives.calibration import calibrated_loss
from exemplar.spaces.objectives.protonet import encode
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate, kept_critic


@dataclass(frozen=True)
class Classifier:
    """network: a critic (`networks`), its last layer as wide as there are classes, or a backbone, which gets such a layer that
    is dropped after training; batch: images per step; learning_rate:
    Adam's, halved every `halve_after` epochs of `epoch` steps (228 batches of 128 are 18 drawings of each of Omniglot's
    classes)."""

    name: ClassVar[str] = "Classifier"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = "feature"
    network: str = "conv4-linear"
    batch: int = 128
    learning_rate: float = 1e-3
    epoch: int = 228
    halve_after: int = 20

    def build(self, data: TrainingImages) -> nn.Module:
        if min(self.batch, self.epoch, self.halve_after) < 1:
            raise UserError("a classifier needs a batch, an epoch and a halving of at least 1")
        check_rate(self.learning_rate)
        data.check_batch(self.batch)
        if data.held_out is not None and data.held_out.names != data.names:
            raise UserError(
                "a classifier can only be tested on its own classes: hold out other drawings of the same ones"
            )
        if self.network not in list_networks(BACKBONE):
            return build_critic(self.network, data.shape, data.n_classes)
        backbone = build_backbone(self.network, data.shape)
        return nn.Sequential(backbone, nn.Linear(backbone.n_features, data.n_classes))

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        rows = data.sample(self.batch, rng)
        logits, label = network(data.take(rows)).float(), data.label[rows]
        return functional.cross_entropy(logits, label), {"accuracy": (logits.argmax(1) == label).float().mean()}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """Losses and accuracy over all held-out drawings."""
        assert data.held_out is not None
        logits, label = encode(network, data.held_out), data.held_out.label
        return {
            "loss": float(functional.cross_entropy(logits, label)),
            "calibrated_loss": calibrated_loss(logits, label),
            "accuracy": float((logits.argmax(1) == label).float().mean()),
        }

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 0.5 ** (step // (self.epoch * self.halve_after))

    def for_steps(self, steps: int) -> Self:
        return self

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        """The critic, or the backbone without its last layer."""
        if isinstance(network, nn.Sequential):
            return kept_critic(network[0], self.network, shape)
        assert isinstance(network.last, nn.Linear)
        kept = kept_critic(network, self.network, shape)
        return replace(kept, config=kept.config | {"outputs": network.last.out_features})

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {"replay": n_devices == 1}
