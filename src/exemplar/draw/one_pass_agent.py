"""Who draws at once: a trained VAE or GAN with all that an agent of the room needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from exemplar.draw.diffusion.drawing import binarise
from exemplar.draw.one_pass import OnePassDrawer
from exemplar.draw.trainable import DrawingObjective
from exemplar.spaces.cards import Card
from exemplar.spaces.devices import find_device
from exemplar.spaces.identity import identify_network
from exemplar.spaces.inputs import DrawingInput, as_bytes


@dataclass(frozen=True, eq=False)
class OnePassAgent:
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
    def size(self) -> tuple[int, int]:
        """(h, w) of its drawings, px."""
        return self.input.size

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

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w) in [0, 1], ink 1 → (k, n, *size) uint8, ink 255, paper 0."""
        return binarise(self.draw_levels(exemplars, n, rng), self.input.threshold)

    def draw_levels(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """(k, n, *size) float32 in [0, 1]: drawings before they are binarised."""
        place = find_device(self.device)
        self.network.to(place)
        shown = torch.as_tensor(self.input.prepare(as_bytes(np.asarray(exemplars)))).to(place)
        return OnePassDrawer(self.network, self.name, self.part).draw(shown, n, rng)
