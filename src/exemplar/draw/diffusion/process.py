"""The diffusion process: how much of a drawing, and how much noise, there is at each time t = 1 … T (E.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch

from exemplar.errors import UserError


@dataclass(frozen=True)
class Schedule:
    """β_t rises linearly from `first` to `last`, both multiplied by reference / steps: with another T the last image is as
    noisy as with the reference's. Unscaled, T = 200 would leave √ᾱ_T = .36, and drawing from N(0, I) would begin elsewhere
    than training ended. reference: None for no rescaling, as published (at T = 600 both are the same)."""

    steps: int = 600
    first: float = 1e-4
    last: float = 0.02
    reference: int | None = 600

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"a diffusion needs at least 1 step, not {self.steps}")
        if not 0 < self.first <= self.last or not self.scale * self.last < 1:
            most = self.scale * self.last
            raise UserError(
                f"with {self.steps} diffusion steps β would reach {most:.3g}, and must stay between 0 and 1: use more steps"
            )

    @property
    def scale(self) -> float:
        return 1.0 if self.reference is None else self.reference / self.steps

    @cached_property
    def beta(self) -> np.ndarray:
        """(steps + 1,) float64, by t; of t = 0, a finished drawing, 0."""
        rising = np.linspace(self.scale * self.first, self.scale * self.last, self.steps)
        return np.concatenate([[0.0], rising])

    @cached_property
    def kept(self) -> np.ndarray:
        """(steps + 1,) float64: ᾱ_t, of t = 0 it is 1."""
        return np.cumprod(1 - self.beta)  # Eq. 6

    def times(self, n: int) -> tuple[int, ...]:
        """n times from T down to the last before 0, evenly spaced: those a sampler of n steps visits."""
        if not 1 <= n <= self.steps:
            raise UserError(f"a sampler takes between 1 and {self.steps} steps of this model, not {n}")
        return tuple(int(t) for t in np.linspace(self.steps, 0, n + 1).round()[:-1])


@cache
def noise_tables(schedule: Schedule, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """(steps + 1,) float32 each, by t: √ᾱ_t and √(1 − ᾱ_t). Kept, since a step that is being recorded cannot fetch them."""
    signal, noise = np.sqrt(schedule.kept), np.sqrt(1 - schedule.kept)
    one, other = (torch.as_tensor(table, dtype=torch.float32).to(device) for table in (signal, noise))
    return one, other


def add_noise(drawings: torch.Tensor, noise: torch.Tensor, time: torch.Tensor, schedule: Schedule) -> torch.Tensor:
    """x_t = √ᾱ_t x_0 + √(1 − ᾱ_t) ε (Eq. 6). drawings, noise: (b, 1, h, w); time: (b,) int64, t from 1."""
    signal, spread = (table[time][:, None, None, None] for table in noise_tables(schedule, time.device))
    return signal * drawings + spread * noise
