"""Where samples lie: similarity of classes (Definitions 2 to 4), Davies–Bouldin after N-means (5), a graph's eigenvalue (6)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.foresee.clustering import davies_bouldin
from exemplar.foresee.graphs import cosines
from exemplar.foresee.views import TaskView


def similarity(view: TaskView) -> Tensor:
    """Eq. 12. A class of one sample has intra-class similarity 1."""
    cosine = cosines(view.support_gram)
    belongs = F.one_hot(view.labels, view.n_ways).to(cosine)
    count = belongs.sum(dim=1)
    total = belongs.mT @ cosine @ belongs  # (tasks, ways, ways)
    own = belongs.mT @ cosine.diagonal(dim1=1, dim2=2)[..., None]
    within = (total.diagonal(dim1=1, dim2=2) - own[..., 0]) / (count * (count - 1)).clamp(min=1)
    within = torch.where(count > 1, within, 1.0)
    between = total / (count[:, :, None] * count[:, None, :])
    between.diagonal(dim1=1, dim2=2).fill_(-torch.inf)
    return (within - between.amax(dim=2)).mean(dim=1)


def davies_bouldin_score(view: TaskView) -> Tensor:
    return davies_bouldin(view.gram, view.clusters, view.n_ways)


def nth_eigenvalue(view: TaskView) -> Tensor:
    return view.eigenvalues[:, view.n_ways - 1]
