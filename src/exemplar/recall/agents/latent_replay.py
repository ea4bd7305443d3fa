"""Replay of latents: every feature vector is kept, at a chosen precision, and a ridge is fitted to all of them when asked.

After Pellegrini et al. (2020), of whose method it leaves out the tuning of upper layers. neighbours: instead of the ridge, the
nearest kept vector decides, features as they are; shown all sets at once, this is the room's joint oracle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from exemplar.errors import unknown
from exemplar.recall.agents.unseen import with_unseen
from exemplar.recall.states import as_tensors
from exemplar.spaces.readouts import fit_ridge

PRECISIONS = ("float32", "float16", "int8")


class LatentReplay:
    """precision: of what is kept, one of PRECISIONS; penalty, scale: as in `ridge`; neighbours: see above."""

    def __init__(
        self, precision: str = "float32", penalty: float = 1.0, scale: float = 10.0, neighbours: bool = False
    ) -> None:
        if precision not in PRECISIONS:
            raise unknown("precision", precision, PRECISIONS)
        self.precision, self.penalty, self.scale, self.neighbours = precision, penalty, scale, neighbours

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels
        self.kept: dict[str, torch.Tensor] = {}

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        new = {**quantise(self._placed(images), self.precision), "labels": labels.to(torch.int16)}
        self.kept = {name: torch.cat([self.kept[name], part]) if self.kept else part for name, part in new.items()}

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        x, y = dequantise(self.kept), self.kept["labels"].long()
        queries = self._placed(images)
        shown = torch.zeros(self.n_labels, dtype=torch.bool)
        shown[y] = True
        if self.neighbours:
            near = torch.cdist(queries, x, compute_mode="donot_use_mm_for_euclid_dist").square()
            each = [
                near[:, y == k].amin(dim=1) if bool(shown[k]) else near.new_zeros(len(near))
                for k in range(self.n_labels)
            ]
            return with_unseen(-self.scale * torch.stack(each, dim=1), shown)
        places = torch.nonzero(shown)[:, 0]
        own = torch.zeros(self.n_labels, dtype=torch.int64)
        own[places] = torch.arange(len(places))
        readout = fit_ridge(x[None], own[y][None], len(places), self.penalty)
        scores = torch.zeros(len(queries), self.n_labels)
        scores[:, places] = self.scale * readout.scores(queries[None])[0]
        return with_unseen(scores, shown)

    def _placed(self, features: torch.Tensor) -> torch.Tensor:
        return features if self.neighbours else torch.nn.functional.normalize(features)

    def state(self) -> dict[str, Any]:
        return dict(self.kept)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.kept = as_tensors(state)


def quantise(features: torch.Tensor, precision: str) -> dict[str, torch.Tensor]:
    """features: (n, d) float32 → arrays that `dequantise` reads; int8 with the largest value of each vector beside it."""
    if precision != "int8":
        return {"vectors": features.to(getattr(torch, precision), copy=True)}
    largest = features.abs().amax(dim=1).clamp(min=1e-12)
    return {"vectors": (127 * features / largest[:, None]).round().to(torch.int8), "largest": largest.to(torch.float16)}


def dequantise(kept: dict[str, torch.Tensor]) -> torch.Tensor:
    vectors = kept["vectors"].float()
    return vectors if "largest" not in kept else vectors * kept["largest"].float()[:, None] / 127
