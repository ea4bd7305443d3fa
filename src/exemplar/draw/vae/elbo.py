"""What the VAEs descend: minus the evidence lower bound per drawing, in nats, its KL terms weighted (S14)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torch

from exemplar.draw.trainable import Curve, TrainedByLoss, check_training
from exemplar.errors import UserError

FAST = {"precision": "bf16-mixed", "compile": {"force_layout_optimization": True}}
VANISHED = 0.1  # nats: of a posterior that is nowhere different from its prior


class TrainedByElbo(TrainedByLoss):
    """What both VAEs do alike."""

    layer: ClassVar[str] = ""
    beta: float
    learning_rate: float

    def check_elbo(self, batch: int) -> None:
        check_training(self.learning_rate, batch)
        if not 0 <= self.beta < float("inf"):
            raise UserError(f"β weights the KL and must be a number of at least 0, not {self.beta}")

    def rate(self, step: int) -> float:
        return 1.0

    def for_steps(self, steps: int) -> Self:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {**FAST, "replay": n_devices == 1}

    def find_warnings(self, curve: Curve) -> list[str]:
        kl = curve[-1]["kl"]
        if kl >= VANISHED:
            return []
        return [
            f"The KL of z has vanished ({kl:.2g} nats per drawing): z says nothing, so a concept's drawings will be alike. "
            "Train again with a smaller beta, or another seed."
        ]


def sequence_elbo(
    likelihood: torch.Tensor, kl: torch.Tensor, beta: float
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Eq. 8. likelihood, kl: (b,) nats, kl summed over steps. Minus the bound, and its terms per drawing."""
    terms = {"likelihood": likelihood.mean(), "kl": kl.mean()}
    return beta * terms["kl"] - terms["likelihood"], terms


def context_elbo(
    likelihood: torch.Tensor, kl: torch.Tensor, kl_context: torch.Tensor, beta: float, *, on_both: bool
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Eq. 7, divided by the number of drawings. likelihood, kl: (sets · k,) nats; kl_context: (sets,), paid once per set;
    on_both: whether β weights it too, as in the released code. Minus the bound, and its terms per drawing."""
    context = kl_context.sum() / len(likelihood)
    terms = {"likelihood": likelihood.mean(), "kl": kl.mean(), "kl_context": context}
    return beta * terms["kl"] + (beta if on_both else 1.0) * context - terms["likelihood"], terms
