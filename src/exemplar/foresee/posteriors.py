"""Probabilities that agree with a predicted accuracy, and the confusions to expect from them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from exemplar.foresee.indicators.left_out import balanced_left_out
from exemplar.foresee.views import TaskView

COLD, HOT = 1e-3, 1e3  # temperatures
LEAST = 0.5  # queries that a class must be expected to have, to say what they will be called


def matched_posterior(scores: np.ndarray, accuracy: float) -> np.ndarray:
    """(n, ways): softmax of scores (n, ways) at the temperature at which the mean largest probability is the accuracy; at
    chance, or at 1, the flattest and the sharpest there are."""

    def surplus(log_temperature: float) -> float:
        return float(softmax(scores / np.exp(log_temperature), axis=1).max(axis=1).mean()) - accuracy

    ends = np.log(COLD), np.log(HOT)
    if surplus(ends[0]) <= 0:
        found = ends[0]
    elif surplus(ends[1]) >= 0:
        found = ends[1]
    else:
        found = brentq(surplus, *ends, xtol=1e-6)
    return np.asarray(softmax(scores / np.exp(found), axis=1))


def expected_confusion(view: TaskView, accuracy: float) -> np.ndarray:
    """(ways, ways), rows sum to 1: from the queries, whose posterior says which class each may belong to; of classes that none
    seems to belong to, from the labelled samples, one of each class left out in turn (one sample of a class alone: as it was
    trained)."""
    n = view.n_ways
    if view.raw_queries is None:
        return _rows(_labelled_confusion(view, accuracy))
    p = matched_posterior(view.query_log_p[0].double().numpy(), accuracy)
    joint = p.T @ np.eye(n)[p.argmax(axis=1)]  # expected number of samples of each class that get each name
    rare = joint.sum(axis=1) < LEAST
    if rare.any():
        joint[rare] = _labelled_confusion(view, accuracy)[rare]
    return _rows(joint)


def _labelled_confusion(view: TaskView, accuracy: float) -> np.ndarray:
    n = view.n_ways
    scores = (
        balanced_left_out(view.support[0], view.labels[0], n).double().numpy()
        if view.least_shots > 1
        else view.support_log_p[0].double().numpy()
    )
    return np.asarray(np.eye(n)[view.labels[0].numpy()].T @ matched_posterior(scores, accuracy))


def _rows(joint: np.ndarray) -> np.ndarray:
    joint = joint + 1e-9
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
