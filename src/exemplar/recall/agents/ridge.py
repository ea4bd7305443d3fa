"""Ridge regression on frozen features, from running sums of products: the same whether the sets come one by one or together."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from exemplar.recall.agents.unseen import with_unseen
from exemplar.recall.states import as_tensors


class Ridge:
    """penalty: on the squared weights; scale: of its outputs, which regress on 0 and 1, as scores."""

    def __init__(self, penalty: float = 1.0, scale: float = 10.0) -> None:
        self.penalty, self.scale = penalty, scale

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.n_labels = n_labels
        self.products: torch.Tensor | None = None
        self.answers: torch.Tensor | None = None

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        x = _with_one(images)
        y = torch.nn.functional.one_hot(labels, self.n_labels).float()
        products, answers = x.T @ x, x.T @ y
        if self.products is not None and self.answers is not None:
            products, answers = products + self.products, answers + self.answers
        self.products, self.answers = products, answers

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        assert self.products is not None and self.answers is not None
        d = len(self.products)
        free = torch.eye(d, dtype=torch.float64)
        free[-1, -1] = 1e-6  # the constant is not penalised
        weight = torch.linalg.solve(self.products.double() + self.penalty * free, self.answers.double()).float()
        return with_unseen(self.scale * (_with_one(images) @ weight), self.answers[-1] > 0)

    def state(self) -> dict[str, Any]:
        return {} if self.products is None else {"products": self.products, "answers": self.answers}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        found = as_tensors(state)
        self.products, self.answers = found.get("products"), found.get("answers")


def _with_one(features: torch.Tensor) -> torch.Tensor:
    """Unit-length features and a constant."""
    return torch.cat([torch.nn.functional.normalize(features), torch.ones(len(features), 1)], dim=1)
