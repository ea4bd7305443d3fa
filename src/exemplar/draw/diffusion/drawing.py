"""From noise to drawings: a trained network is asked at each step of a sampler, in parts that fit the device.

Only torch and NumPy are needed here, so that a machine that has nothing else can draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import nn

from exemplar import seeds
from exemplar.draw.diffusion.networks import Denoiser
from exemplar.draw.diffusion.objective import LAYOUT, Objective
from exemplar.draw.diffusion.presets import can_guide
from exemplar.draw.diffusion.replaying import recorded
from exemplar.draw.diffusion.samplers import SAMPLERS, Predict, Sampling, clipped, guide
from exemplar.errors import UserError
from exemplar.progress import progress

PART = {"cpu": 32, "cuda": 500}  # drawings at a time


@dataclass(frozen=True, eq=False)
class Drawer:
    """A network that draws. network, objective: what was trained; sampling: how; name: for messages; part: drawings at a time,
    None for what suits the device; replay: on a GPU, whether the network is recorded once, in bfloat16, and replayed; compile:
    whether it is compiled before, which takes a minute and pays for thousands of drawings.

    Each drawing has a stream of noise of its own, named by the rng, its exemplar's place and its number, the same on every
    device and in parts of any size. The sums of a network may still differ in the last bits, so that a px that is neither
    ink nor paper can fall to the other side."""

    network: nn.Module
    objective: Objective
    sampling: Sampling
    name: str = "the network"
    part: int | None = None
    replay: bool = True
    compile: bool = False

    def draw(self, shown: torch.Tensor, n: int, rng: np.random.Generator) -> np.ndarray:
        """shown: (k, 1, h, w) exemplars, ink 1, on the device where the network is → (k, n, h, w) float32: drawings as the
        process leaves them, about 0 and 1."""
        (k, _, h, w), place, root = shown.shape, shown.device, int(rng.integers(2**63))
        part = min(self.part or PART[place.type], max(k * n, 1))
        drawn = np.empty((k * n, h, w), np.float32)
        rows = [np.arange(start, min(start + part, k * n)) for start in range(0, k * n, part)]
        schedule, times = self.objective.schedule, self.sampling.times(self.objective.schedule)
        with torch.no_grad(), progress(f"{self.name} draws", total=len(rows) * len(times)) as advance:
            condition, nothing = self._conditions(shown)
            ask = self._forward(place)
            for some in rows:
                whole = some if place.type == "cpu" else np.resize(some, part)  # what is recorded has one size
                streams = [seeds.rng("drawing", root, int(row // n), int(row % n)) for row in whole]

                def fresh(step: int = 0, streams: list[np.random.Generator] = streams) -> torch.Tensor:
                    noise = np.stack([stream.standard_normal((h, w), np.float32) for stream in streams])
                    return torch.as_tensor(noise[:, None]).to(place)

                predict = self._predict(ask, condition[torch.as_tensor(whole // n, device=place)], nothing, advance)
                x = SAMPLERS[self.sampling.sampler](predict, fresh(), schedule, times, fresh)
                drawn[some] = x[: len(some), 0].float().cpu().numpy()
        return drawn.reshape(k, n, h, w)

    def check_guided(self) -> None:
        """Refuse guidance of a network that was not trained for it."""
        if not can_guide(self.objective):
            raise UserError(
                f"{self.name} was trained without dropping its exemplar, so it cannot be guided: leave guidance at 0, or use "
                "cfgdm"
            )

    def _conditions(self, shown: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Of each exemplar, and of none where guidance needs it."""
        network = cast(Denoiser, self.network)
        condition = torch.cat([network.condition(some) for some in shown.split(PART[shown.device.type])])
        if not self.sampling.guidance:
            return condition, None
        self.check_guided()
        return condition, network.condition(torch.zeros_like(shown[:1]))

    def _forward(self, place: torch.device) -> Callable[..., torch.Tensor]:
        forward = cast(Callable[..., torch.Tensor], self.network)
        if self.compile:
            forward = torch.compile(forward, options=dict(LAYOUT))
        return recorded(forward) if place.type == "cuda" and self.replay else forward

    def _predict(
        self,
        ask: Callable[..., torch.Tensor],
        condition: torch.Tensor,
        nothing: torch.Tensor | None,
        advance: Callable[[], None],
    ) -> Predict:
        """ε of x at t; guided, both predictions come from one call of twice the rows."""
        steps, gamma = self.objective.schedule.steps, self.sampling.guidance
        if nothing is not None:
            condition = torch.cat([condition, nothing.expand_as(condition)])

        def predict(x: torch.Tensor, t: int) -> torch.Tensor:
            rows = x if nothing is None else torch.cat([x, x])
            epsilon = ask(rows, torch.full((len(rows),), t / steps, device=x.device), condition).float()
            advance()
            if nothing is None:
                return epsilon
            conditional, unconditional = epsilon.chunk(2)
            return guide(conditional, unconditional, gamma)

        return clipped(predict, self.objective.schedule) if self.sampling.clip else predict


def binarise(drawn: np.ndarray, threshold: float) -> np.ndarray:
    """(…, h, w) float → uint8: each drawing rescaled to [0, 1], ink 255 where above the threshold, paper 0."""
    low, high = drawn.min(axis=(-2, -1), keepdims=True), drawn.max(axis=(-2, -1), keepdims=True)
    return (drawn - low > threshold * (high - low)).astype(np.uint8) * np.uint8(255)
