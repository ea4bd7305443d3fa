"""Replay of raw images: every support image is kept, at a chosen precision; when asked, the network is tuned on all of them.

What is kept between sets is the images alone, so that the cost is moved to the end: its memory is as large as the data, and
its weights are never kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from exemplar.errors import unknown
from exemplar.recall.agents.tuning import Tuning
from exemplar.recall.states import as_tensors

PRECISIONS = ("float32", "float16", "uint8")


class RawReplay:
    """tuning: what is tuned; precision: of the images kept, one of PRECISIONS; uint8 takes them to lie in [0, 1]."""

    def __init__(self, tuning: Tuning, precision: str = "float32") -> None:
        if precision not in PRECISIONS:
            raise unknown("precision", precision, PRECISIONS)
        self.tuning, self.precision = tuning, precision

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.tuning.reset(n_labels, rng)
        self.kept: dict[str, torch.Tensor] = {}
        self.is_tuned = False

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        scaled = (255 * images).round() if self.precision == "uint8" else images
        new = {"images": scaled.to(getattr(torch, self.precision), copy=True), "labels": labels.to(torch.int16)}
        self.kept = {name: torch.cat([self.kept[name], part]) if self.kept else part for name, part in new.items()}

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        if not self.is_tuned:
            kept = self.kept["images"].float() / (255 if self.precision == "uint8" else 1)
            self.tuning.tune(kept, self.kept["labels"].long())
            self.is_tuned = True
        return self.tuning.predict(images)

    def state(self) -> dict[str, Any]:
        return dict(self.kept)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.kept = as_tensors(state)
