"""Networks that normalise by each batch, as MAML's do: they are adapted to a task, and give no features of a single image."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from exemplar.spaces.networks import build_critic


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


def build_learner(network: str = "conv4-linear", size: int = 50, channels: int = 1, ways: int = 20) -> nn.Module:
    """A critic whose last layer tells `ways` classes apart, and which normalises by each batch's own statistics.

    Fresh weights from torch's own generator. conv4 for 20 ways has 264,788 parameters at 50 px, with or without
    its last ReLU (conv4-linear).
    """
    learner = build_critic(network, (channels, size, size), ways)
    for module in list(learner.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, BatchNorm(child.num_features, child.eps))
    return learner
