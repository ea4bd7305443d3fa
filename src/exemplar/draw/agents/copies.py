"""Who copies: every drawing is the exemplar. Nothing could be more recognizable, or less diverse and original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.draw.agents.entry import DrawingAgent


@dataclass(frozen=True)
class Copies:
    """Diversity 0, originality 0, recognizability 1, whatever the critics."""

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w) → (k, n, h, w), n times each."""
        return np.repeat(exemplars[:, None], n, axis=1)


COPIES = DrawingAgent("copies", "the exemplar itself, over and over", lambda task, setting: Copies())
