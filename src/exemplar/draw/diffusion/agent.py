"""Who draws by diffusion: a trained network with all that an agent of the room needs.

agent = load_agent("cfgdm-small")                 # or FOLDER/NAME of one you trained; "cfgdm-small@guidance=2,steps=50"
agent(exemplars, n, rng)                          # (k, h, w) → (k, n, 48, 48), as any agent of the room
agent.predict_noise(x, t, exemplars)              # ε of noisy drawings at time t, with gradients for x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import nn

from exemplar.draw.diffusion.drawing import Drawer
from exemplar.draw.diffusion.networks import Denoiser
from exemplar.draw.diffusion.objective import Objective
from exemplar.draw.diffusion.process import Schedule
from exemplar.draw.diffusion.samplers import Sampling, guide
from exemplar.draw.trained_agent import TrainedAgent
from exemplar.errors import UserError
from exemplar.spaces.cards import Card
from exemplar.spaces.devices import find_device
from exemplar.spaces.identity import identify_network
from exemplar.spaces.inputs import DrawingInput


@dataclass(frozen=True, eq=False)
class DiffusionAgent(TrainedAgent):
    """A trained network that draws. name: as it was asked for; objective: what it has learned; input: how exemplars are made
    fit for it; sampling: how it draws; device: auto, cpu, cuda or cuda:N; part, replay: as in `Drawer`, which says what the
    same seed gives; card: of its weights, if they were kept."""

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
    def drawer(self) -> Drawer:
        return Drawer(self.network, self.objective, self.sampling, self.name, self.part, self.replay)

    @property
    def identity(self) -> dict[str, object]:
        """What decides what it draws, besides exemplars, n and rng."""
        return {
            "weights": identify_network(self.network),
            "objective": self.objective,
            "sampling": self.sampling,
            "input": self.input,
            "device": find_device(self.device).type,
            "part": self.part,
        }

    def draw_levels(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """(k, n, *size) float32: drawings as the process leaves them, about 0 and 1, before they are binarised."""
        shown = self.show(exemplars)
        return self.drawer.draw(shown, n, rng)

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
            self.drawer.check_guided()
        network = cast(Denoiser, self.network.to(x.device))
        shown = torch.zeros_like(x) if exemplars is None else exemplars if exemplars.ndim == 4 else exemplars[:, None]
        epsilon = network(x, times / self.schedule.steps, network.condition(shown))
        if not guidance or exemplars is None:
            return epsilon
        return guide(epsilon, self.predict_noise(x, t, None), guidance)
