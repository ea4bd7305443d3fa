"""What is asked of a diffusion model: the noise it sees in a drawing, with an exemplar and without. Draw's agents answer it."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from exemplar import seeds
from exemplar.errors import UserError

PART = {"cpu": 25, "cuda": 500}  # drawings at a time


class Schedule(Protocol):
    """steps: T; kept: (T + 1,) ᾱ_t by t; times(n): n times from T down."""

    steps: int

    @property
    def kept(self) -> np.ndarray: ...

    def times(self, n: int) -> tuple[int, ...]: ...


class Denoiser(Protocol):
    """As `ex.draw.load_agent(NAME)` gives it. size: (h, w) of its drawings."""

    @property
    def name(self) -> str: ...

    @property
    def schedule(self) -> Schedule: ...

    @property
    def size(self) -> tuple[int, int]: ...

    def show(self, exemplars: np.ndarray) -> Tensor:
        """(k, h, w) in [0, 1] → (k, 1, *size), on the model's device."""

    def predict_noise(self, x: Tensor, t: int, exemplars: Tensor | None) -> Tensor:
        """ε of x (b, 1, h, w) at t; exemplars (b, 1, h, w), None for no exemplar."""


def load_denoiser(name: str) -> Any:
    """A trained diffusion agent of the room `draw`, whose unconditional half is there: CFGDM's, not DDPM's."""
    from exemplar import draw

    agent: Any = draw.load_agent(name)
    if not hasattr(agent, "predict_noise"):
        raise UserError(
            f"{name} draws in one pass, so it has no score at each time: name a CFGDM (exemplar draw agents)."
        )
    agent.drawer.check_guided()
    return agent


def unit(noise: Tensor) -> Tensor:
    """(b, 1, h, w), each of length 1, as δ / ‖δ‖₂ in Eq. 4; 0 stays 0."""
    length = noise.flatten(1).norm(dim=1)[:, None, None, None]
    return noise / length.clamp_min(torch.finfo(noise.dtype).tiny)


def misalignment(conditional: Tensor, unconditional: Tensor) -> Tensor:
    """One term of Eq. 4, (b, h, w). The score is −ε / √(1 − ᾱ_t), so that of unit length it is −ε / ‖ε‖, and signs cancel."""
    return (unit(conditional) - unit(unconditional)).abs()[:, 0]


def choose_times(schedule: Schedule, times: int | None) -> tuple[int, ...]:
    return schedule.times(schedule.steps if times is None else times)


def noise_streams(rng: np.random.Generator, rows: Sequence[int], size: tuple[int, int]) -> NoiseStreams:
    return NoiseStreams(int(rng.integers(2**63)), list(rows), size)


class NoiseStreams:
    """Standard normal noise, a stream per drawing: parts of any size give the same maps."""

    def __init__(self, root: int, rows: list[int], size: tuple[int, int]) -> None:
        self.size = size
        self.streams = [seeds.rng("attend noise", root, row) for row in rows]

    def draw(self, rows: slice) -> Tensor:
        """(b, 1, h, w) of these drawings, their next."""
        noise = np.stack([stream.standard_normal(self.size, np.float32) for stream in self.streams[rows]])
        return torch.as_tensor(noise[:, None])


def step_back(x: Tensor, epsilon: Tensor, kept: float, before: float, fresh: Tensor | None) -> Tensor:
    """x at the time before. kept, before: ᾱ at the two; fresh: noise of an ancestral step (Eq. 8), None for a DDIM step."""
    if fresh is None:
        drawing = (x - sqrt(1 - kept) * epsilon) / sqrt(kept)
        return sqrt(before) * drawing + sqrt(1 - before) * epsilon
    alpha = kept / before
    x = (x - (1 - alpha) / sqrt(1 - kept) * epsilon) / sqrt(alpha)
    return x + sqrt(1 - alpha) * fresh
