"""Who draws at once: a trained VAE or GAN with all that an agent of the room needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import nn

from exemplar.draw.one_pass import OnePassDrawer
from exemplar.draw.trainable import DrawingObjective
from exemplar.draw.trained_agent import TrainedAgent
from exemplar.spaces.cards import Card
from exemplar.spaces.devices import find_device
from exemplar.spaces.identity import identify_network
from exemplar.spaces.inputs import DrawingInput


@dataclass(frozen=True, eq=False)
class OnePassAgent(TrainedAgent):
    """A trained network that draws. name: as it was asked for; objective: what it has learned; input: how exemplars are made
    fit for it; device: auto, cpu, cuda or cuda:N; part: drawings at a time; card: of its weights, if they were kept."""

    name: str
    network: nn.Module
    objective: DrawingObjective
    input: DrawingInput
    device: str = "auto"
    part: int | None = None
    card: Card | None = None

    @property
    def identity(self) -> dict[str, object]:
        """What decides what it draws, besides exemplars, n and rng."""
        return {
            "weights": identify_network(self.network),
            "objective": self.objective,
            "input": self.input,
            "device": find_device(self.device).type,
            "part": self.part,
        }

    def draw_levels(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """(k, n, *size) float32 in [0, 1]: drawings before they are binarised."""
        shown = self.show(exemplars)
        return OnePassDrawer(self.network, self.name, self.part).draw(shown, n, rng)
