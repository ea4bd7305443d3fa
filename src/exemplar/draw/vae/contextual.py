"""VAE-NS's objective: the bound with a context that a set of drawings shares (Eq. 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from exemplar.draw.batches import sample_sets
from exemplar.draw.trainable import check_drawings, check_sets
from exemplar.draw.vae.elbo import TrainedByElbo, context_elbo
from exemplar.draw.vae.gaussians import log_likelihood
from exemplar.draw.vae.networks import NETWORKS
from exemplar.errors import UserError, unknown
from exemplar.spaces.networks import square_side
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss

WEIGHTED = ("z", "both")


@dataclass(frozen=True)
class ContextVae(TrainedByElbo):
    """set_size: drawings of a class that share a context; sets: per step; context, latent, hidden, stochastic, layers, width:
    of the network (`VaeNs`); beta: weight of the KL of z, or with beta_on = both of c, too, as released; new_classes:
    whether each set is rotated by a multiple of 90° and reflected, or not, at random; learning_rate: Adam's."""

    name: ClassVar[str] = "ContextVae"
    batch_setting: ClassVar[str] = "sets"
    set_size: int = 10
    sets: int = 32
    context: int = 512
    latent: int = 16
    hidden: int = 256
    stochastic: int = 1
    layers: int = 3
    width: int = 32
    beta: float = 1.0
    beta_on: str = "z"
    new_classes: bool = True
    learning_rate: float = 1e-3

    @property
    def batch(self) -> int:
        return self.sets * self.set_size

    @property
    def drawings_per_step(self) -> int:
        return self.batch

    @property
    def shows_exemplars(self) -> bool:
        return False

    def check_settings(self) -> None:
        self.check_elbo(self.batch)
        if self.set_size < 1 or self.sets < 2:
            raise UserError(f"VAE-NS needs 2 sets or more, of 1 drawing or more, not {self.sets} of {self.set_size}")
        if min(self.context, self.latent, self.hidden, self.stochastic, self.layers, self.width) < 1:
            raise UserError("VAE-NS needs context, latent, hidden, stochastic, layers and width of at least 1")
        if self.beta_on not in WEIGHTED:
            raise unknown("part that β weights", self.beta_on, WEIGHTED)

    def build(self, data: TrainingImages) -> nn.Module:
        check_drawings(self, data)
        check_sets(data, self.set_size)
        return self.make_network(square_side(data.shape))

    def make_network(self, size: int) -> nn.Module:
        return NETWORKS["vae-ns"](**self._config(size))

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        sets = sample_sets(data, self.sets, self.set_size, rng).view(self.sets, self.set_size, *data.shape[1:])
        if self.new_classes:
            sets = turn_sets(sets, torch.randint(8, (self.sets,), generator=rng, device=rng.device))
        context_noise = torch.randn(self.sets, self.context, generator=rng, device=rng.device)
        noise = torch.randn(self.batch, self.stochastic * self.latent, generator=rng, device=rng.device)
        logits, kl, kl_context = network(sets, context_noise, noise)
        likelihood = log_likelihood(sets.flatten(0, 1)[:, None], logits)
        return context_elbo(likelihood, kl, kl_context, self.beta, on_both=self.beta_on == "both")

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        return KeptNetwork(network, "vae-ns", self._config(shape[1]))

    def _config(self, size: int) -> dict[str, Any]:
        names = ("context", "latent", "hidden", "stochastic", "layers", "width")
        return {"size": size, **{name: getattr(self, name) for name in names}}


def turn_sets(sets: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    """(s, k, h, h) → the same, each set turned by which % 4 quarter turns, and reflected where which ≥ 4. which: (s,) int64."""
    turned = [torch.rot90(sets, quarters, (2, 3)) for quarters in range(4)]
    versions = torch.stack([*turned, *(some.flip(3) for some in turned)])
    return versions[which, torch.arange(len(sets), device=sets.device)]
