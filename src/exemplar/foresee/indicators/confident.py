"""How sure the logistic regression is: of its training samples (its loss), and of samples without a label."""

from __future__ import annotations

from torch import Tensor

from exemplar.foresee.views import TaskView


def lr_loss(view: TaskView) -> Tensor:
    """Eq. 9, on the whole support after training."""
    return -view.support_log_p.gather(2, view.labels[..., None])[..., 0].mean(dim=1)


def confidence(view: TaskView) -> Tensor:
    """Mean of max p: the form that can be read as a predicted accuracy."""
    return view.query_p.amax(dim=2).mean(dim=1)


def confidence_log(view: TaskView) -> Tensor:
    """Eq. 15: mean of −log max p."""
    return -view.query_log_p.amax(dim=2).mean(dim=1)


def margin(view: TaskView) -> Tensor:
    best = view.query_p.topk(2, dim=2).values
    return (best[..., 0] - best[..., 1]).mean(dim=1)
