"""The loss at the best temperature: it separates being overconfident from being wrong."""

from __future__ import annotations

import torch
from torch.nn import functional

LEAST, MOST = 1e-4, 1e4  # what logits are multiplied by, once they differ by 1 on average
HALVINGS = 28


def calibrated_loss(logits: torch.Tensor, target: torch.Tensor) -> float:
    """Cross-entropy at the one temperature, the same for all, that makes it least.

    logits: (n, classes), of any size; target: (n,) int64. The loss is convex in what logits are multiplied by, so its slope
    is followed down to zero by halving, on a logarithmic scale.
    """
    logits = logits.double() - logits.double().mean(1, keepdim=True)
    logits = logits / logits.abs().mean().clamp(min=torch.finfo(torch.float64).tiny)
    own = logits.gather(1, target[:, None])[:, 0]
    low, high = torch.tensor([LEAST, MOST], dtype=torch.float64, device=logits.device).log()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = (functional.softmax(logits * middle.exp(), dim=1) * logits).sum(1)
        falling = (expected - own).mean() < 0
        low, high = torch.where(falling, middle, low), torch.where(falling, high, middle)
    return float(functional.cross_entropy(logits * ((low + high) / 2).exp(), target))
