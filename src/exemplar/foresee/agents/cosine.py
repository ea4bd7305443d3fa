"""The largest cosine with a class's mean: nearest means of directions."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from exemplar.foresee.views import TaskView
from exemplar.spaces.readouts import ClassSums, Readout


def answer(view: TaskView) -> Tensor:
    directions = normalize(view.support, dim=2)
    means = normalize(ClassSums.of(directions, view.labels, view.n_ways).means, dim=2).to(directions.dtype)
    bias = torch.zeros(means.shape[:2], dtype=means.dtype, device=means.device)
    return view.score_queries(Readout(means, bias)).argmax(dim=2)  # a query's own length changes nothing
