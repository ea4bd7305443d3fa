"""Readouts in closed form: nearest mean, ridge (and its answers with each example left out), and LDA."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from exemplar.errors import UserError
from exemplar.spaces.readouts.tensors import (
    Array,
    as_tensor,
    check_present,
    check_tasks,
    cholesky,
    chunks,
    one_hot,
    widest,
)


@dataclass(frozen=True, eq=False)
class Readout:
    """One linear classifier per task. weight: (tasks, classes, d); bias: (tasks, classes)."""

    weight: Tensor
    bias: Tensor

    def scores(self, queries: Array) -> Tensor:
        """queries: (tasks, q, d). Returns (tasks, q, classes); the larger, the likelier."""
        x = as_tensor(torch.as_tensor(queries).to(self.weight), "queries")
        tasks, _, d = self.weight.shape
        if x.ndim != 3 or (x.shape[0], x.shape[2]) != (tasks, d):
            raise UserError(f"queries must be ({tasks}, q, {d}) as the support was, these are {tuple(x.shape)}")
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)

    def log_p(self, queries: Array) -> Tensor:
        """(tasks, q, classes): log probabilities, the softmax of the scores. (A ridge's are flat: it regresses on 0 and 1.)"""
        return self.scores(queries).log_softmax(dim=2)

    def predict(self, queries: Array) -> Tensor:
        """(tasks, q) int64: the class with the largest score, the lowest of equal ones."""
        return self.scores(queries).argmax(dim=2)


@dataclass(frozen=True, eq=False)
class ClassSums:
    """What nearest mean needs to remember, a running mean: total (tasks, classes, d) and count (tasks, classes), float64."""

    total: Tensor
    count: Tensor

    @classmethod
    def of(cls, support: Array, labels: Array, n_classes: int) -> ClassSums:
        x, y = check_tasks(support, labels, n_classes, all_present=False)
        targets = one_hot(y, n_classes)
        return cls((targets.to(x).mT @ x).double(), targets.sum(dim=1))

    def __add__(self, more: ClassSums) -> ClassSums:
        """The sums over the examples of both."""
        if self.total.shape != more.total.shape:
            raise UserError(
                f"sums of shape {tuple(self.total.shape)} and {tuple(more.total.shape)} belong to different tasks"
            )
        return ClassSums(self.total + more.total, self.count + more.count)

    @property
    def means(self) -> Tensor:
        """(tasks, classes, d) float64."""
        check_present(self.count)
        return self.total / self.count[..., None]

    def readout(self, dtype: torch.dtype = torch.float32) -> Readout:
        """Scores −‖x − mean‖² up to a term that all classes share, as in a prototypical network."""
        means = self.means
        return Readout((2 * means).to(dtype), -means.square().sum(dim=2).to(dtype))


def fit_nearest_mean(support: Array, labels: Array, n_classes: int) -> Readout:
    """The class whose mean is nearest (ℓ2); log_p is the softmax of −‖x − mean‖²."""
    dtype = torch.float64 if torch.as_tensor(support).dtype == torch.float64 else torch.float32
    return ClassSums.of(support, labels, n_classes).readout(dtype)


def fit_ridge(support: Array, labels: Array, n_classes: int, penalty: float = 1.0) -> Readout:
    """Least squares on one-hot targets with penalty · ‖weight‖² and a free bias; in features or in examples (the Gram
    matrix), whichever is smaller."""
    x, y = check_tasks(support, labels, n_classes, penalty)
    parts = (_ridge(x[a].double(), one_hot(y[a], n_classes), penalty) for a in chunks(len(x), widest(x), x.device))
    return join_parts([fitted for fitted, _ in parts], x)


def ridge_left_out(support: Array, labels: Array, n_classes: int, penalty: float = 1.0) -> Tensor:
    """(tasks, n, classes): each support example's scores by the ridge fitted to all the others, in closed form."""
    x, y = check_tasks(support, labels, n_classes, penalty)
    if x.shape[1] < 2:
        raise UserError("leaving one out needs at least 2 support examples in a task, there is 1")
    parts = (_ridge(x[a].double(), one_hot(y[a], n_classes), penalty) for a in chunks(len(x), widest(x), x.device))
    return torch.cat([left_out for _, left_out in parts]).to(x.dtype)


def fit_lda(support: Array, labels: Array, n_classes: int, shrinkage: float = 0.5) -> Readout:
    """Linear discriminant analysis: Gaussian classes of one covariance, priors as in the support.

    shrinkage: in (0, 1], the share of the spherical covariance of equal trace mixed into the pooled one.
    """
    x, y = check_tasks(support, labels, n_classes)
    if not 0 < shrinkage <= 1:
        raise UserError(f"the shrinkage {shrinkage} must be above 0 and at most 1")
    _, n, d = x.shape
    parts = []
    for a in chunks(len(x), widest(x), x.device):
        targets, examples = one_hot(y[a], n_classes), x[a].double()
        sums = ClassSums.of(examples, y[a], n_classes)
        means = sums.means
        within = examples - targets @ means
        variance = within.square().sum(dim=(1, 2)) / (n * d)
        if not (variance > 1e-24 * examples.square().mean(dim=(1, 2))).all():
            raise UserError(
                "LDA needs examples that differ within a class: give 2 or more per class, or use nearest mean"
            )
        sphere = shrinkage * variance[:, None, None]
        weight = _solve(within * ((1 - shrinkage) / n) ** 0.5, sphere, means.mT).mT
        bias = (sums.count / n).log() - (weight * means).sum(dim=2) / 2
        parts.append(Readout(weight, bias))
    return join_parts(parts, x)


def _ridge(x: Tensor, y: Tensor, penalty: float) -> tuple[Readout, Tensor]:
    """x: (tasks, n, d), y: (tasks, n, k) one-hot. The ridge, and each example's scores without it (tasks, n, k)."""
    n, d = x.shape[1:]
    centre, share = x.mean(dim=1, keepdim=True), y.mean(dim=1, keepdim=True)
    a, b = x - centre, y - share
    if n > d:
        factor = cholesky(_raised(a.mT @ a, penalty))
        weight = torch.cholesky_solve(a.mT @ b, factor)
        residual = b - a @ weight
        slack = 1 - 1 / n - torch.linalg.solve_triangular(factor, a.mT, upper=False).square().sum(dim=1)
    else:
        # The Gram matrix of centred examples knows nothing of the constant direction: filling it in changes no answer,
        # and takes the largest number, 1 / penalty, out of the inverse.
        gram = a @ a.mT
        fill = gram.diagonal(dim1=1, dim2=2).mean(dim=1)[:, None]
        inverse = torch.cholesky_inverse(cholesky(_raised(gram + fill[..., None], penalty)))
        dual = inverse @ b
        weight, residual = a.mT @ dual, penalty * dual
        slack = penalty * (inverse.diagonal(dim1=1, dim2=2) - 1 / (n * (penalty + n * fill)))
    # without the example, what is left of it is its residual over 1 − its leverage, the slack
    return Readout(weight.mT, (share - centre @ weight)[:, 0]), y - residual / slack[..., None]


def _solve(x: Tensor, sphere: Tensor, right: Tensor) -> Tensor:
    """(xᵀx + sphere · I)⁻¹ right: x (tasks, n, d), sphere (tasks, 1, 1), right (tasks, d, k); in n or d, if smaller."""
    if x.shape[1] >= x.shape[2]:
        return torch.cholesky_solve(right, cholesky(_raised(x.mT @ x, sphere)))
    inner = torch.cholesky_solve(x @ right, cholesky(_raised(x @ x.mT, sphere)))  # Woodbury
    return (right - x.mT @ inner) / sphere


def _raised(matrix: Tensor, by: float | Tensor) -> Tensor:
    return matrix + by * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def join_parts(parts: list[Readout], like: Tensor) -> Readout:
    weight, bias = (torch.cat([getattr(part, name) for part in parts]).to(like.dtype) for name in ("weight", "bias"))
    return Readout(weight, bias)
