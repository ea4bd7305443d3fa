"""Every network by name: how it is built, and what those who use it need to know. Nothing is imported before it is asked for.

The names are those on the cards of what ships. Another room adds its own networks in its `room.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from exemplar import rooms
from exemplar.errors import UserError, unknown

if TYPE_CHECKING:
    from torch import nn

    from exemplar.spaces.networks.conv4 import Conv64
    from exemplar.spaces.networks.densenet import DenseNet
    from exemplar.spaces.networks.quickdraw import Critic
    from exemplar.spaces.networks.wide_resnet import WideResNet

    Backbone: TypeAlias = WideResNet | DenseNet | Conv64

CRITIC, BACKBONE, ADAPTED = "critic", "backbone", "adapted"
OUTPUTS = 128  # of a critic's last layer, the one the losses are computed from


@dataclass(frozen=True)
class Network:
    """How a network is built.

    builder: `module:name`, imported when it is called; kind: CRITIC (takes size, channels and outputs, has a layer
    `feature` of 256), BACKBONE (takes size and channels, has `n_features`), ADAPTED (is adapted to tasks, and gives no features
    of an image by itself), or "" for what only cards name. arguments: those that belong to the
    name; architecture: what cards call it, where the name is but a choice of arguments.
    """

    builder: str
    kind: str = ""
    arguments: Mapping[str, int] = field(default_factory=dict)
    architecture: str = ""

    def __call__(self, **config: Any) -> nn.Module:
        """The network with fresh weights, from torch's own generator."""
        module, _, name = self.builder.partition(":")
        make: Callable[..., nn.Module] = getattr(import_module(module), name)
        return make(**self.arguments, **config)


HERE = "exemplar.spaces.networks"
NETWORKS = {
    "conv4": Network(f"{HERE}.conv4:Conv4", CRITIC),
    "conv4-linear": Network(f"{HERE}.conv4:Conv4Linear", CRITIC),
    "conv3-wide": Network(f"{HERE}.quickdraw:Conv3", CRITIC),
    "conv3-wide-linear": Network(f"{HERE}.quickdraw:Conv3Linear", CRITIC),
    "resnet": Network(f"{HERE}.quickdraw:ResNet", CRITIC),
    "resnet-narrow": Network(f"{HERE}.quickdraw:ResNet", CRITIC, {"width": 16}),
    "maml": Network(f"{HERE}.adapted:build_learner", ADAPTED),
    "oml": Network(f"{HERE}.adapted:build_head_learner", ADAPTED),
    "wide-resnet": Network(f"{HERE}.wide_resnet:WideResNet"),
    "wrn28-4": Network(f"{HERE}.wide_resnet:WideResNet", BACKBONE, {"depth": 28, "width": 4}, "wide-resnet"),
    "wrn28-10": Network(f"{HERE}.wide_resnet:WideResNet", BACKBONE, {"depth": 28, "width": 10}, "wide-resnet"),
    "densenet": Network(f"{HERE}.densenet:DenseNet", BACKBONE),
    "conv4-64": Network(f"{HERE}.conv4:Conv64", BACKBONE),
}


def list_networks(kind: str) -> tuple[str, ...]:
    """The names of one kind."""
    return tuple(name for name, network in NETWORKS.items() if network.kind == kind)


def is_adapted(architecture: str) -> bool:
    """Whether a network is adapted to tasks and gives no features of an image by itself."""
    return architecture in NETWORKS and NETWORKS[architecture].kind == ADAPTED


def build_critic(name: str, shape: tuple[int, int, int], outputs: int = OUTPUTS) -> Critic:
    """A critic for images of this shape (channels, h, w), fresh weights from torch's own generator."""
    if name not in list_networks(CRITIC):
        raise unknown("critic network", name, list_networks(CRITIC))
    return cast("Critic", NETWORKS[name](size=square_side(shape), channels=shape[0], outputs=outputs))


def build_backbone(name: str, shape: tuple[int, int, int]) -> Backbone:
    """A backbone for images of this shape (channels, h, w), fresh weights from torch's own generator."""
    if name not in list_networks(BACKBONE):
        raise unknown("backbone", name, list_networks(BACKBONE))
    return cast("Backbone", NETWORKS[name](channels=shape[0], size=square_side(shape)))


def build_embedding(name: str, shape: tuple[int, int, int]) -> Critic | Backbone:
    """A critic, or a backbone that has a layer `feature`, for images of this shape."""
    return build_backbone(name, shape) if name in list_networks(BACKBONE) else build_critic(name, shape)


def build_network(architecture: str, config: Mapping[str, Any]) -> nn.Module:
    """A fresh network as a card describes it, of this or another room; torch's own generator is left as it was."""
    import torch

    from exemplar.files import first_line

    make = NETWORKS.get(architecture) or _of_other_rooms(architecture)
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("error", "Initializing zero-element tensors")  # a network of which a part is not there
        try:
            return make(**config)
        except (TypeError, ValueError, RuntimeError, UserWarning) as problem:
            settings = ", ".join(f"{key}={value}" for key, value in config.items())
            raise UserError(f"{architecture} cannot be built with {settings} ({first_line(problem)})") from problem


def square_side(shape: tuple[int, int, int]) -> int:
    """The side in px of images of a shape (channels, h, w); no network here takes other than square ones."""
    _, height, width = shape
    if height != width:
        raise UserError(f"networks take square images, these are {height} × {width} px: resize them")
    return height


def _of_other_rooms(architecture: str) -> Callable[..., nn.Module]:
    known = rooms.collect("networks")
    if architecture not in known:
        raise unknown("architecture", architecture, known)
    return cast("Callable[..., nn.Module]", known[architecture])
