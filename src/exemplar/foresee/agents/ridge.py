"""Ridge regression on one-hot labels."""

from __future__ import annotations

from torch import Tensor

from exemplar.foresee.views import TaskView
from exemplar.spaces.readouts import fit_ridge


def answer(view: TaskView) -> Tensor:
    return view.score_queries(fit_ridge(view.support, view.labels, view.n_ways)).argmax(dim=2)
