"""Maps of many drawings on a plane such that neighbours stay neighbours: t-SNE (van der Maaten and Hinton 2008), exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar.draw.measures.neighbours import distances
from exemplar.errors import UserError


@dataclass(frozen=True)
class MapConfig:
    """perplexity: how many neighbours count, about; steps: of descent, the first early_steps with affinities exaggerated."""

    perplexity: float = 30.0
    steps: int = 600
    early_steps: int = 150
    exaggeration: float = 12.0


DEFAULT = MapConfig()


def flat_map(features: np.ndarray, config: MapConfig = DEFAULT) -> np.ndarray:
    """(n, d) → (n, 2) float64. It begins with the two principal components, so nothing about it is random."""
    n = len(features)
    if n <= 3 * config.perplexity:
        raise UserError(
            f"a map of {n} drawings needs a perplexity below {n / 3:.0f}, not {config.perplexity:g}: give more drawings"
        )
    shared = affinities(distances(features, features).astype(np.float64) ** 2, config.perplexity)
    centred = features - features.mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    axes *= np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
    place = centred @ axes.T
    place *= 1e-4 / place[:, 0].std()
    rate = max(n / config.exaggeration / 4, 50.0)
    step, gain = np.zeros_like(place), np.ones_like(place)
    for number in range(config.steps):
        early = number < config.early_steps
        slope = _slope(shared, place, config.exaggeration if early else 1.0)
        gain = np.maximum(np.where(np.sign(slope) == np.sign(step), gain * 0.8, gain + 0.2), 0.01)
        step = (0.5 if early else 0.8) * step - rate * gain * slope
        place = place + step
    return place - place.mean(axis=0)


def affinities(squared: np.ndarray, perplexity: float) -> np.ndarray:
    """(n, n) squared distances → (n, n) float32 that sum to 1, symmetric: Gaussians whose widths give each row the same
    perplexity (found by bisection), each pair's two averaged."""
    n = len(squared)
    apart = squared + np.diag(np.full(n, np.inf))
    apart = apart - apart.min(axis=1, keepdims=True)  # the nearest at 0: nothing underflows
    scale = np.where(np.isfinite(apart), apart, 0).mean(axis=1, keepdims=True) + 1e-300
    low, high = np.full((n, 1), 1e-6) / scale, np.full((n, 1), 1e6) / scale
    finite = np.where(np.isfinite(apart), apart, 0)
    for _ in range(60):
        middle = np.sqrt(low * high)
        weight = np.exp(-middle * apart)
        total = weight.sum(axis=1, keepdims=True)
        entropy = np.log(total) + middle * (weight * finite).sum(axis=1, keepdims=True) / total
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    share = weight / total
    return ((share + share.T) / (2 * n)).astype(np.float32)


@njit(cache=True)
def _slope(shared: np.ndarray, place: np.ndarray, exaggeration: float) -> np.ndarray:
    """(n, 2): the gradient of the divergence, 4 Σ (p − q) (y − y′) / (1 + |y − y′|²)."""
    n = len(place)
    pull, push, total = np.zeros((n, 2)), np.zeros((n, 2)), 0.0
    for i in range(n):
        for j in range(i):
            across, up = place[i, 0] - place[j, 0], place[i, 1] - place[j, 1]
            near = 1.0 / (1.0 + across * across + up * up)
            total += 2.0 * near
            near_p, near_q = near * shared[i, j], near * near
            pull[i, 0] += near_p * across
            pull[i, 1] += near_p * up
            pull[j, 0] -= near_p * across
            pull[j, 1] -= near_p * up
            push[i, 0] += near_q * across
            push[i, 1] += near_q * up
            push[j, 0] -= near_q * across
            push[j, 1] -= near_q * up
    return 4.0 * (exaggeration * pull - push / total)
