"""A learning curve as a hidden random walk seen through right and wrong: smoothed by the state-space model of Smith & Brown.

The log odds of being right take a normal step from trial to trial; the size of the steps is fitted by expectation–maximisation,
with a Gaussian approximation at each trial (Smith & Brown 2003; Smith et al. 2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from exemplar.errors import UserError


@dataclass(frozen=True, eq=False)
class SmoothCurves:
    """accuracy, lo, hi: (people, trials) with the 95 % band of the state; step: (people,) standard deviation of the walk."""

    accuracy: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    step: np.ndarray


def smooth_curves(
    n_correct: np.ndarray, n_shown: np.ndarray, *, chance: float = 0.5, n_rounds: int = 100
) -> SmoothCurves:
    """Smoothed curves of many people at once.

    n_correct, n_shown: (people, trials) how many of how many were right on each trial (over subtasks); chance: accuracy before
    the first trial, where the walk starts; n_rounds: at most so many rounds of expectation–maximisation.
    """
    k, n = np.atleast_2d(np.asarray(n_correct, float)), np.atleast_2d(np.asarray(n_shown, float))
    if k.shape != n.shape or k.shape[1] < 2 or (k < 0).any() or (k > n).any():
        raise UserError(
            f"{k.shape} right of {n.shape} shown is impossible: give 0 ≤ right ≤ shown for the same trials, at least 2"
        )
    start, variance = float(logit(chance)), np.full(len(k), 0.05)
    for _ in range(n_rounds):
        mean, spread, cross = _smooth(k, n, start, variance)
        before = np.concatenate([np.full((len(k), 1), start), mean[:, :-1]], axis=1)
        before_spread = np.concatenate([np.zeros((len(k), 1)), spread[:, :-1]], axis=1)
        new = ((mean - before) ** 2 + spread + before_spread - 2 * cross).mean(axis=1)
        done = np.abs(new - variance).max() < 1e-7
        variance = np.maximum(new, 1e-10)
        if done:
            break
    mean, spread, _ = _smooth(k, n, start, variance)
    reach = ndtri(0.975) * np.sqrt(spread)
    return SmoothCurves(expit(mean), expit(mean - reach), expit(mean + reach), np.sqrt(variance))


def _smooth(
    k: np.ndarray, n: np.ndarray, start: float, variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The state on each trial given all: mean, variance, and covariance with the trial before; (people, trials) each."""
    n_people, n_trials = k.shape
    mean, spread, prior = (np.empty(k.shape) for _ in range(3))
    x, v = np.full(n_people, start), np.zeros(n_people)
    for t in range(n_trials):  # forward: the mode of the posterior, by Newton's method
        expected, prior[:, t] = x, v + variance
        for _ in range(50):
            p = expit(x)
            change = (expected + prior[:, t] * (k[:, t] - n[:, t] * p) - x) / (1 + prior[:, t] * n[:, t] * p * (1 - p))
            x = x + np.clip(change, -2, 2)  # far out the curve is flat, and a full step would fly past
            if np.abs(change).max() < 1e-10:
                break
        p = expit(x)
        v = 1 / (1 / prior[:, t] + n[:, t] * p * (1 - p))
        mean[:, t], spread[:, t] = x, v
    cross = np.zeros(k.shape)  # the state before the first trial is known, so nothing varies with it
    smooth, smooth_spread = mean.copy(), spread.copy()
    for t in range(n_trials - 2, -1, -1):  # backward: what later trials say
        gain = spread[:, t] / prior[:, t + 1]
        smooth[:, t] = mean[:, t] + gain * (smooth[:, t + 1] - mean[:, t])
        smooth_spread[:, t] = spread[:, t] + gain**2 * (smooth_spread[:, t + 1] - prior[:, t + 1])
        cross[:, t + 1] = gain * smooth_spread[:, t + 1]
    return smooth, smooth_spread, cross
