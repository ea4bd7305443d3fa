"""Which unlabelled samples to label next: those that stand for many uncertain others, or by confidence, or at random."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from exemplar.errors import UserError, unknown
from exemplar.foresee.graphs import cosines
from exemplar.foresee.views import TaskView

POLICIES = {
    "cover": "one after the other, the sample that is most like uncertain samples which no labelled one is like",
    "balanced": "predicted classes in turn, uncertain samples more likely than others",
    "least-confident": "the least confident samples, whatever their class",
    "random": "samples at random",
}
LEAST_WEIGHT = 0.02  # of a sample that is certain: it counts a little, too


def labelling_order(view: TaskView, policy: str, n: int, *, rng: np.random.Generator) -> Tensor:
    """(tasks, n) int64: unlabelled samples in the order in which to label them. `cover` and `balanced` were made, and their
    weights chosen, on validation classes of CIFAR-FS."""
    if policy not in POLICIES:
        raise unknown("policy", policy, POLICIES)
    log_p = view.query_log_p
    drawn = torch.from_numpy(rng.random(tuple(log_p.shape[:2]))).to(log_p.device)
    if policy == "random":
        return drawn.argsort(dim=1)[:, :n]
    sure, which = log_p.max(dim=2)
    if policy == "least-confident":
        return sure.argsort(dim=1, stable=True)[:, :n]
    doubt = 1 - sure.exp()
    if policy == "cover":
        return _cover(view, doubt, n)
    # the least of exponential times with these rates is a draw in proportion to them
    order = (-drawn.log() / doubt.clamp(min=1e-4).square()).argsort(dim=1)
    ranked = which.gather(1, order)
    turn = torch.nn.functional.one_hot(ranked, view.n_ways).cumsum(dim=1).gather(2, ranked[..., None])[..., 0]
    return order.gather(1, turn.argsort(dim=1, stable=True))[:, :n]  # the first of every class, then the second, …


def _cover(view: TaskView, doubt: Tensor, n: int) -> Tensor:
    """Greedy facility location: each sample is worth the cosine to the nearest labelled one, weighted by √ of its doubt."""
    cosine = cosines(view.all_gram)
    n_labelled = view.n_labelled
    like, covered = cosine[:, n_labelled:, n_labelled:], cosine[:, n_labelled:, :n_labelled].amax(dim=2)
    weight = doubt.clamp(min=LEAST_WEIGHT).sqrt()[..., None]
    rows, chosen = torch.arange(len(like), device=like.device), list[Tensor]()
    taken = torch.zeros_like(covered, dtype=torch.bool)
    for _ in range(n):
        gain = ((like - covered[..., None]).clamp_(min=0) * weight).sum(dim=1).masked_fill(taken, -1)
        best = gain.argmax(dim=1)
        chosen.append(best)
        taken[rows, best] = True
        covered = torch.maximum(covered, like[rows, :, best])
    return torch.stack(chosen, dim=1)


def check_budget(budget: int, n_queries: int) -> None:
    if n_queries == 0:
        raise UserError("There are no unlabelled samples to choose from: give some.")
    if not 1 <= budget <= n_queries:
        raise UserError(f"The budget must be from 1 to the {n_queries} unlabelled samples, got {budget}.")
