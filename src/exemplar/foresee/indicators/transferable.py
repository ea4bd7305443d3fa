"""Scores that were made to choose among encoders: LogME (You et al. 2021) and the shrunk H-score (Ibrahim et al. 2022)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.foresee.views import TaskView

N_STEPS = 50  # of the fixed point; it settles in far fewer


def logme(view: TaskView) -> Tensor:
    """Log evidence per sample of Bayesian linear regression on one-hot labels, its two precisions chosen to maximise it.

    In the eigenvectors of the Gram matrix, so that it costs the same for any number of features.
    """
    gram = view.support_gram.double()
    n, d = view.n_labelled, view.n_features
    power, vector = torch.linalg.eigh(gram)
    power = power.clamp(min=0)[:, :, None]  # σ², (tasks, n, 1)
    target = vector.mT @ F.one_hot(view.labels, view.n_ways).double()  # (tasks, n, ways)
    square = target.square()
    alpha, beta = (torch.ones_like(square[:, :1]) for _ in range(2))
    for _ in range(N_STEPS):
        shrink = power * beta / (alpha + beta * power)
        gamma = shrink.sum(dim=1, keepdim=True)
        length = (beta.square() * power * square / (alpha + beta * power).square()).sum(dim=1, keepdim=True)
        residual = ((1 - shrink).square() * square).sum(dim=1, keepdim=True)
        alpha = (gamma / length.clamp(min=1e-12)).clamp(1e-9, 1e9)
        beta = ((n - gamma).clamp(min=1e-9) / residual.clamp(min=1e-12)).clamp(1e-9, 1e9)
    length = (beta.square() * power * square / (alpha + beta * power).square()).sum(dim=1, keepdim=True)
    residual = ((1 - power * beta / (alpha + beta * power)).square() * square).sum(dim=1, keepdim=True)
    size = (alpha + beta * power).log().sum(dim=1, keepdim=True) + (d - n) * alpha.log()
    evidence = d * alpha.log() + n * beta.log() - n * math.log(2 * math.pi) - size - beta * residual - alpha * length
    return (evidence / (2 * n)).mean(dim=(1, 2))


def h_score(view: TaskView) -> Tensor:
    """Trace of the inverse covariance times the covariance of class means; the covariance is shrunk half-way to a sphere."""
    x = view.support.double()
    n, d = view.n_labelled, view.n_features
    x = x - x.mean(dim=1, keepdim=True)
    belongs = F.one_hot(view.labels, view.n_ways).double()
    count = belongs.sum(dim=1)
    gram = x @ x.mT / n
    sphere = gram.diagonal(dim1=1, dim2=2).sum(dim=1)[:, None, None] / d  # mean variance of a feature
    # With S = XᵀX/n and M the class means, tr((S/2 + s/2 I)⁻¹ Σ wₖ mₖmₖᵀ), by Woodbury in samples
    weight = belongs / count[:, None] * (count / n).sqrt()[:, None]  # columns combine samples into weighted means
    cross = x @ x.mT @ weight  # (tasks, n, ways)
    own = (weight.mT @ x @ x.mT @ weight).diagonal(dim1=1, dim2=2).sum(dim=1)
    inner = torch.linalg.solve(gram + sphere * torch.eye(n, dtype=x.dtype, device=x.device), cross)
    return 2 * (own - (cross * inner).sum(dim=(1, 2)) / n) / sphere[:, 0, 0]
