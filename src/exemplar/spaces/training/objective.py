"""What is learned: an objective builds a network, draws its own batches, and says what they cost and what is kept of it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import torch
from torch import nn

from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages


class Update(NamedTuple):
    """One of several updates within a step. loss: what is descended; parameters: whose turn it is, the others stay as they are;
    metrics: numbers to show, 0-d tensors, `loss` among them in one of the updates."""

    loss: torch.Tensor
    parameters: Sequence[nn.Parameter]
    metrics: dict[str, torch.Tensor]


Loss = tuple[torch.Tensor, dict[str, torch.Tensor]]  # what is descended, and what else to show, all 0-d tensors


class Objective(Protocol):
    """What the training loop needs: a frozen dataclass, whose fields are its configuration, with a name that never changes.

    It may also have
    losses(network, data, rng, step) -> Iterator[Update], for networks that take turns within a step: each loss is computed
        when the one before it has been descended;
    gradient_clip: the longest gradient, all parameters together;
    slow_down(curve) -> float: a share of the learning rate that depends on the curve so far.
    """

    name: ClassVar[str]

    def build(self, data: TrainingImages) -> nn.Module:
        """The network with fresh weights, from torch's own generator (which `train` seeds); refuses data it cannot use."""

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        """Draws a batch on the device; gives the loss and other numbers to show."""

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """How well it does on `data.held_out`; called in eval mode, without gradients, and with the same rng each time."""

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer: ...

    def rate(self, step: int) -> float:
        """The learning rate at this step (from 0) as a share of the optimizer's own."""


class NamedObjective(Objective, Protocol):
    """What a recipe needs besides: its network is kept under a name, with a card."""

    layer: ClassVar[str]  # the layer that is meant when the trained network is named; "" is the output

    def for_steps(self, steps: int) -> Self:
        """The same for another number of steps; a schedule that knows its end is stretched to it."""

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        """Options of `train` that make training fast on so many GPUs."""

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        """What is kept of a network trained on images of this shape (channels, h, w)."""


@dataclass(frozen=True)
class KeptNetwork:
    """module: whose weights are kept; architecture: its name in a room's table of networks; config: the arguments that build
    it there."""

    module: nn.Module
    architecture: str
    config: dict[str, Any]


def kept_critic(network: nn.Module, architecture: str, shape: tuple[int, int, int]) -> KeptNetwork:
    """All of a network that is built from the size and the channels of its images."""
    return KeptNetwork(network, architecture, {"size": shape[1], "channels": shape[0]})


def check_rate(learning_rate: float) -> None:
    if not 0 < learning_rate < float("inf"):
        raise UserError(f"the learning rate {learning_rate} must be a number above 0")
