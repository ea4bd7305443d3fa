"""A diffusion model whose noise is known in closed form, and agents that break the contract."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Schedule:
    steps: int = 30

    @property
    def kept(self) -> np.ndarray:
        return np.cumprod(np.concatenate([[1.0], 1 - np.linspace(1e-3, 0.3, self.steps)]))

    def times(self, n: int) -> tuple[int, ...]:
        from exemplar import UserError

        if not 1 <= n <= self.steps:
            raise UserError(f"a sampler takes between 1 and {self.steps} steps of this model, not {n}")
        return tuple(int(t) for t in np.linspace(self.steps, 0, n + 1).round()[:-1])


@dataclass(frozen=True)
class GaussianModel:
    """Drawings of a concept are N(exemplar, s²), all drawings N(mean, s²): ε is known. x_t ~ N(√ᾱ y, ᾱ s² + 1 − ᾱ), and
    ε = √(1 − ᾱ) (x_t − √ᾱ y) / (ᾱ s² + 1 − ᾱ)."""

    size: tuple[int, int] = (8, 8)
    mean: float = 0.2
    spread: float = 0.05
    name: str = "hand-made"
    schedule: Schedule = Schedule()

    def show(self, exemplars: np.ndarray) -> torch.Tensor:
        from exemplar.attend.measures.blurring import resize_maps

        return torch.as_tensor(resize_maps(np.asarray(exemplars, np.float32), self.size))[:, None]

    def predict_noise(self, x: torch.Tensor, t: int, exemplars: torch.Tensor | None) -> torch.Tensor:
        kept = float(self.schedule.kept[t])
        centre: Any = self.mean if exemplars is None else exemplars
        return sqrt(1 - kept) * (x - sqrt(kept) * centre) / (kept * self.spread**2 + 1 - kept)


@dataclass(frozen=True)
class ConstantModel(GaussianModel):
    """Whatever it is shown, its two scores are two patterns: Eq. 4 is T times the difference of the patterns of length 1."""

    def patterns(self) -> torch.Tensor:
        rng = np.random.default_rng(3)
        return torch.as_tensor(rng.standard_normal((2, 1, 1, *self.size)).astype(np.float32))

    def predict_noise(self, x: torch.Tensor, t: int, exemplars: torch.Tensor | None) -> torch.Tensor:
        given, free = self.patterns()
        return (free if exemplars is None else given).expand_as(x)


@dataclass(frozen=True)
class LinearModel(GaussianModel):
    """ε = weight · exemplar, pixel by pixel: the columns of its Jacobian have length |weight|."""

    def weight(self) -> torch.Tensor:
        return torch.linspace(-2, 2, self.size[0] * self.size[1]).reshape(1, 1, *self.size)

    def predict_noise(self, x: torch.Tensor, t: int, exemplars: torch.Tensor | None) -> torch.Tensor:
        return torch.zeros_like(x) if exemplars is None else self.weight() * exemplars


@dataclass(frozen=True)
class UnevenModel(GaussianModel):
    """As the Gaussian one, but the exemplar counts for more to the left."""

    def predict_noise(self, x: torch.Tensor, t: int, exemplars: torch.Tensor | None) -> torch.Tensor:
        ramp = torch.linspace(1.0, 0.2, self.size[1])
        return super().predict_noise(x, t, None if exemplars is None else exemplars * ramp)


def changes_its_input(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    images *= 0.5
    return images + 0.1


def looks_around(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return images + images.mean(axis=0) * np.arange(images.shape[2])


def uses_globals(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return np.random.rand(*images.shape)  # noqa: NPY002


def goes_negative(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return images - 0.5


def forgets_one(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return images[1:]


def marks_nothing(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return 0 * images


def gives_other_sizes(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return [np.ones((k + 2, k + 2)) for k in range(len(images))]


def prefers_the_left(images, label, exemplars, rng):  # type: ignore[no-untyped-def]
    return images * np.linspace(1, 0.1, images.shape[2])
