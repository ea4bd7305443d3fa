"""SimCLR: two views of a drawing come to lie nearer to each other than to any other drawing (Chen et al. 2020; S2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.images.augment import augment, preset
from exemplar.spaces.networks import build_critic
from exemplar.spaces.networks.quickdraw import Critic
from exemplar.spaces.objectives.protonet import accuracies, binarised, check_ways, encode
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate, kept_critic


@dataclass(frozen=True)
class SimClr:
    """network: a critic (`networks`), whose last layer is the projection the loss is computed from; views: an augmentation
    preset, of which each view of an image takes one transform; batch: images per step, two views of each; temperature: of
    the loss; learning_rate: RMSprop's, which stays as it is; threshold: a view is rescaled to fill [0, 1] and binarised
    again, as drawings are before any critic encodes them (so did the authors' code)."""

    name: ClassVar[str] = "SimClr"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = "feature"  # what diversity is measured in
    network: str = "conv4-linear"
    views: str = "moderate"
    batch: int = 128
    temperature: float = 0.5
    learning_rate: float = 1e-3
    threshold: float = 0.5

    def build(self, data: TrainingImages) -> Critic:
        if self.batch < 2 or not self.temperature > 0:  # as NaN is not
            raise UserError("SimCLR needs a batch of 2 or more, and a temperature above 0")
        check_rate(self.learning_rate)
        preset(self.views)
        for images in (data, data.held_out):
            if images is not None:
                images.check_batch(self.batch)
        if data.held_out is not None:
            check_ways(data.held_out)
        return build_critic(self.network, data.shape)

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        images = data.take(data.sample(self.batch, rng)).repeat(2, 1, 1, 1)
        views = binarised(augment(images, preset(self.views), rng), self.threshold)
        loss, correct = contrast(network(views), self.temperature)
        return loss, {"accuracy": correct}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss: of views of held-out images, 8 batches at most; accuracy_…: 20-way, in the 256-d layer."""
        assert data.held_out is not None and isinstance(network, Critic)
        n_batches = max(1, min(8, len(data.held_out.pixels) // self.batch))
        losses = [self.loss(network, data.held_out, rng, 0)[0] for _ in range(n_batches)]
        features = encode(network.features, data.held_out)
        return {"loss": float(torch.stack(losses).mean()), **accuracies(features, data.held_out, rng)}

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.RMSprop(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 1.0

    def for_steps(self, steps: int) -> Self:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {"replay": n_devices == 1}  # a small network waits for its launches more than it computes

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        return kept_critic(network, self.network, shape)


def contrast(projected: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """NT-Xent: cross-entropy of picking an image's other view among all 2b − 1 others by cosine similarity / temperature.

    projected: (2b, d), the first views of b images, then their second ones. Returns the loss and the share picked rightly.
    """
    with torch.autocast(projected.device.type, enabled=False):
        unit = functional.normalize(projected.float())
        similarity = (unit @ unit.T / temperature).fill_diagonal_(-torch.inf)
    other = torch.arange(len(unit), device=unit.device).roll(len(unit) // 2)
    return functional.cross_entropy(similarity, other), (similarity.argmax(1) == other).float().mean()
