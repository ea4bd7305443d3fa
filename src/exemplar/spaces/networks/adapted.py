"""Networks that are adapted to a task before they name anything: MAML's, which normalises by each batch, as a whole or from a
stage on; of OML's the last layers alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from exemplar.errors import UserError, unknown
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


class TailLearner(nn.Module):
    """images (b, channels, h, w) → (b, ways): a trunk that is the same for every task, and a tail that is adapted to each."""

    def __init__(self, trunk: nn.Module, tail: nn.Module) -> None:
        super().__init__()
        self.trunk, self.tail = trunk, tail

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.tail(self.trunk(images))
        return outputs


def adapted_part(network: nn.Module) -> nn.Module:
    """What of a learner is adapted: all of it, or its tail; learned rates never are."""
    inner = network.network if isinstance(network, Rated) else network
    return inner.tail if isinstance(inner, TailLearner) else inner


def shared_part(network: nn.Module) -> nn.Module | None:
    """What comes before it, the same for every task; None where all is adapted."""
    inner = network.network if isinstance(network, Rated) else network
    return inner.trunk if isinstance(inner, TailLearner) else None


class Rated(nn.Module):
    """A network with learning rates of its own: one per adapted tensor of weights and step (MAML++; Antoniou et al. 2019)."""

    def __init__(self, network: nn.Module, steps: int, rate: float) -> None:
        super().__init__()
        self.network = network
        self.rates = nn.ParameterList(
            nn.Parameter(torch.full((steps,), rate)) for _ in adapted_part(network).parameters()
        )

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.network(images)
        return outputs

    def rates_at(self, step: int) -> Mapping[str, Tensor]:
        """Name of an adapted parameter → its rate, 0-d; later steps than were trained have the last one's."""
        names = (name for name, _ in adapted_part(self.network).named_parameters())
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
    network: str = "conv4-linear", size: int = 50, channels: int = 1, ways: int = 20, rated: int = 0, adapted: str = ""
) -> nn.Module:
    """A critic or backbone whose last layer tells `ways` classes apart, and which normalises by each batch's own statistics.

    Fresh weights from torch's own generator. conv4 for 20 ways has 264,788 parameters at 50 px, with or without
    its last ReLU (conv4-linear). rated: steps that have learned rates, 0 for none; adapted: the stage of a backbone from which
    on it is adapted to tasks, "" for all of it.
    """
    shape = (channels, size, size)
    if network in list_networks(BACKBONE):
        backbone = build_backbone(network, shape)
        last = nn.Linear(backbone.n_features, ways)
        learner: nn.Module = divide(backbone, last, adapted) if adapted else nn.Sequential(backbone, last)
    else:
        if adapted:
            raise UserError(f"{network} is adapted as a whole: leave adapted out, or take a backbone")
        learner = build_critic(network, shape, ways)
    for module in list(learner.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, BatchNorm(child.num_features, child.eps))
    return Rated(learner, rated, 0.0) if rated else learner


def divide(backbone: nn.Module, last: nn.Module, adapted: str) -> TailLearner:
    """A backbone's stages before `adapted` as the trunk, the others and the last layer as the tail."""
    stages = dict(backbone.named_children())
    names = list(stages)
    if adapted not in names[1:]:
        raise unknown("stage from which on to adapt", adapted, names[1:])
    first = names.index(adapted)
    trunk, tail = (
        nn.Sequential(OrderedDict((name, stages[name]) for name in part)) for part in (names[:first], names[first:])
    )
    tail.add_module("last", last)
    return TailLearner(trunk, tail)


def build_head_learner(
    network: str = "conv4-64", size: int = 28, channels: int = 1, hidden: int = 64, ways: int = 15
) -> HeadLearner:
    """A backbone and a head that tells `ways` classes apart. Fresh weights from torch's own generator."""
    backbone = build_backbone(network, (channels, size, size))
    return HeadLearner(backbone, backbone.n_features, hidden, ways)
