"""Wide residual networks for small photographs (Zagoruyko & Komodakis 2016), which end in a ReLU and an average."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks.conv4 import check_size

STEM = 16  # channels


class WideResNet(nn.Sequential):
    """images (b, channels, h, w) float32 in [0, 1] → (b, 64 · width), none below 0.

    depth: 28, or another 6 n + 4; width: by how much it is wider than a plain residual network. For 3 channels WRN-28-4 has
    5,846,480 parameters and 256 features, WRN-28-10 has 36,472,784 and 640. Stages: stem, group1 to group3, feature.
    """

    def __init__(self, depth: int = 28, width: int = 4, channels: int = 3, size: int = 32) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6 or width < 1:
            raise UserError(
                f"there is no WRN-{depth}-{width}: the depth must be 10, 16, 22, 28 …, the width at least 1"
            )
        check_size(size, 8)
        self.n_features = 64 * width
        self.add_module("stem", Stem(channels, STEM))
        n_in = STEM
        for k, n_out in enumerate((16 * width, 32 * width, 64 * width)):
            blocks = [
                Block(n_in if i == 0 else n_out, n_out, 2 if i == 0 and k else 1) for i in range((depth - 4) // 6)
            ]
            self.add_module(f"group{k + 1}", nn.Sequential(*blocks))
            n_in = n_out
        self.add_module("feature", pooled(n_in))
        initialise(self)


class Block(nn.Module):
    """Normalise, ReLU, 3×3 convolution, twice, added to the input; a 1×1 convolution takes that to a new shape."""

    folds: ClassVar = (("conv1", "norm2"),)

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(n_in), nn.BatchNorm2d(n_out)
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.shortcut = None if n_in == n_out else nn.Conv2d(n_in, n_out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        ready = functional.relu(self.norm1(x))
        y = self.conv2(functional.relu(self.norm2(self.conv1(ready))))
        return y + (x if self.shortcut is None else self.shortcut(ready))


class Stem(nn.Conv2d):
    """A 3×3 convolution of images in [0, 1], which it first brings to [−2, 2], about mean 0 and deviation 1."""

    def __init__(self, channels: int, n_out: int) -> None:
        super().__init__(channels, n_out, 3, padding=1, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(4 * images - 2)


def pooled(channels: int) -> nn.Sequential:
    """Normalise, ReLU, and the average over all places: (b, channels, h, w) → (b, channels)."""
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def initialise(network: nn.Module) -> None:
    """Convolutions of He et al. (2015), who keep the variance of gradients; from torch's own generator."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
