"""Samplers, each a function of one signature: from noise at time T back to a drawing.

sampler(predict, noise, schedule, times, fresh) -> drawings

predict(x, t) → ε: (b, 1, h, w) and a whole t → (b, 1, h, w), guided or not. noise: x_T ~ N(0, I). times: descending, those that
are visited (`Schedule.times`). fresh(k): (b, 1, h, w) new noise for the k-th step; only `ancestral` asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, isfinite, log, sqrt

import torch

from exemplar.draw.diffusion.process import Schedule
from exemplar.errors import UserError, unknown

Predict = Callable[[torch.Tensor, int], torch.Tensor]
Fresh = Callable[[int], torch.Tensor]
Sampler = Callable[[Predict, torch.Tensor, Schedule, Sequence[int], Fresh], torch.Tensor]


def ancestral(
    predict: Predict, noise: torch.Tensor, schedule: Schedule, times: Sequence[int], fresh: Fresh
) -> torch.Tensor:
    """The paper's: x_{t−1} ~ N(μ_θ, β_t I), Eqs. 8 and 13 with σ_t = √β_t; the last step adds no noise.

    With fewer times than T, each is one step of the schedule that has only these: β is what is lost between two of them."""
    x, kept = noise, schedule.kept.tolist()
    for k, (t, before) in enumerate(_pairs(times)):
        alpha = kept[t] / kept[before]
        beta = 1 - alpha
        x = (x - beta / sqrt(1 - kept[t]) * predict(x, t)) / sqrt(alpha)
        if before:
            x = x + sqrt(beta) * fresh(k)
    return x


def ddim(predict: Predict, noise: torch.Tensor, schedule: Schedule, times: Sequence[int], fresh: Fresh) -> torch.Tensor:
    """Without new noise (Song et al. 2021, η = 0): the predicted drawing, as noisy as it should be at the next time."""
    x, kept = noise, schedule.kept.tolist()
    for t, before in _pairs(times):
        epsilon = predict(x, t)
        drawing = (x - sqrt(1 - kept[t]) * epsilon) / sqrt(kept[t])  # Eq. 11
        x = sqrt(kept[before]) * drawing + sqrt(1 - kept[before]) * epsilon
    return x


def dpm_solver(
    predict: Predict, noise: torch.Tensor, schedule: Schedule, times: Sequence[int], fresh: Fresh
) -> torch.Tensor:
    """DPM-Solver++(2M) (Lu et al. 2022): a line through the last two predicted drawings is followed to the next time; the first
    and the last step are of first order."""
    x, kept = noise, schedule.kept.tolist()
    earlier: tuple[torch.Tensor, float] | None = (
        None  # the drawing predicted before, and the step in λ that followed it
    )
    for t, before in _pairs(times):
        drawing = (x - sqrt(1 - kept[t]) * predict(x, t)) / sqrt(kept[t])
        if not before:
            return drawing  # λ is infinite there
        step = _half_log_snr(kept[before]) - _half_log_snr(kept[t])
        towards = drawing
        if earlier is not None:
            ratio = earlier[1] / step
            towards = drawing + (drawing - earlier[0]) / (2 * ratio)
        shrink = sqrt(1 - kept[before]) / sqrt(1 - kept[t])
        x = shrink * x - sqrt(kept[before]) * expm1(-step) * towards
        earlier = drawing, step
    raise AssertionError("the last time leads to 0")


SAMPLERS: dict[str, Sampler] = {"ancestral": ancestral, "ddim": ddim, "dpm-solver": dpm_solver}


@dataclass(frozen=True)
class Sampling:
    """How drawings are made of a trained network. sampler: of SAMPLERS; steps: how many times the network is asked, None for
    all T; guidance: γ of ε = (1 + γ) ε(x, exemplar) − γ ε(x, none), of networks that were trained for it; clip: whether the
    drawing that is predicted at each step is kept between paper and ink, 0 and 1, which the paper's code does not do."""

    sampler: str = "dpm-solver"
    steps: int | None = 20
    guidance: float = 0.0
    clip: bool = False

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise unknown("sampler", self.sampler, SAMPLERS)
        if self.steps is not None and self.steps < 1:
            raise UserError(f"a sampler takes at least 1 step, not {self.steps}")
        if not isfinite(self.guidance) or self.guidance < 0:
            raise UserError(f"guidance must be a number of at least 0, not {self.guidance}")

    def times(self, schedule: Schedule) -> tuple[int, ...]:
        return schedule.times(schedule.steps if self.steps is None else self.steps)


def guide(conditional: torch.Tensor, unconditional: torch.Tensor, guidance: float) -> torch.Tensor:
    """ε = (1 + γ) ε(x, exemplar) − γ ε(x, none), Eq. 20."""
    return (1 + guidance) * conditional - guidance * unconditional


def clipped(predict: Predict, schedule: Schedule) -> Predict:
    """The noise that leads to a drawing between 0 and 1: where what is predicted lies beyond, it is moved to the nearer end."""
    kept = schedule.kept.tolist()

    def within(x: torch.Tensor, t: int) -> torch.Tensor:
        signal, spread = sqrt(kept[t]), sqrt(1 - kept[t])
        drawing = ((x - spread * predict(x, t)) / signal).clamp(0, 1)
        return (x - signal * drawing) / spread

    return within


def _pairs(times: Sequence[int]) -> list[tuple[int, int]]:
    """Each time and the one that follows it, the last with 0."""
    return list(zip(times, [*times[1:], 0], strict=True))


def _half_log_snr(kept: float) -> float:
    """λ = log(√ᾱ / √(1 − ᾱ))."""
    return (log(kept) - log(1 - kept)) / 2
