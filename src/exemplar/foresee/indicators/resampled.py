"""Trained again on half of the labels, or from another start: two-fold validation, and what it says about unlabelled samples.

Average thresholded confidence is Garg et al.'s (2022), difference of confidences Guillory et al.'s (2021), disagreement of two
trainings Jiang et al.'s (2022); the held-out samples they need come from halves of the support.
"""

from __future__ import annotations

from torch import Tensor

from exemplar.foresee.clustering import adjusted_rand
from exemplar.foresee.views import TaskView


def cross_validation(view: TaskView) -> Tensor:
    return (view.held_out_p.argmax(dim=2) == view.labels).double().mean(dim=1)


def thresholded_confidence(view: TaskView) -> Tensor:
    """The threshold leaves as many held-out samples above it as were named right."""
    sure = view.held_out_p.amax(dim=2).sort(dim=1, descending=True).values
    n_right = (view.held_out_p.argmax(dim=2) == view.labels).sum(dim=1, keepdim=True)
    last = sure.gather(1, (n_right - 1).clamp(min=0))
    threshold = last.where(n_right > 0, sure[:, :1] + 1)
    return (view.query_p.amax(dim=2) >= threshold).double().mean(dim=1)


def difference_of_confidence(view: TaskView) -> Tensor:
    more = view.query_p.amax(dim=2).mean(dim=1) - view.held_out_p.amax(dim=2).mean(dim=1)
    return cross_validation(view) + more.double()


def disagreement(view: TaskView) -> Tensor:
    other = view.score_queries(view.fit_logistic("logistic again")).argmax(dim=2)
    return (other != view.query_log_p.argmax(dim=2)).double().mean(dim=1)


def agreement(view: TaskView) -> Tensor:
    return adjusted_rand(view.query_clusters, view.query_log_p.argmax(dim=2))
