"""Who scatters ink: each pixel by itself, as much ink as the exemplars have on average; nothing tells concepts apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.draw.agents.entry import DrawingAgent


@dataclass(frozen=True)
class Noise:
    """Recognizability is 1/w of w ways on average, whatever the critics: the drawings know nothing of the concept."""

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w) in [0, 1] → (k, n, h, w) bool."""
        share = float((exemplars > 0.5).mean())
        return rng.random((len(exemplars), n, *exemplars.shape[1:]), dtype=np.float32) < share


NOISE = DrawingAgent("noise", "scattered ink, as much as the exemplars have", lambda task, setting: Noise())
