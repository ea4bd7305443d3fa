"""Linear readouts of features, fitted for many small tasks at once: nearest mean, ridge, LDA and logistic regression.

Tasks of one shape are stacked: support (tasks, n, d), labels (tasks, n) whole numbers in [0, n_classes), which may be
unbalanced. Linear algebra runs in float64 on the support's device; what comes back has the support's own precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.errors import UserError

Array = np.ndarray | Tensor
CHUNK_BYTES = 1 << 22  # of the largest thing made at once: a chunk of tasks stays in the processor's cache
GPU_CHUNK_BYTES = 1 << 29  # a GPU wants much to do at once
N_NEWTON = 200  # steps at most; a dozen or two is usual


@dataclass(frozen=True, eq=False)
class Readout:
    """One linear classifier a task. weight: (tasks, classes, d); bias: (tasks, classes)."""

    weight: Tensor
    bias: Tensor

    def scores(self, queries: Array) -> Tensor:
        """queries: (tasks, q, d). Returns (tasks, q, classes); the larger, the likelier."""
        x = _tensor(torch.as_tensor(queries).to(self.weight), "queries")
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
        x, y = _checked(support, labels, n_classes, all_present=False)
        targets = _one_hot(y, n_classes)
        return cls((targets.to(x).mT @ x).double(), targets.sum(dim=1))

    def __add__(self, more: ClassSums) -> ClassSums:
        """As if the examples of both had been seen at once."""
        if self.total.shape != more.total.shape:
            raise UserError(f"sums of shape {tuple(self.total.shape)} and {tuple(more.total.shape)} are of other tasks")
        return ClassSums(self.total + more.total, self.count + more.count)

    @property
    def means(self) -> Tensor:
        """(tasks, classes, d) float64."""
        _check_present(self.count)
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
    x, y = _checked(support, labels, n_classes, penalty)
    parts = (_ridge(x[a].double(), _one_hot(y[a], n_classes), penalty) for a in _chunks(len(x), _widest(x), x.device))
    return _joined([fitted for fitted, _ in parts], x)


def ridge_left_out(support: Array, labels: Array, n_classes: int, penalty: float = 1.0) -> Tensor:
    """(tasks, n, classes): each support example's scores by the ridge fitted to all the others, in closed form."""
    x, y = _checked(support, labels, n_classes, penalty)
    if x.shape[1] < 2:
        raise UserError("leaving one out needs at least 2 support examples in a task, there is 1")
    parts = (_ridge(x[a].double(), _one_hot(y[a], n_classes), penalty) for a in _chunks(len(x), _widest(x), x.device))
    return torch.cat([left_out for _, left_out in parts]).to(x.dtype)


def fit_lda(support: Array, labels: Array, n_classes: int, shrinkage: float = 0.5) -> Readout:
    """Linear discriminant analysis: Gaussian classes of one covariance, priors as in the support.

    shrinkage: in (0, 1], the share of the spherical covariance of equal trace mixed into the pooled one.
    """
    x, y = _checked(support, labels, n_classes)
    if not 0 < shrinkage <= 1:
        raise UserError(f"the shrinkage {shrinkage} must be above 0 and at most 1")
    _, n, d = x.shape
    parts = []
    for a in _chunks(len(x), _widest(x), x.device):
        targets, examples = _one_hot(y[a], n_classes), x[a].double()
        sums = ClassSums.of(examples, y[a], n_classes)
        means = sums.means
        within = examples - targets @ means
        variance = within.square().sum(dim=(1, 2)) / (n * d)
        if not (variance > 1e-24 * examples.square().mean(dim=(1, 2))).all():
            raise UserError(
                "LDA needs examples that differ within a class: give 2 or more a class, or use nearest mean"
            )
        sphere = shrinkage * variance[:, None, None]
        weight = _solve(within * ((1 - shrinkage) / n) ** 0.5, sphere, means.mT).mT
        bias = (sums.count / n).log() - (weight * means).sum(dim=2) / 2
        parts.append(Readout(weight, bias))
    return _joined(parts, x)


def fit_logistic(support: Array, labels: Array, n_classes: int, penalty: float = 5e-6) -> Readout:
    """The one minimum of mean cross-entropy + penalty / 2 · (‖weight‖² + ‖bias‖²), by Newton's method.

    Meant for few-shot tasks: a step solves a system of classes × min(n, d + 1) unknowns a task.
    """
    x, y = _checked(support, labels, n_classes, penalty)
    parts = []
    for a in _chunks(len(x), (n_classes * min(x.shape[1], x.shape[2] + 1)) ** 2, x.device):
        examples = F.pad(x[a].double(), (0, 1), value=1.0)  # the bias is the weight of a feature that is always 1
        basis = None
        if examples.shape[1] < examples.shape[2]:  # the minimum lies in the span of the examples: work in there
            basis, triangle = torch.linalg.qr(examples.mT)
            examples = triangle.mT
        weight = _newton(examples, _one_hot(y[a], n_classes), penalty)
        if basis is not None:
            weight = weight @ basis.mT
        parts.append(Readout(weight[..., :-1], weight[..., -1]))
    return _joined(parts, x)


