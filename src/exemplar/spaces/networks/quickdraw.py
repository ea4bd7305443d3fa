"""The larger critics that QuickDraw needs, for SimCLR and for ProtoNet (Tables 1 and 2)."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from exemplar.spaces.networks import OUTPUTS
from exemplar.spaces.networks.conv4 import FEATURES, Conv4, block, check_size


class Conv3(nn.Module):
    """QuickDraw's SimCLR network: three wider blocks. 1,435,520 parameters for 48 px drawings; layers as in `Conv4`."""

    def __init__(self, size: int = 48, channels: int = 1, outputs: int = OUTPUTS) -> None:
        super().__init__()
        check_size(size, 8)
        self.blocks = nn.Sequential(block(channels, 64), block(64, 128), block(128, 128))
        self.feature = nn.Linear(128 * (size // 8) ** 2, FEATURES)
        self.last = nn.Linear(FEATURES, outputs)

    def features(self, images: torch.Tensor) -> torch.Tensor:
        return self.feature(self.blocks(images).flatten(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(functional.relu(self.features(images)))


class Conv3Linear(Conv3):
    """conv3-wide without the table's ReLU between the 256 features and the last layer, as `Conv4Linear`."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(self.features(images))


class ResNet(nn.Module):
    """QuickDraw's ProtoNet: eight residual blocks, 11,686,208 parameters whatever the size; width: channels of the first ones,
    64 in the paper (16 gives 793,040 parameters, which is small enough to ship).

    The size is halved when the width doubles, three times, which leaves the 6 × 6 of the table's average pooling for
    48 px; we pool whatever is left. The table has no ReLU between the two linear layers, nor have we. Its
    convolutions have biases, but only without them does the count come out: normalisation makes them idle.
    """

    def __init__(self, size: int = 48, channels: int = 1, outputs: int = OUTPUTS, width: int = 64) -> None:
        super().__init__()
        check_size(size, 8)
        self.stem = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        widths = [width * times for times in (1, 1, 1, 2, 2, 4, 4, 8, 8)]
        self.blocks = nn.Sequential(*(ResidualBlock(*pair) for pair in pairwise(widths)))
        self.feature = nn.Linear(8 * width, FEATURES)
        self.last = nn.Linear(FEATURES, outputs)

    def features(self, images: torch.Tensor) -> torch.Tensor:
        return self.feature(self.blocks(self.stem(images)).mean((2, 3)))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(self.features(images))


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a 1×1 one (in every block); of half the size where the width changes."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        stride = 1 if channels_in == channels_out else 2
        self.residual = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(),
            nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
        )
        self.shortcut = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.residual(images) + self.shortcut(images))


Critic = Conv4 | Conv3 | ResNet
