"""Learning without forgetting: on each new set the network must also say what it said before about the labels it knew.

After Li & Hoiem (2016): distillation on the new images, temperature 2. Left out: the warm-up of the new outputs alone.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from exemplar.recall.agents.tuning import Term

SEEN = "seen labels"
TEMPERATURE = 2.0


class Lwf:
    """A `Keeper`. strength: of the distillation loss; at 1, as in the paper, the few and long steps of a stream overshoot."""

    def __init__(self, strength: float = 0.1) -> None:
        self.strength = strength

    def reset(self, n_labels: int) -> None:
        self.seen = torch.zeros(n_labels, dtype=torch.bool)

    def before(self, network: nn.Module, images: torch.Tensor) -> Term | None:
        if not bool(self.seen.any()):
            return None
        seen = self.seen.clone()
        with torch.no_grad():
            said = (network.eval()(images)[:, seen] / TEMPERATURE).softmax(dim=1)

        def distilled(network: nn.Module, outputs: torch.Tensor) -> torch.Tensor:
            now = (outputs[:, seen] / TEMPERATURE).log_softmax(dim=1)
            return self.strength * TEMPERATURE**2 * functional.kl_div(now, said, reduction="batchmean")

        return distilled

    def after(self, network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.seen[labels] = True

    def state(self) -> dict[str, torch.Tensor]:
        return {SEEN: self.seen}

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        self.seen = state[SEEN]