@dataclass(frozen=True)
class AdamRecipe:
    """How the paper on predicting few-shot generalization trains its logistic regression: Adam on batches reshuffled each
    epoch, the last short one dropped. penalty: L2 on weight and bias; with fewer than `batch` examples a batch is all."""

    rate: float = 0.01
    penalty: float = 5e-6
    batch: int = 5
    epochs: int = 50


PAPER = AdamRecipe()


def fit_logistic_adam(
    support: Array, labels: Array, n_classes: int, *, rng: np.random.Generator, recipe: AdamRecipe = PAPER
) -> Readout:
    """Logistic regression stopped where the recipe stops; starts and batches are drawn anew for each task."""
    x, y = _checked(support, labels, n_classes)
    n, d = x.shape[1:]
    parts = []
    for a in _chunks(len(x), 2 * n_classes * d):  # alike on every device: the draws come chunk by chunk
        tasks, bound = len(x[a]), d**-0.5  # torch.nn.Linear's start
        start = torch.from_numpy(rng.uniform(-bound, bound, (tasks, n_classes, d + 1))).to(x)
        order = rng.permuted(np.tile(np.arange(n), (tasks, recipe.epochs, 1)), axis=2)
        begin = Readout(start[..., :d].contiguous(), start[..., d].contiguous())
        parts.append(descend(begin, x[a], y[a], torch.from_numpy(order).to(x.device), recipe))
    return _joined(parts, x)


def descend(start: Readout, x: Tensor, y: Tensor, order: Tensor, recipe: AdamRecipe) -> Readout:
    """Train from `start`. x: (tasks, n, d); y: (tasks, n) int64; order: (tasks, epochs, n), each epoch a permutation of n."""
    weight, bias = start.weight.clone(), start.bias.clone()
    weight.grad, bias.grad = torch.zeros_like(weight), torch.zeros_like(bias)
    adam = torch.optim.Adam([weight, bias], lr=recipe.rate, weight_decay=recipe.penalty, fused=True)
    targets = F.one_hot(y, bias.shape[1]).to(x)
    batch, task = min(recipe.batch, x.shape[1]), torch.arange(len(x), device=x.device)[:, None]
    for epoch in order.unbind(dim=1):
        for rows in epoch.split(batch, dim=1):
            if rows.shape[1] < batch:
                break
            seen = x[task, rows]
            error = torch.baddbmm(bias[:, None], seen, weight.mT).softmax(dim=2)
            error.sub_(targets[task, rows]).div_(batch)
            torch.bmm(error.mT, seen, out=weight.grad)
            torch.sum(error, dim=1, out=bias.grad)
            adam.step()
    return Readout(weight.detach(), bias.detach())


def _newton(x: Tensor, y: Tensor, penalty: float) -> Tensor:
    """(tasks, classes, r): the minimum for x (tasks, n, r) and one-hot y (tasks, n, classes)."""
    tasks, n, r = x.shape
    k = y.shape[2]

    def loss(weight: Tensor) -> Tensor:
        fit = -(y * (x @ weight.mT).log_softmax(dim=2)).sum(dim=(1, 2)) / n
        return fit + penalty / 2 * weight.square().sum(dim=(1, 2))

    weight = x.new_zeros(tasks, k, r)
    pairs = (x[..., :, None] * x[..., None, :]).reshape(tasks, n, r * r)
    for _ in range(N_NEWTON):
        p = (x @ weight.mT).softmax(dim=2)
        gradient = ((p - y).mT @ x / n + penalty * weight).reshape(tasks, k * r, 1)
        spread = (torch.diag_embed(p) - p[..., :, None] * p[..., None, :]).reshape(tasks, n, k * k) / n
        hessian = (spread.mT @ pairs).reshape(tasks, k, k, r, r).transpose(2, 3).reshape(tasks, k * r, k * r)
        hessian.diagonal(dim1=1, dim2=2).add_(penalty)
        step = torch.cholesky_solve(gradient, _cholesky(hessian))
        decrement = (gradient * step).sum(dim=(1, 2))  # about twice what is left to gain
        if decrement.max() < 1e-13:
            return weight
        step, now, size = step.reshape(tasks, k, r), loss(weight), x.new_ones(tasks)
        for _ in range(40):  # halve the steps that do not gain enough
            short = loss(weight - size[:, None, None] * step) > now - 1e-4 * size * decrement + 1e-15
            if not short.any():
                break
            size = torch.where(short, size / 2, size)
        weight = weight - size[:, None, None] * step
    raise UserError("logistic regression did not converge: divide the features by their norm, or raise the penalty")


