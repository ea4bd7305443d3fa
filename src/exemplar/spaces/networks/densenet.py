"""A small DenseNet-BC (Huang et al. 2017) for small photographs: each layer takes all that came before it in its block."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks.conv4 import check_size
from exemplar.spaces.networks.wide_resnet import Stem, initialise, pooled


class DenseNet(nn.Sequential):
    """images (b, channels, h, w) float32 in [0, 1] → (b, features), none below 0.

    depth: 6 n + 4, a block having n layers; growth: channels that a layer adds. Between blocks, channels and side are halved.
    Stages: stem, block1 to block3 (the first two with the transition that follows them), feature.
    """

    def __init__(self, depth: int = 40, growth: int = 28, channels: int = 3, size: int = 32) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6 or growth < 1:
            raise UserError(f"there is no DenseNet-BC of depth {depth} and growth {growth}: try 40 and 28")
        check_size(size, 8)
        n_layers, n = (depth - 4) // 6, 2 * growth
        self.add_module("stem", Stem(channels, n))
        for k in (1, 2, 3):
            block = [Layer(n + i * growth, growth) for i in range(n_layers)]
            n += n_layers * growth
            self.add_module(f"block{k}", nn.Sequential(*block, *([Transition(n)] if k < 3 else [])))
            n = n // 2 if k < 3 else n
        self.n_features = n
        self.add_module("feature", pooled(n))
        initialise(self)


class Layer(nn.Module):
    """Through a bottleneck of 4 × growth channels to `growth` new ones, put after those it was given."""

    folds: ClassVar = (("conv1", "norm2"),)

    def __init__(self, n_in: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(n_in), nn.BatchNorm2d(4 * growth)
        self.conv1 = nn.Conv2d(n_in, 4 * growth, 1, bias=False)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        narrow = self.conv1(functional.relu(self.norm1(x)))
        return torch.cat((x, self.conv2(functional.relu(self.norm2(narrow)))), 1)


class Transition(nn.Module):
    """Half as many channels, and half the side."""

    def __init__(self, n_in: int) -> None:
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(n_in), nn.Conv2d(n_in, n_in // 2, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.avg_pool2d(self.conv(functional.relu(self.norm(x))), 2)
