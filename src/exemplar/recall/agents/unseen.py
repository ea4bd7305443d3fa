"""Labels that no support set has shown so far keep a small share of the probability, so that cross-entropy stays finite."""

from __future__ import annotations

import torch

SHARE = 0.01  # of the probability, spread evenly over all labels where some have not been shown


def with_unseen(scores: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """scores: (n, labels); seen: (labels,) bool → scores, or log probabilities where some labels were never shown."""
    if bool(seen.all()):
        return scores
    if not bool(seen.any()):
        return torch.zeros_like(scores)
    p = scores.masked_fill(~seen, float("-inf")).softmax(dim=1)
    return ((1 - SHARE) * p + SHARE / scores.shape[1]).log()
