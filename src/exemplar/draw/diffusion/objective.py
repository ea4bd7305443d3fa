"""What is learned: to predict the noise in a drawing, shown an exemplar of its class (Eq. 2), or a set of others (FSDM)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.batches import sample_conditions, sample_sets
from exemplar.draw.diffusion.averaging import follow, part_that_draws, with_average
from exemplar.draw.diffusion.networks import NETWORKS
from exemplar.draw.diffusion.process import Schedule, add_noise
from exemplar.draw.trainable import TrainedByLoss, check_drawings, check_sets, check_training
from exemplar.errors import UserError
from exemplar.spaces.networks import square_side
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss

LAYOUT = {"force_layout_optimization": True}  # channels last also where inductor's own heuristic declines it
FAST = {"precision": "bf16-mixed", "compile": LAYOUT}


def predict_noise_loss(
    network: nn.Module, drawings: torch.Tensor, condition: torch.Tensor, schedule: Schedule, rng: torch.Generator
) -> torch.Tensor:
    """Mean squared error of the noise that is predicted, at any time from 1 to T (Eq. 15). drawings: (b, 1, h, w), ink 1."""
    b = len(drawings)
    noise = torch.randn(drawings.shape, generator=rng, device=rng.device)
    time = torch.randint(1, schedule.steps + 1, (b,), generator=rng, device=rng.device)
    predicted = network(add_noise(drawings, noise, time, schedule), time / schedule.steps, condition)
    return functional.mse_loss(predicted.float(), noise)


class _Denoiser(TrainedByLoss):
    """What both objectives do alike."""

    average: float

    @property
    @abstractmethod
    def schedule(self) -> Schedule:
        """Of the noise."""

    @property
    @abstractmethod
    def batch(self) -> int:
        """Drawings per step."""

    @property
    def drawings_per_step(self) -> int:
        return self.batch

    def check_settings(self) -> None:
        check_training(self.learning_rate, self.batch)
        _ = self.schedule  # refuses too few steps
        if not 0 <= self.average < 1:
            raise UserError(f"the decay of the average must be at least 0 and below 1, not {self.average}")

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {**FAST, "replay": n_devices == 1}


@dataclass(frozen=True)
class Denoising(_Denoiser):
    """DDPM's and CFGDM's. width: of the U-Net; diffusion_steps: T; rescaled: whether β is rescaled to T (`Schedule`);
    drop: how often the exemplar is replaced by empty paper, which guidance needs; shuffle: any drawing of the class is the
    condition instead of its exemplar; batch: drawings per step; learning_rate: Adam's, which decays linearly to 0 at
    `last_step`; average: decay of the average of the weights that is kept, 0 for the weights themselves."""

    name: ClassVar[str] = "Denoising"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = ""
    width: int = 40
    diffusion_steps: int = 600
    rescaled: bool = True
    drop: float = 0.0
    shuffle: bool = False
    batch: int = 128
    learning_rate: float = 1e-4
    last_step: int = 69_000
    average: float = 0.0
    time_scale: float = 1.0

    @cached_property
    def schedule(self) -> Schedule:
        return Schedule(self.diffusion_steps, reference=600 if self.rescaled else None)

    @property
    def shows_exemplars(self) -> bool:
        return not self.shuffle

    def check_settings(self) -> None:
        super().check_settings()
        if not 0 <= self.drop < 1:
            raise UserError(f"the exemplar is dropped with a probability of at least 0 and below 1, not {self.drop}")

    def build(self, data: TrainingImages) -> nn.Module:
        check_drawings(self, data)
        if square_side(data.shape) % 4:
            raise UserError(f"the U-Net halves images twice: {data.shape[1]} px are not divisible by 4")
        return with_average(self.make_network(data.shape[1]), self.average)

    def make_network(self, size: int) -> nn.Module:
        """Fresh weights, from torch's own generator. size: px."""
        return NETWORKS["convnext-unet"](width=self.width, time_scale=self.time_scale)

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        rows = torch.randint(len(data.pixels), (self.batch,), generator=rng, device=rng.device)
        condition = data.take(sample_conditions(data, data.label[rows], rng, shuffle=self.shuffle))
        if self.drop:
            kept = torch.rand(self.batch, generator=rng, device=rng.device) >= self.drop
            condition = condition * kept[:, None, None, None]
        loss = predict_noise_loss(network, data.take(rows), condition, self.schedule, rng)
        if network.training:
            follow(network)
        return loss, {}

    def rate(self, step: int) -> float:
        return max(1 - step / self.last_step, 0.0)

    def for_steps(self, steps: int) -> Self:
        return replace(self, last_step=steps)

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        config = {"width": self.width, "time_scale": self.time_scale}
        return KeptNetwork(part_that_draws(network), "convnext-unet", config)


@dataclass(frozen=True)
class SetDenoising(_Denoiser):
    """FSDM's: each drawing of a set is predicted from the others. network: set-unet or set-vit-unet; width, blocks, context: of
    its residual U-Net; set_size: drawings of a class at once, one of them predicted from the rest, in turn; sets: per step; the
    others as in `Denoising`."""

    name: ClassVar[str] = "SetDenoising"
    batch_setting: ClassVar[str] = "sets"
    layer: ClassVar[str] = ""
    network: str = "set-unet"
    width: int = 32
    blocks: int = 2
    context: int = 128
    set_size: int = 5
    sets: int = 32
    diffusion_steps: int = 1000
    rescaled: bool = True
    learning_rate: float = 1e-4
    average: float = 0.0

    @cached_property
    def schedule(self) -> Schedule:
        return Schedule(self.diffusion_steps, reference=1000 if self.rescaled else None)

    @property
    def batch(self) -> int:
        return self.sets * self.set_size

    @property
    def shows_exemplars(self) -> bool:
        return False

    def check_settings(self) -> None:
        if self.set_size < 2 or self.sets < 1:
            raise UserError(f"FSDM needs 1 set or more, of 2 drawings or more, not {self.sets} of {self.set_size}")
        super().check_settings()

    def build(self, data: TrainingImages) -> nn.Module:
        check_drawings(self, data)
        check_sets(data, self.set_size)
        return with_average(self.make_network(square_side(data.shape)), self.average)

    def make_network(self, size: int) -> nn.Module:
        """Fresh weights, from torch's own generator. size: px."""
        return NETWORKS[self.network](**self._config(size))

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        drawings = sample_sets(data, self.sets, self.set_size, rng)
        sets = drawings.view(self.sets, self.set_size, *data.shape[1:])
        loss = predict_noise_loss(network, drawings, sets, self.schedule, rng)
        if network.training:
            follow(network)
        return loss, {}

    def rate(self, step: int) -> float:
        return 1.0  # the public code's does not decay

    def for_steps(self, steps: int) -> Self:
        return self

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        return KeptNetwork(part_that_draws(network), self.network, self._config(shape[1]))

    def _config(self, size: int) -> dict[str, int]:
        return {"size": size, "width": self.width, "blocks": self.blocks, "context": self.context}


Objective = Denoising | SetDenoising
