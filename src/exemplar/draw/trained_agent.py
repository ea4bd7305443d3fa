"""What every trained network that draws does alike, however it draws."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import nn

from exemplar.draw.diffusion.drawing import binarise
from exemplar.spaces.devices import find_device
from exemplar.spaces.inputs import DrawingInput, as_bytes


class TrainedAgent(ABC):
    """network: draws; input: how exemplars are made fit for it; device: auto, cpu, cuda or cuda:N."""

    network: nn.Module
    input: DrawingInput
    device: str

    @property
    def size(self) -> tuple[int, int]:
        """(h, w) of its drawings, px."""
        return self.input.size

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w) in [0, 1], ink 1 → (k, n, *size) uint8, ink 255, paper 0."""
        return binarise(self.draw_levels(exemplars, n, rng), self.input.threshold)

    @abstractmethod
    def draw_levels(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """(k, n, *size) float32: drawings before they are binarised."""

    def show(self, exemplars: np.ndarray) -> torch.Tensor:
        """Exemplars as the network takes them, (k, 1, *size), on its device."""
        place = find_device(self.device)
        self.network.to(place)
        return torch.as_tensor(self.input.prepare(as_bytes(np.asarray(exemplars)))).to(place)
