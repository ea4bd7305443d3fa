"""Nearest mean of frozen features, means kept as running sums: on an embedding trained for it, prototypical networks.

Streaming and joint versions are the same: a sum does not know in how many sets its terms came. Snell et al. (2017) have no
stream; the running mean is what makes one of them. Labels that later classes overwrite get the mean of all their classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from exemplar.recall.agents.unseen import with_unseen
from exemplar.recall.states import as_tensors
from exemplar.spaces.readouts import ClassSums


class NearestMean:
    """scale: of the squared distances whose negatives are the scores; unit: divide features by their length first; last_only:
    forget the means of earlier sets, the bound for a learner without memory."""

    def __init__(self, scale: float = 1.0, unit: bool = False, last_only: bool = False) -> None:
        self.scale, self.unit, self.last_only = scale, unit, last_only

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels
        self.mean: torch.Tensor | None = None
        self.count = torch.zeros(n_labels, dtype=torch.int32)

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        sums = ClassSums.of(self._placed(images)[None], labels[None], self.n_labels)
        total, count = sums.total[0], sums.count[0]
        if self.mean is not None and not self.last_only:
            total, count = total + self.mean * self.count[:, None], count + self.count
        self.mean = (total / count.clamp(min=1)[:, None]).float()
        self.count = count.to(torch.int32)

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        assert self.mean is not None
        distance = torch.cdist(self._placed(images), self.mean, compute_mode="donot_use_mm_for_euclid_dist").square()
        return with_unseen(-self.scale * distance, self.count > 0)

    def state(self) -> dict[str, Any]:
        return {} if self.mean is None else {"mean": self.mean, "count": self.count}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        found = as_tensors(state)
        self.mean, self.count = found.get("mean"), found.get("count", self.count)

    def _placed(self, features: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(features) if self.unit else features
