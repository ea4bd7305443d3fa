"""Diagonal Gaussians by mean and log-variance: how far one is from another, and a draw from one."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional


class Gaussian(NamedTuple):
    """mean, log_variance: (b, d) float32."""

    mean: torch.Tensor
    log_variance: torch.Tensor

    @classmethod
    def of(cls, parameters: torch.Tensor) -> Gaussian:
        """parameters: (b, 2 d), the means before the log-variances, of any precision."""
        mean, log_variance = parameters.float().chunk(2, -1)
        return cls(mean, log_variance)

    def draw(self, noise: torch.Tensor) -> torch.Tensor:
        """noise: (b, d) standard normal → μ + σ ε."""
        return self.mean + (0.5 * self.log_variance).exp() * noise


def kl_divergence(one: Gaussian, other: Gaussian) -> torch.Tensor:
    """(b,) nats: KL(one ‖ other), summed over dimensions."""
    gap = (one.mean - other.mean).square() + one.log_variance.exp()
    return 0.5 * (other.log_variance - one.log_variance + gap * (-other.log_variance).exp() - 1).sum(-1)


def kl_from_standard(one: Gaussian) -> torch.Tensor:
    """(b,) nats: KL(one ‖ N(0, I))."""
    return 0.5 * (one.mean.square() + one.log_variance.exp() - one.log_variance - 1).sum(-1)


def log_likelihood(drawings: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """(b,) nats: of ink and paper under independent Bernoulli px, summed over them. Both (b, 1, h, w); ink 1."""
    return -functional.binary_cross_entropy_with_logits(logits.float(), drawings, reduction="none").sum((1, 2, 3))
