"""Streaming LDA on frozen features: running means and one running within-class covariance (after Hayes & Kanan 2020).

Left out of the paper: the covariance of base classes that it begins with. Here it begins as a sphere, so that with one sample
per class so far it is the nearest mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from exemplar.recall.agents.unseen import with_unseen
from exemplar.recall.states import as_tensors


class StreamingLda:
    """shrinkage: in (0, 1], the share of a sphere in the covariance; scale: of unit-length features, whose variance around
    their mean is taken to be 1 / scale as long as there is nothing to estimate it from."""

    def __init__(self, shrinkage: float = 0.5, scale: float = 10.0) -> None:
        self.shrinkage, self.scale = shrinkage, scale

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels
        self.mean: torch.Tensor | None = None
        self.scatter: torch.Tensor | None = None
        self.count = torch.zeros(n_labels, dtype=torch.int32)

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        features = torch.nn.functional.normalize(images)
        d = features.shape[1]
        if self.mean is None or self.scatter is None:
            self.mean, self.scatter = torch.zeros(self.n_labels, d), torch.zeros(d, d)
        for x, label in zip(features, labels.tolist(), strict=True):  # Welford's update, sample by sample
            before = x - self.mean[label] if self.count[label] else torch.zeros_like(x)
            self.count[label] += 1
            self.mean[label] += (x - self.mean[label]) / self.count[label]
            self.scatter += torch.outer(before, x - self.mean[label])

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        assert self.mean is not None and self.scatter is not None
        d = self.mean.shape[1]
        n_inside = int(self.count.sum() - (self.count > 0).sum())
        spread = torch.eye(d) / (2 * self.scale)
        if n_inside and float(self.scatter.trace()) > 0:
            within = self.scatter / n_inside
            spread = (1 - self.shrinkage) * within + self.shrinkage * torch.eye(d) * within.trace() / d
        weight = torch.linalg.solve(spread.double(), self.mean.double().T).float()  # (d, labels)
        bias = -(weight.T * self.mean).sum(dim=1) / 2
        return with_unseen(torch.nn.functional.normalize(images) @ weight + bias, self.count > 0)

    def state(self) -> dict[str, Any]:
        if self.mean is None:
            return {}
        return {"mean": self.mean, "scatter": self.scatter, "count": self.count}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        found = as_tensors(state)
        self.mean, self.scatter, self.count = found.get("mean"), found.get("scatter"), found.get("count", self.count)
