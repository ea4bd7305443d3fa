"""Who draws by diffusion: a trained network, a sampler, and noise of its own for every drawing.

agent = load_agent("cfgdm-small")                 # or FOLDER/NAME of one you trained; "cfgdm-small@guidance=2,steps=50"
agent(exemplars, n, rng)                          # (k, h, w) → (k, n, 48, 48), as any agent of the room
agent.predict_noise(x, t, exemplars)              # ε of noisy drawings at time t, with gradients for x
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
from exemplar.draw.diffusion.objective import Objective
from exemplar.draw.diffusion.presets import can_guide
from exemplar.draw.diffusion.process import Schedule
from exemplar.draw.diffusion.replaying import recorded
from exemplar.draw.diffusion.samplers import SAMPLERS, Predict, Sampling, guide
from exemplar.engine import progress
from exemplar.errors import UserError
from exemplar.spaces.cards import Card
from exemplar.spaces.devices import find_device
from exemplar.spaces.inputs import DrawingInput, as_bytes

PART = {"cpu": 32, "cuda": 500}  # drawings at a time


@dataclass(frozen=True, eq=False)
class DiffusionAgent:
    """A trained network that draws. name: as it was asked for; objective: what it has learned; input: how exemplars are made fit
    for it; sampling: how it draws; device: auto, cpu, cuda or cuda:N; part: drawings at a time, None for what suits the device;
    replay: on a GPU, whether the network is recorded once and replayed; card: of its weights, if they were kept.

    Each drawing has a stream of noise of its own, named by the rng, its exemplar's place and its number, the same on every device
    and in parts of any size. The sums of a network may still differ in the last bits, so that a px that is neither ink nor
    paper can fall to the other side."""

    name: str
    network: nn.Module
    objective: Objective
    input: DrawingInput
    sampling: Sampling
    device: str = "auto"
    part: int | None = None
    replay: bool = True
    card: Card | None = None

    @property
    def schedule(self) -> Schedule:
        return self.objective.schedule

    @property
    def size(self) -> tuple[int, int]:
        """(h, w) of its drawings, px."""
        return self.input.size

    @property
    def identity(self) -> dict[str, object]:
        """What decides what it draws, besides exemplars, n and rng."""
        from exemplar.spaces.identity import identify_network

        return {
            "weights": identify_network(self.network),
            "objective": self.objective,
            "sampling": self.sampling,
            "input": self.input,
            "device": find_device(self.device).type,
        }

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w) in [0, 1], ink 1 → (k, n, *size) uint8, ink 255, paper 0."""
        drawn = self.draw_levels(exemplars, n, rng)
        low, high = drawn.min(axis=(2, 3), keepdims=True), drawn.max(axis=(2, 3), keepdims=True)
        return ((drawn - low > self.input.threshold * (high - low)) * np.uint8(255)).astype(np.uint8)

    def draw_levels(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """(k, n, *size) float32: drawings as the process leaves them, about 0 and 1, before they are binarised."""
        shown = torch.as_tensor(self.input.prepare(as_bytes(np.asarray(exemplars))))  # (k, 1, *size)
        k, root, place = len(shown), int(rng.integers(2**63)), find_device(self.device)
        part = min(self.part or PART[place.type], max(k * n, 1))
        drawn = np.empty((k * n, *self.size), np.float32)
        network = self.network.to(place)
        condition, nothing = self._conditions(network, shown.to(place))
        rows = [np.arange(start, min(start + part, k * n)) for start in range(0, k * n, part)]
        times = self.sampling.times(self.schedule)
        with torch.no_grad(), progress(f"{self.name} draws", total=len(rows) * len(times)) as advance:
            ask = self._predictor(network, place)
            for some in rows:
                whole = some if place.type == "cpu" else np.resize(some, part)  # what is recorded has one size
                streams = [seeds.rng("drawing", root, int(row // n), int(row % n)) for row in whole]
                predict = self._predict(ask, condition[whole // n], nothing, advance)
                x = SAMPLERS[self.sampling.sampler](
                    predict, _normal(streams, self.size, place), self.schedule, times,
                    lambda step, streams=streams: _normal(streams, self.size, place),
                )  # fmt: skip
                drawn[some] = x[: len(some), 0].float().cpu().numpy()
        return drawn.reshape(k, n, *self.size)

    def predict_noise(
        self, x: torch.Tensor, t: int | torch.Tensor, exemplars: torch.Tensor | None, guidance: float = 0.0
    ) -> torch.Tensor:
        """The noise that the network sees in x; gradients flow to x and to the exemplars.

        x: (b, 1, h, w) at time t; t: from 1 to T, one for all or (b,); exemplars: (b, 1, h, w) or (b, h, w), ink 1, None for no
        exemplar, as CFGDM's network knows; guidance: γ. Returns (b, 1, h, w)."""
        if x.ndim != 4 or x.shape[1] != 1:
            raise UserError(f"noisy drawings must be (b, 1, h, w), these are {tuple(x.shape)}")
        times = torch.as_tensor(t, device=x.device).expand(len(x))
        if not 1 <= int(times.min()) <= int(times.max()) <= self.schedule.steps:
            raise UserError(f"t must lie between 1 and {self.schedule.steps}, the steps of this diffusion")
        if exemplars is None or guidance:
            self.check_guided()
        network = cast(Denoiser, self.network.to(x.device))
        blank = torch.zeros_like(x) if exemplars is None or guidance else None
        if exemplars is None:
            assert blank is not None
            return network(x, times / self.schedule.steps, network.condition(blank))
        shown = exemplars if exemplars.ndim == 4 else exemplars[:, None]
        epsilon = network(x, times / self.schedule.steps, network.condition(shown))
        return epsilon if blank is None else guide(epsilon, self.predict_noise(x, t, None), guidance)

    def check_guided(self) -> None:
        """Refuse guidance of a network that was not trained for it."""
        if not can_guide(self.objective):
            raise UserError(
                f"{self.name} was trained without dropping its exemplar, so it cannot be guided: leave guidance at 0, or use cfgdm"
            )

    def _conditions(self, network: nn.Module, shown: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Of each exemplar, and of none where guidance needs it."""
        asked = cast(Denoiser, network)
        parts = shown.split(PART[shown.device.type])
        with torch.no_grad():
            condition = torch.cat([asked.condition(some) for some in parts])
            if not self.sampling.guidance:
                return condition, None
            self.check_guided()
            return condition, asked.condition(torch.zeros_like(shown[:1]))

    def _predictor(self, network: nn.Module, place: torch.device) -> Callable[..., torch.Tensor]:
        """The network's forward; on a GPU in bfloat16, recorded once and replayed."""
        forward = cast(Callable[..., torch.Tensor], network)
        return recorded(forward) if place.type == "cuda" and self.replay else forward

    def _predict(
        self,
        ask: Callable[..., torch.Tensor],
        condition: torch.Tensor,
        nothing: torch.Tensor | None,
        advance: Callable[[], None],
    ) -> Predict:
        """ε of x at t; guided, both predictions come from one call of twice the rows."""
        steps, gamma = self.schedule.steps, self.sampling.guidance
        if nothing is not None:
            condition = torch.cat([condition, nothing.expand_as(condition)])

        def predict(x: torch.Tensor, t: int) -> torch.Tensor:
            rows = x if nothing is None else torch.cat([x, x])
            epsilon = ask(rows, torch.full((len(rows),), t / steps, device=x.device), condition).float()
            advance()
            return epsilon if nothing is None else guide(*epsilon.chunk(2), gamma)

        return predict


def _normal(streams: list[np.random.Generator], size: tuple[int, int], place: torch.device) -> torch.Tensor:
    """(b, 1, *size) float32 on the device: the next of each stream."""
    return torch.as_tensor(np.stack([stream.standard_normal(size, np.float32) for stream in streams])[:, None]).to(place)

