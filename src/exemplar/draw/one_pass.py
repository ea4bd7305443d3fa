"""From noise to drawings at once: a network that is asked one time per drawing, in parts that fit the device (VAEs and GANs).

Only torch and NumPy are needed here, so that a machine that has nothing else can draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import torch
from torch import nn

from exemplar import seeds
from exemplar.progress import progress

PART = {"cpu": 64, "cuda": 500}  # drawings at a time


class OnePassNetwork(Protocol):
    """n_noise: how many standard normal numbers a drawing is made from."""

    @property
    def n_noise(self) -> int: ...

    def draw(self, exemplars: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """(b, 1, h, w), ink 1, and (b, n_noise) → (b, 1, h, w) in [0, 1]."""


@dataclass(frozen=True, eq=False)
class OnePassDrawer:
    """A network that draws. name: for messages; part: drawings at a time, None for what suits the device.

    Each drawing has a stream of noise of its own, named by the rng, its exemplar's place and its number, the same on every
    device and in parts of any size."""

    network: nn.Module
    name: str = "the network"
    part: int | None = None

    def draw(self, shown: torch.Tensor, n: int, rng: np.random.Generator) -> np.ndarray:
        """shown: (k, 1, h, w) exemplars, ink 1, on the device where the network is → (k, n, h, w) float32 in [0, 1]."""
        network = cast(OnePassNetwork, self.network)
        (k, _, h, w), place, root = shown.shape, shown.device, int(rng.integers(2**63))
        part = self.part or PART[place.type]
        drawn = np.empty((k * n, h, w), np.float32)
        starts = range(0, k * n, part)
        with torch.no_grad(), progress(f"{self.name} draws", total=len(starts)) as advance:
            for start in starts:
                rows = np.arange(start, min(start + part, k * n))
                streams = [seeds.rng("drawing", root, int(row // n), int(row % n)) for row in rows]
                noise = np.stack([stream.standard_normal(network.n_noise, np.float32) for stream in streams])
                some = shown[torch.as_tensor(rows // n, device=place)]
                drawn[rows] = network.draw(some, torch.as_tensor(noise).to(place))[:, 0].float().cpu().numpy()
                advance()
        return drawn.reshape(k, n, h, w)
