"""Chance: every label is as likely as every other. The lower bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class Chance:
    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        pass

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(images), self.n_labels)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass
