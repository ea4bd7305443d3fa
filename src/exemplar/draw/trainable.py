"""What can be trained to draw: an objective with what the room's verbs ask of it; a preset is one with a name and its paper.

Only torch is needed here, so that a recipe can be trained on a machine that has nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import nn

from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import Loss, NamedObjective, check_rate

SIZE = 48  # px: the diffusion models' U-Nets halve images twice or three times
HELD_OUT_BATCHES = 8
NO_EXEMPLARS = "training needs an exemplar of each class: name a space that chooses them, or shuffle"
Curve = list[dict[str, float]]


class DrawingObjective(NamedObjective, Protocol):
    """An objective whose network draws.

    batch_setting: the name of the setting that is halved where a batch does not fit the memory; batch: drawings at once;
    drawings_per_step: how many of the data a step uses, by which epochs are counted."""

    __dataclass_fields__: ClassVar[dict[str, Any]]  # it is a dataclass
    batch_setting: ClassVar[str]

    @property
    def batch(self) -> int: ...

    @property
    def drawings_per_step(self) -> int: ...

    @property
    def shows_exemplars(self) -> bool:
        """Whether the class's fixed exemplar is what is shown in training."""

    def check_settings(self) -> None:
        """Refuse settings that no data could make work."""

    def make_network(self, size: int) -> nn.Module:
        """The network that draws, with fresh weights, from torch's own generator. size: px."""

    def find_warnings(self, curve: Curve) -> list[str]:
        """A sentence for each thing that went wrong though the loss is a number."""


class TrainedByLoss(ABC):
    """What objectives of one loss and one Adam do alike."""

    batch_setting: ClassVar[str] = "batch"
    learning_rate: float

    @abstractmethod
    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        """Of one batch, and metrics beside it."""

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss: of 8 batches of held-out drawings."""
        assert data.held_out is not None
        losses = [self.loss(network, data.held_out, rng, 0)[0] for _ in range(HELD_OUT_BATCHES)]
        return {"loss": float(torch.stack(losses).mean())}

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam([part for part in network.parameters() if part.requires_grad], self.learning_rate)

    def find_warnings(self, curve: Curve) -> list[str]:
        return []


@dataclass(frozen=True)
class Preset:
    """agent: whose preset it is; what: one line; objective: network and training; epochs: of the paper; size: px of its
    drawings; note: for the card, what is as coded, what contradicts the text, what is ours."""

    agent: str
    what: str
    objective: DrawingObjective
    note: str
    epochs: int = 300
    size: int = SIZE

    @property
    def parameters(self) -> int:
        """How many numbers are learned by the network that draws, counted in the network itself."""
        with torch.device("meta"):  # nothing is filled
            return sum(part.numel() for part in self.objective.make_network(self.size).parameters())


@dataclass(frozen=True)
class DataSetting:
    """What a preset is trained on. data: name and split; images: how many; threshold: of ink; exemplars: the space in which
    they are central, None where the data comes with exemplars."""

    data: tuple[str, str]
    images: int
    threshold: float = 0.5
    exemplars: str | None = None


def check_drawings(objective: DrawingObjective, data: TrainingImages) -> None:
    """Refuse settings that cannot be, and images that are no drawings."""
    objective.check_settings()
    if data.shape[0] != 1:
        raise UserError(f"drawings have one channel, these images have {data.shape[0]}: turn them grey first")
    if objective.shows_exemplars and data.exemplar is None:
        raise UserError(NO_EXEMPLARS)


def check_training(learning_rate: float, batch: int) -> None:
    check_rate(learning_rate)
    if batch < 1:
        raise UserError(f"Batch size must be at least 1, got {batch}.")


def check_sets(data: TrainingImages, set_size: int) -> None:
    """Refuse sets that are larger than the smallest class."""
    fewest = int((data.rows >= 0).sum(1).min())
    if fewest < set_size:
        raise UserError(f"sets of {set_size} drawings need as many of each class, one has {fewest}: lower set_size")
