"""conv4: four convolution blocks and two linear layers, the critic of both SimCLR and ProtoNet on Omniglot (Table S1).

The table has a ReLU between the two linear layers, the released code none. What follows the 256 features decides where they
lie: before a ReLU they carry offsets, and whatever is measured from the origin (a cosine, a drawing's own deviation) changes
with them. Only without it are the published diversities reached, so the critics that ship are of the kind `conv4-linear`.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks import OUTPUTS

FEATURES = 256  # of the layer in which diversity and originality are measured


class Conv4(nn.Module):
    """images (b, channels, size, size) float32 in [0, 1] → (b, outputs); 292,544 parameters for 50 px drawings.

    The layer `feature` gives (b, 256) before its ReLU. 48 and 50 px both leave 3 × 3 × 64 = 576 numbers before it.
    """

    def __init__(self, size: int = 50, channels: int = 1, outputs: int = OUTPUTS) -> None:
        super().__init__()
        check_size(size, 16)
        self.blocks = nn.Sequential(block(channels, 64), block(64, 64), block(64, 64), block(64, 64))
        self.feature = nn.Linear(64 * (size // 16) ** 2, FEATURES)
        self.last = nn.Linear(FEATURES, outputs)

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """images as in `forward` → (b, 256), what the layer `feature` gives."""
        return self.feature(self.blocks(images).flatten(1))  # the table's ReLU in between changes nothing: all is ≥ 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(functional.relu(self.features(images)))


class Conv4Linear(Conv4):
    """conv4 as coded: nothing stands between the 256 features and the last layer."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(self.features(images))


class Conv64(nn.Sequential):
    """conv4-64, a backbone: four blocks of 64, the last one's output flattened: (b, channels, size, size) in [0, 1] → 256 for
    32 px.

    Each block ends in a maximum and a ReLU, so that no feature is below 0. 113,088 parameters. Stages: block1 to block4,
    feature.
    """

    def __init__(self, channels: int = 3, size: int = 32) -> None:
        super().__init__()
        check_size(size, 16)
        self.n_features = 64 * (size // 16) ** 2
        for k in range(4):
            self.add_module(f"block{k + 1}", block(64 if k else channels, 64))
        self.add_module("feature", nn.Flatten())


def block(channels_in: int, channels_out: int) -> nn.Sequential:
    """3×3 convolution, batch normalisation, ReLU, and half the size (rounded down).

    The largest of four, then its ReLU: the same numbers and gradients as the other way round, for a quarter of the work.
    """
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.BatchNorm2d(channels_out), nn.MaxPool2d(2), nn.ReLU()
    )


def check_size(size: int, least: int) -> None:
    if size < least:
        raise UserError(f"images of {size} px vanish inside this network: give images of at least {least} px")
