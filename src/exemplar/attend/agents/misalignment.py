"""CFGDM's importance maps (Eq. 4 of diffusion-models-as-artists): where the scores with and without the exemplar disagree.

φ(x, y) = Σ_t | δ_t(x, y) / ‖δ_t(x, y)‖₂ − δ_t(x) / ‖δ_t(x)‖₂ |. Two readings, since no code was released: `trajectory`
sums along the way on which the model itself draws, and marks its own drawing; `forward` noises a finished drawing to each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from torch import Tensor

from exemplar.attend.agents.denoiser import PART, Denoiser, choose_times, misalignment, noise_streams, step_back
from exemplar.errors import UserError
from exemplar.progress import progress


@dataclass(frozen=True, eq=False)
class Trajectory:
    """model: draws; times: how many of its T are visited, None for all; guidance: γ on the way (the maps compare the two scores
    themselves); sampler: ddim, or ancestral as published."""

    model: Denoiser
    times: int | None = 50
    guidance: float = 1.0
    sampler: str = "ddim"

    draws = True

    def __post_init__(self) -> None:
        if self.sampler not in ("ddim", "ancestral"):
            raise UserError(f"The sampler is ddim or ancestral, not {self.sampler}.")

    def __call__(
        self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, h, w) drawings in [0, 1] and (n, h, w) maps: one of its own for each label."""
        shown = self.model.show(exemplars)[torch.as_tensor(label)]
        schedule, visited = self.model.schedule, choose_times(self.model.schedule, self.times)
        kept, streams = schedule.kept.tolist(), noise_streams(rng, range(len(label)), self.model.size)
        drawn, maps = [], []
        parts = _parts(len(label), shown.device.type)
        with (
            torch.no_grad(),
            progress(f"{self.model.name} draws and marks", total=len(parts) * len(visited)) as advance,
        ):
            for part in parts:
                x, total = streams.draw(part).to(shown.device), torch.zeros((), device=shown.device)
                for t, before in zip(visited, [*visited[1:], 0], strict=True):
                    given = self.model.predict_noise(x, t, shown[part])
                    free = self.model.predict_noise(x, t, None)
                    total = total + misalignment(given, free)
                    epsilon = (1 + self.guidance) * given - self.guidance * free
                    fresh = streams.draw(part).to(x) if self.sampler == "ancestral" and before else None
                    x = step_back(x, epsilon, kept[t], kept[before], fresh)
                    advance()
                drawn.append(x[:, 0].clamp(0, 1).cpu())
                maps.append(total.cpu() * (schedule.steps / len(visited)))  # Eq. 4 sums over all T
        return torch.cat(drawn).numpy(), torch.cat(maps).numpy()


@dataclass(frozen=True, eq=False)
class Forward:
    """model: is asked about finished drawings; times: how many of its T, None for all."""

    model: Denoiser
    times: int | None = 50

    def __call__(
        self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """(n, h, w) on the model's own grid."""
        shown, drawings = self.model.show(exemplars)[torch.as_tensor(label)], self.model.show(images)
        streams = noise_streams(rng, range(len(label)), self.model.size)
        visited = choose_times(self.model.schedule, self.times)
        maps, parts = [], _parts(len(label), shown.device.type)
        with torch.no_grad(), progress(f"{self.model.name} marks", total=len(parts) * len(visited)) as advance:
            for part in parts:
                total = torch.zeros((), device=shown.device)
                for t in visited:
                    x = noised(drawings[part], streams.draw(part).to(shown.device), float(self.model.schedule.kept[t]))
                    given = self.model.predict_noise(x, t, shown[part])
                    total = total + misalignment(given, self.model.predict_noise(x, t, None))
                    advance()
                maps.append(total.cpu() * (self.model.schedule.steps / len(visited)))
        return torch.cat(maps).numpy()


def noised(drawings: Tensor, noise: Tensor, kept: float) -> Tensor:
    """x_t = √ᾱ_t x_0 + √(1 − ᾱ_t) ε."""
    return sqrt(kept) * drawings + sqrt(1 - kept) * noise


def _parts(n: int, device: str) -> list[slice]:
    return [slice(start, min(start + PART[device], n)) for start in range(0, n, PART[device])]
