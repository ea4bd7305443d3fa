"""Networks that are adapted to a task before they name anything: MAML's, which normalises by each batch, as a whole; of OML's
the last layers alone."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from exemplar.spaces.networks import BACKBONE, build_backbone, build_critic, list_networks


class BatchNorm(nn.Module):
    """(b, channels, h, w) → the same, each channel with the mean 0 and deviation 1 of this batch, then scaled and shifted.

    Written out because the second derivative of torch's own is wrong under vmap, and says nothing (functorch issue 534).
    """

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels)), eps

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean((0, 2, 3), keepdim=True)
        variance = centred.square().mean((0, 2, 3), keepdim=True)
        scale = self.weight[:, None, None] * (variance + self.eps).rsqrt()
        return centred * scale + self.bias[:, None, None]


class Rated(nn.Module):
    """A network with learning rates of its own: one per tensor of weights and step (MAML++; Antoniou et al. 2019)."""

    def __init__(self, network: nn.Module, steps: int, rate: float) -> None:
        super().__init__()
        self.network = network
        self.rates = nn.ParameterList(nn.Parameter(torch.full((steps,), rate)) for _ in network.parameters())

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.network(images)
        return outputs

    def rates_at(self, step: int) -> Mapping[str, Tensor]:
        """Name of a parameter of `network` → its rate, 0-d; later steps than were trained have the last one's."""
        names = (name for name, _ in self.network.named_parameters())
        return {name: rate[min(step, len(rate) - 1)] for name, rate in zip(names, self.rates, strict=True)}


class HeadLearner(nn.Module):
    """images (b, channels, h, w) → (b, ways): a backbone that stays as it is, and a head of one hidden layer to adapt."""

    def __init__(self, backbone: nn.Module, n_features: int, hidden: int, ways: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(n_features, hidden), nn.ReLU(), nn.Linear(hidden, ways))

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.backbone(images))
        return outputs


def build_learner(
    network: str = "conv4-linear", size: int = 50, channels: int = 1, ways: int = 20, rated: int = 0
) -> nn.Module:
    """A critic or backbone whose last layer tells `ways` classes apart, and which normalises by each batch's own statistics.

    Fresh weights from torch's own generator. conv4 for 20 ways has 264,788 parameters at 50 px, with or without
    its last ReLU (conv4-linear). rated: steps that have learned rates, 0 for none.
    """
    shape = (channels, size, size)
    if network in list_networks(BACKBONE):
        backbone = build_backbone(network, shape)
        learner: nn.Module = nn.Sequential(backbone, nn.Linear(backbone.n_features, ways))
    else:
        learner = build_critic(network, shape, ways)
    for module in list(learner.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, BatchNorm(child.num_features, child.eps))
    return Rated(learner, rated, 0.0) if rated else learner


def build_head_learner(
    network: str = "conv4-64", size: int = 28, channels: int = 1, hidden: int = 64, ways: int = 15
) -> HeadLearner:
    """A backbone and a head that tells `ways` classes apart. Fresh weights from torch's own generator."""
    backbone = build_backbone(network, (channels, size, size))
    return HeadLearner(backbone, backbone.n_features, hidden, ways)
