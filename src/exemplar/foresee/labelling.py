"""Which unlabelled samples to label next: those that stand for many uncertain others, or by confidence, or at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from exemplar.errors import UserError, unknown
from exemplar.foresee.graphs import cosines
from exemplar.foresee.views import TaskView

POLICIES = {
    "cover": "one after the other, the sample that is most like uncertain samples which no labelled one is like",
    "balanced": "the predicted class with the fewest labels first, uncertain samples more likely than others",
    "least-confident": "the least confident samples, whatever their class",
    "random": "samples at random",
}
LEAST_WEIGHT = 0.02  # of a sample that is certain: it counts a little, too


@dataclass(frozen=True, eq=False)
class Answered:
    """Unlabelled samples that got their labels since a task began, in rounds. chosen: (tasks, k) which; labels: (tasks, k);
    log_p: (tasks, q, ways), of a classifier that was trained again with them."""

    chosen: Tensor
    labels: Tensor
    log_p: Tensor


def labelling_order(
    view: TaskView, policy: str, n: int, *, rng: np.random.Generator, answered: Answered | None = None
) -> Tensor:
    """(tasks, n) int64: unlabelled samples in the order in which to label them, without those answered. `cover` and `balanced`
    were made, and their weights chosen, on validation classes of CIFAR-FS."""
    if policy not in POLICIES:
        raise unknown("policy", policy, POLICIES)
    log_p = view.query_log_p if answered is None else answered.log_p
    drawn = torch.from_numpy(rng.random(tuple(log_p.shape[:2]))).to(log_p.device)
    taken = torch.zeros_like(drawn, dtype=torch.bool)
    if answered is not None:
        taken.scatter_(1, answered.chosen, True)
    if policy == "random":
        return drawn.masked_fill(taken, torch.inf).argsort(dim=1)[:, :n]
    sure = log_p.amax(dim=2)
    if policy == "least-confident":
        return sure.masked_fill(taken, torch.inf).argsort(dim=1, stable=True)[:, :n]
    if policy == "cover":
        return _cover(view, 1 - sure.exp(), taken, n)
    return _balanced(view, log_p, drawn, taken, answered)[:, :n]


def _balanced(view: TaskView, log_p: Tensor, drawn: Tensor, taken: Tensor, answered: Answered | None) -> Tensor:
    """Within each predicted class samples are drawn in proportion to their uncertainty squared; the class with the fewest
    labels, those of this order included, comes first."""
    first, second = log_p.exp().topk(2, dim=2).values.unbind(dim=2)
    doubt = 1 - (first - second)
    # the least of exponential times with these rates is a draw in proportion to them
    order = (-drawn.log() / doubt.clamp(min=1e-4).square()).masked_fill(taken, torch.inf).argsort(dim=1)
    ranked = log_p.argmax(dim=2).gather(1, order)
    n_labels = one_hot(view.labels, view.n_ways).sum(dim=1)
    if answered is not None:
        n_labels = n_labels + one_hot(answered.labels, view.n_ways).sum(dim=1)
    turn = one_hot(ranked, view.n_ways).cumsum(dim=1).gather(2, ranked[..., None])[..., 0] + n_labels.gather(1, ranked)
    last = turn.max() + 1
    return order.gather(1, turn.masked_fill(taken.gather(1, order), last).argsort(dim=1, stable=True))


def _cover(view: TaskView, doubt: Tensor, taken: Tensor, n: int) -> Tensor:
    """Greedy facility location: each sample is worth the cosine to the nearest labelled one, weighted by √ of its doubt."""
    cosine = cosines(view.all_gram)
    n_labelled = view.n_labelled
    like, covered = cosine[:, n_labelled:, n_labelled:], cosine[:, n_labelled:, :n_labelled].amax(dim=2)
    covered = torch.maximum(covered, like.masked_fill(~taken[:, None], -torch.inf).amax(dim=2))
    weight = doubt.clamp(min=LEAST_WEIGHT).sqrt()[..., None]
    rows, chosen, taken = torch.arange(len(like), device=like.device), list[Tensor](), taken.clone()
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
