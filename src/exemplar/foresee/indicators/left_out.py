"""Each labelled sample left out once, in closed form from the Gram matrix of the support: ridge, and nearest means."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.foresee.views import TaskView
from exemplar.spaces.readouts import fit_ridge, ridge_left_out


def left_out_scores(view: TaskView) -> Tensor:
    """(tasks, n, ways): each labelled sample's scores by the ridge fitted to the others."""
    return ridge_left_out(view.support, view.labels, view.n_ways)


def loo_ridge(view: TaskView) -> Tensor:
    return (left_out_scores(view).argmax(dim=2) == view.labels).double().mean(dim=1)


def loo_ridge_margin(view: TaskView) -> Tensor:
    scores = left_out_scores(view)
    right = view.labels[..., None]
    own = scores.gather(2, right)[..., 0]
    return (own - scores.scatter(2, right, -torch.inf).amax(dim=2)).mean(dim=1)


def left_out_distances(gram: Tensor, labels: Tensor, n_ways: int) -> Tensor:
    """(tasks, n, ways): squared distances to the means of the classes, that of a sample's own class without the sample.

    gram: (tasks, n, n); labels: (tasks, n), at least two of each class.
    """
    belongs = F.one_hot(labels, n_ways).to(gram)
    count = belongs.sum(dim=1, keepdim=True)  # (tasks, 1, ways)
    sums = gram @ belongs
    own = gram.diagonal(dim1=1, dim2=2)[..., None]
    norm = (belongs.mT @ sums).diagonal(dim1=1, dim2=2)[:, None]  # of each class's sum
    less_count = count - belongs
    less_sums = sums - belongs * own
    less_norm = norm - belongs * (2 * sums - own)
    return own - 2 * less_sums / less_count + less_norm / less_count.square()


def loo_nearest_mean(view: TaskView) -> Tensor:
    distance = left_out_distances(view.support_gram, view.labels, view.n_ways)
    return (distance.argmin(dim=2) == view.labels).double().mean(dim=1)


def balanced_left_out(support: Tensor, labels: Tensor, n_ways: int) -> Tensor:
    """(n, ways): each labelled sample's scores by a ridge that was fitted without it, and without one sample of every other
    class; of one task, at least two samples of each class.

    Leaving out one sample alone leaves its class with fewer than the others, and a ridge then hardly ever names that class: of
    two samples per class it gets one in five right where a classifier of all of them would get three in four.

    support: (n, d); labels: (n,).
    """
    rows = [torch.nonzero(labels == c)[:, 0] for c in range(n_ways)]
    turns = max(len(some) for some in rows)
    out = torch.stack(
        [torch.stack([some[turn % len(some)] for some in rows]) for turn in range(turns)]
    )  # (turns, ways)
    kept = torch.ones((turns, len(labels)), dtype=torch.bool).scatter_(1, out, False).nonzero()[:, 1].view(turns, -1)
    scores = fit_ridge(support[kept], labels[kept], n_ways).scores(support[out])
    found = torch.empty((len(labels), n_ways), dtype=scores.dtype)
    for c, some in enumerate(rows):
        found[some] = scores[: len(some), c]
    return found
