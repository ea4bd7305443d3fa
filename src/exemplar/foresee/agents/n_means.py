"""N-means of all samples, none of which has a label (Section 3.3.3)."""

from __future__ import annotations

from torch import Tensor

from exemplar.foresee.views import TaskView


def answer(view: TaskView) -> Tensor:
    return view.clusters
