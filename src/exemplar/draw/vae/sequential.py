"""VAE-STN's objective: the bound of a sequence of latent variables (Eq. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from exemplar.draw.batches import sample_pairs
from exemplar.draw.trainable import check_drawings
from exemplar.draw.vae.elbo import TrainedByElbo, sequence_elbo
from exemplar.draw.vae.gaussians import log_likelihood
from exemplar.draw.vae.networks import NETWORKS
from exemplar.draw.vae.stn import WIDTHS
from exemplar.errors import UserError, unknown
from exemplar.spaces.networks import square_side
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss
from exemplar.spaces.training.plateau import halved_on_plateau


@dataclass(frozen=True)
class SequentialVae(TrainedByElbo):
    """attention_steps, latent, lstm, read, write, located, layers: of the network (`VaeStn`); beta: weight of the KL; shuffle:
    any drawing of the class is shown instead of its exemplar; batch: drawings per step; learning_rate: Adam's, halved when the
    loss has not fallen for `patience` steps (10 epochs of Omniglot); gradient_clip: the longest gradient."""

    name: ClassVar[str] = "SequentialVae"
    attention_steps: int = 60
    latent: int = 80
    lstm: int = 400
    read: int = 15
    write: int = 15
    located: int = 100
    layers: str = "omniglot"
    beta: float = 1.0
    shuffle: bool = False
    batch: int = 128
    learning_rate: float = 1e-3
    patience: int = 2_300
    gradient_clip: float = 5.0

    @property
    def drawings_per_step(self) -> int:
        return self.batch

    @property
    def shows_exemplars(self) -> bool:
        return not self.shuffle

    def check_settings(self) -> None:
        self.check_elbo(self.batch)
        if self.layers not in WIDTHS:
            raise unknown("table of VAE-STN's layers", self.layers, WIDTHS)
        if min(self.attention_steps, self.latent, self.read, self.write, self.patience) < 1:
            raise UserError("VAE-STN needs attention_steps, latent, read, write and patience of at least 1")
        if not 0 < self.located < self.lstm:
            raise UserError(
                f"of the LSTM's {self.lstm} numbers, those that say where to look must be some and not all, not {self.located}"
            )
        if not self.gradient_clip > 0:
            raise UserError(f"gradients must be allowed some length, not {self.gradient_clip}")

    def build(self, data: TrainingImages) -> nn.Module:
        check_drawings(self, data)
        return self.make_network(square_side(data.shape))

    def make_network(self, size: int) -> nn.Module:
        return NETWORKS["vae-stn"](**self._config())

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        drawings, shown = sample_pairs(data, self.batch, rng, shuffle=self.shuffle)
        noise = torch.randn(self.batch, self.attention_steps * self.latent, generator=rng, device=rng.device)
        logits, kl = network(drawings, shown, noise)
        return sequence_elbo(log_likelihood(drawings, logits), kl, self.beta)

    def slow_down(self, curve: list[dict[str, float]]) -> float:
        return halved_on_plateau(curve, self.patience)

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        return KeptNetwork(network, "vae-stn", self._config())

    def _config(self) -> dict[str, Any]:
        names = ("latent", "lstm", "read", "write", "located", "layers")
        return {"steps": self.attention_steps, **{name: getattr(self, name) for name in names}}