def _ridge(x: Tensor, y: Tensor, penalty: float) -> tuple[Readout, Tensor]:
    """x: (tasks, n, d), y: (tasks, n, k) one-hot. The ridge, and each example's scores without it (tasks, n, k)."""
    n, d = x.shape[1:]
    centre, share = x.mean(dim=1, keepdim=True), y.mean(dim=1, keepdim=True)
    a, b = x - centre, y - share
    if n > d:
        factor = _cholesky(_raised(a.mT @ a, penalty))
        weight = torch.cholesky_solve(a.mT @ b, factor)
        residual = b - a @ weight
        slack = 1 - 1 / n - torch.linalg.solve_triangular(factor, a.mT, upper=False).square().sum(dim=1)
    else:
        # The Gram matrix of centred examples knows nothing of the constant direction: filling it in changes no answer,
        # and takes the largest number, 1 / penalty, out of the inverse.
        gram = a @ a.mT
        fill = gram.diagonal(dim1=1, dim2=2).mean(dim=1)[:, None]
        inverse = torch.cholesky_inverse(_cholesky(_raised(gram + fill[..., None], penalty)))
        dual = inverse @ b
        weight, residual = a.mT @ dual, penalty * dual
        slack = penalty * (inverse.diagonal(dim1=1, dim2=2) - 1 / (n * (penalty + n * fill)))
    # without the example, what is left of it is its residual over 1 − its leverage, the slack
    return Readout(weight.mT, (share - centre @ weight)[:, 0]), y - residual / slack[..., None]


def _solve(x: Tensor, sphere: Tensor, right: Tensor) -> Tensor:
    """(xᵀx + sphere · I)⁻¹ right: x (tasks, n, d), sphere (tasks, 1, 1), right (tasks, d, k); in n or d, if smaller."""
    if x.shape[1] >= x.shape[2]:
        return torch.cholesky_solve(right, _cholesky(_raised(x.mT @ x, sphere)))
    inner = torch.cholesky_solve(x @ right, _cholesky(_raised(x @ x.mT, sphere)))  # Woodbury
    return (right - x.mT @ inner) / sphere


def _raised(matrix: Tensor, by: float | Tensor) -> Tensor:
    return matrix + by * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _cholesky(matrix: Tensor) -> Tensor:
    try:
        return torch.linalg.cholesky(matrix)
    except torch.linalg.LinAlgError as problem:
        raise UserError(
            "the features are too large for this penalty: divide them by their norm, or raise it"
        ) from problem


def _tensor(values: Array, name: str) -> Tensor:
    x = torch.as_tensor(values)
    x = x if x.dtype in (torch.float32, torch.float64) else x.float()
    # the squares of the differences between a task's examples can be summed up: at 40,000 numbers, 5e16 in float32
    largest = (torch.finfo(x.dtype).max / (4 * max(1, math.prod(x.shape[1:])))) ** 0.5
    if x.numel() and not max(map(abs, torch.stack(x.aminmax()).tolist())) < largest:  # NaN is not
        raise UserError(
            f"the {name} hold features that are NaN, infinite, or beyond ±{largest:.0e}, whose squares overflow: mend or "
            "rescale them first"
        )
    return x


def _checked(
    support: Array, labels: Array, n_classes: int, penalty: float = 1.0, all_present: bool = True
) -> tuple[Tensor, Tensor]:
    """The support and its labels as tensors on one device, or the reason why they cannot be fitted."""
    x, y = _tensor(support, "support examples"), torch.as_tensor(labels)
    if x.ndim != 3 or 0 in x.shape or y.shape != x.shape[:2]:
        shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
        raise UserError(f"support and labels must be (tasks, n, d) and (tasks, n), none of them 0, these are {shapes}")
    if y.is_floating_point() or y.dtype == torch.bool or y.min() < 0 or y.max() >= n_classes:
        raise UserError(f"labels must be whole numbers from 0 to {n_classes - 1}, one for each class")
    if not 0 < penalty < float("inf"):
        raise UserError(f"the penalty {penalty} must be above 0")
    y = y.to(x.device, torch.int64)
    if all_present:
        _check_present(_one_hot(y, n_classes).sum(dim=1))
    return x, y


def _check_present(count: Tensor) -> None:
    """count: (tasks, classes)."""
    if (missing := (count == 0).nonzero()).numel():
        task, label = missing[0].tolist()
        raise UserError(f"class {label} of task {task} has no support example: give each class at least one")


def _one_hot(y: Tensor, n_classes: int) -> Tensor:
    return F.one_hot(y, n_classes).double()


def _widest(x: Tensor) -> int:
    """Numbers in the largest thing a ridge or LDA makes for a task."""
    n, d = x.shape[1:]
    return max(n * d, min(n, d) ** 2)


def _chunks(tasks: int, numbers: int, device: torch.device | None = None) -> Iterator[slice]:
    """Slices of the tasks, of which each needs so many float64 numbers at once."""
    n_bytes = GPU_CHUNK_BYTES if device is not None and device.type == "cuda" else CHUNK_BYTES
    size = max(1, n_bytes // (8 * numbers))
    return (slice(start, start + size) for start in range(0, tasks, size))


def _joined(parts: list[Readout], like: Tensor) -> Readout:
    weight, bias = (torch.cat([getattr(part, name) for part in parts]).to(like.dtype) for name in ("weight", "bias"))
    return Readout(weight, bias)
