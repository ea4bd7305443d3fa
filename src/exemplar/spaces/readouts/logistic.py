"""Logistic regression: its exact minimum, by Newton's method, and where the paper's recipe with Adam stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.errors import UserError
from exemplar.spaces.devices import takes_compiled_loops
from exemplar.spaces.readouts.linear import Readout, join_parts
from exemplar.spaces.readouts.tensors import Array, check_tasks, cholesky, chunks, one_hot

N_NEWTON = 200  # steps at most; a dozen or two are common


def fit_logistic(support: Array, labels: Array, n_classes: int, penalty: float = 5e-6) -> Readout:
    """The one minimum of mean cross-entropy + penalty / 2 · (‖weight‖² + ‖bias‖²), by Newton's method.

    Meant for few-shot tasks: a step solves a system of classes × min(n, d + 1) unknowns per task.
    """
    x, y = check_tasks(support, labels, n_classes, penalty)
    parts = []
    for a in chunks(len(x), (n_classes * min(x.shape[1], x.shape[2] + 1)) ** 2, x.device):
        examples = F.pad(x[a].double(), (0, 1), value=1.0)  # the bias is the weight of a feature that is always 1
        basis = None
        if examples.shape[1] < examples.shape[2]:  # the minimum lies in the span of the examples: work in there
            basis, triangle = torch.linalg.qr(examples.mT)
            examples = triangle.mT
        weight = _newton(examples, one_hot(y[a], n_classes), penalty)
        if basis is not None:
            weight = weight @ basis.mT
        parts.append(Readout(weight[..., :-1], weight[..., -1]))
    return join_parts(parts, x)


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
    """Logistic regression stopped where the recipe stops; starts and batches are drawn for each task."""
    x, y = check_tasks(support, labels, n_classes)
    n, d = x.shape[1:]
    parts = []
    for a in chunks(len(x), 2 * n_classes * d):  # alike on every device: the draws come chunk by chunk
        tasks, bound = len(x[a]), d**-0.5  # torch.nn.Linear's start
        start = torch.from_numpy(rng.uniform(-bound, bound, (tasks, n_classes, d + 1))).to(x)
        order = rng.permuted(np.tile(np.arange(n), (tasks, recipe.epochs, 1)), axis=2)
        begin = Readout(start[..., :d].contiguous(), start[..., d].contiguous())
        parts.append(descend(begin, x[a], y[a], torch.from_numpy(order).to(x.device), recipe))
    return join_parts(parts, x)


def descend(start: Readout, x: Tensor, y: Tensor, order: Tensor, recipe: AdamRecipe) -> Readout:
    """Train from `start`. x: (tasks, n, d); y: (tasks, n) int64; order: (tasks, epochs, n), each epoch a permutation of n."""
    if takes_compiled_loops(x):
        return _descend_each(start, x, y, order, recipe)
    weight, bias = start.weight.clone(), start.bias.clone()
    weight.grad, bias.grad = torch.zeros_like(weight), torch.zeros_like(bias)
    adam = torch.optim.Adam([weight, bias], lr=recipe.rate, weight_decay=recipe.penalty, fused=True)
    targets = F.one_hot(y, bias.shape[1]).to(x)
    batch, task = min(recipe.batch, x.shape[1]), torch.arange(len(x), device=x.device)[:, None]
    for epoch in order.unbind(dim=1):
        for rows in epoch.split(batch, dim=1):
            if rows.shape[1] < batch:
                break
            batch_x = x[task, rows]
            error = torch.baddbmm(bias[:, None], batch_x, weight.mT).softmax(dim=2)
            error.sub_(targets[task, rows]).div_(batch)
            torch.bmm(error.mT, batch_x, out=weight.grad)
            torch.sum(error, dim=1, out=bias.grad)
            adam.step()
    return Readout(weight.detach(), bias.detach())


def _descend_each(start: Readout, x: Tensor, y: Tensor, order: Tensor, recipe: AdamRecipe) -> Readout:
    """On a processor, task by task: what a task needs stays in its caches, and nothing is gathered."""
    from exemplar.spaces.readouts.adam_kernel import descend_each

    weight, bias = (part.detach().clone().contiguous().numpy() for part in (start.weight, start.bias))
    rate, penalty = np.float32(recipe.rate), np.float32(recipe.penalty)
    samples, labels, rows = (part.contiguous().numpy() for part in (x, y, order))
    descend_each(weight, bias, samples, labels, rows, rate, penalty, min(recipe.batch, x.shape[1]))
    return Readout(torch.from_numpy(weight), torch.from_numpy(bias))


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
        step = torch.cholesky_solve(gradient, cholesky(hessian))
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
