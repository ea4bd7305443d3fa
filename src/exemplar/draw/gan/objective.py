"""DA-GAN's objective: generator and critic take turns (WGAN-GP)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import nn

from exemplar.draw.batches import sample_pairs
from exemplar.draw.gan.critic import Critic, gradient_penalty
from exemplar.draw.gan.generator import Generator
from exemplar.draw.trainable import HELD_OUT_BATCHES, Curve, check_drawings, check_training
from exemplar.errors import UserError
from exemplar.spaces.networks import square_side
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, Update

COLLAPSED = 0.05  # of how much people's drawings of a class differ from its exemplar
WATCHED = 4  # exemplars per step that are drawn twice, to see whether drawings vary


class GeneratorAndCritic(nn.Module):
    def __init__(self, generator: Generator, critic: Critic) -> None:
        super().__init__()
        self.generator, self.critic = generator, critic


@dataclass(frozen=True)
class Adversarial:
    """skips, latent, inner, width: of the generator, and but for the first two of the critic; critic_steps: for each of the
    generator's, all of them one step of training; penalty: λ; shuffle: any drawing of the class is shown instead of its
    exemplar; reversed_pairs: the drawing is shown and its exemplar is to be drawn, as released; batch: drawings at once;
    learning_rate, momentum: Adam's α and β₁."""

    name: ClassVar[str] = "Adversarial"
    layer: ClassVar[str] = ""
    batch_setting: ClassVar[str] = "batch"
    skips: bool = True
    latent: int = 128
    inner: int = 2
    width: int = 64
    critic_steps: int = 5
    penalty: float = 10.0
    shuffle: bool = False
    reversed_pairs: bool = False
    batch: int = 32
    learning_rate: float = 1e-4
    momentum: float = 0.9

    @property
    def drawings_per_step(self) -> int:
        return self.batch * self.critic_steps

    @property
    def shows_exemplars(self) -> bool:
        return not self.shuffle

    def check_settings(self) -> None:
        check_training(self.learning_rate, self.batch)
        if self.batch < 2:
            raise UserError("the generator normalises over a batch: 2 drawings or more, not 1")
        if min(self.latent, self.inner, self.width, self.critic_steps) < 1:
            raise UserError("DA-GAN needs latent, inner, width and critic_steps of at least 1")
        if not (0 <= self.penalty < float("inf") and 0 <= self.momentum < 1):
            raise UserError(
                f"the penalty must be 0 or more, and the momentum from 0 to below 1, not {self.penalty} and {self.momentum}"
            )

    def build(self, data: TrainingImages) -> nn.Module:
        check_drawings(self, data)
        size = square_side(data.shape)
        return GeneratorAndCritic(self.make_network(size), Critic(size, self.inner, self.width))

    def make_network(self, size: int) -> Generator:
        return Generator(**self._config(size))

    def losses(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Iterator[Update]:
        """The critic's turns, then the generator's. loss on the curve: how far apart the critic holds real and drawn, which an
        able generator brings down; penalty: of the critic's slope; variation: how much two drawings after one exemplar
        differ, as a share of how much people's differ from it."""
        generator, critic = _parts(network)
        critics, generators = list(critic.parameters()), list(generator.parameters())
        for _ in range(self.critic_steps):
            apart, shown, real, drawn = self.compare(network, data, rng)
            mix = torch.rand(self.batch, generator=rng, device=rng.device)
            penalty = gradient_penalty(critic, shown, real, drawn, mix)
            metrics = {"loss": apart.detach(), "penalty": penalty.detach()}
            yield Update(self.penalty * penalty - apart, critics, metrics)
        shown, real = self.sample(data, rng)
        drawn = generator(shown, self.noise(self.batch, rng))
        metrics = {"variation": self.measure_variation(generator, shown, real, rng)}
        yield Update(-critic(shown, drawn).mean(), generators, metrics)

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        return self.compare(network, data, rng)[0], {}

    def compare(
        self, network: nn.Module, data: TrainingImages, rng: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """How much higher the critic holds real drawings than the generator's; and what was shown, real and drawn."""
        generator, critic = _parts(network)
        shown, real = self.sample(data, rng)
        with torch.no_grad():
            drawn = generator(shown, self.noise(len(shown), rng))
        return critic(shown, real).mean() - critic(shown, drawn).mean(), shown, real, drawn

    def sample(self, data: TrainingImages, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """What is shown, and what is to be drawn after it."""
        drawings, shown = sample_pairs(data, self.batch, rng, shuffle=self.shuffle)
        return (drawings, shown) if self.reversed_pairs else (shown, drawings)

    def noise(self, n: int, rng: torch.Generator) -> torch.Tensor:
        return torch.randn(n, self.latent, generator=rng, device=rng.device)

    @torch.no_grad()
    def measure_variation(
        self, generator: Generator, shown: torch.Tensor, real: torch.Tensor, rng: torch.Generator
    ) -> torch.Tensor:
        some = shown[:WATCHED]
        generator.eval()  # as it draws, and so that it leaves its normalisation alone
        one, other = (generator(some, self.noise(len(some), rng)) for _ in range(2))
        generator.train()
        return (one - other).abs().mean() / (shown - real).abs().mean().clamp(min=1e-6)

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss: how far apart the critic holds held-out drawings and the generator's, over 8 batches."""
        assert data.held_out is not None
        apart = [self.loss(network, data.held_out, rng, 0)[0] for _ in range(HELD_OUT_BATCHES)]
        return {"loss": float(torch.stack(apart).mean())}

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """One for both: whose turn it is not, has no gradient, and stays as it was."""
        return torch.optim.Adam(network.parameters(), self.learning_rate, betas=(self.momentum, 0.999))

    def rate(self, step: int) -> float:
        return 1.0

    def for_steps(self, steps: int) -> Self:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        """Not compiled, since what is compiled has no second derivative; all turns of a step are replayed as one graph."""
        return {"replay": n_devices == 1}

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        kept = network.generator if isinstance(network, GeneratorAndCritic) else network
        return KeptNetwork(kept, "dagan", self._config(shape[1]))

    def find_warnings(self, curve: Curve) -> list[str]:
        variation = curve[-1]["variation"]
        if variation >= COLLAPSED:
            return []
        return [
            f"The generator has collapsed: two drawings after one exemplar differ by {variation:.1%} of what drawings in the "
            "training data differ from it. Do not read its scores as those of the model: train longer, or another seed."
        ]

    def _config(self, size: int) -> dict[str, Any]:
        return {"size": size, **{name: getattr(self, name) for name in ("latent", "inner", "skips", "width")}}


def _parts(network: nn.Module) -> tuple[Generator, Critic]:
    generator, critic = network.generator, network.critic
    assert isinstance(generator, Generator) and isinstance(critic, Critic)
    return generator, critic
