"""Who lives next door in a critic's space: copies, and precision, recall, density and coverage by nearest neighbours.

drawn: (k, n, d), an agent's drawings; real: (k, m, d), people's of the same concepts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from exemplar.errors import UserError

PART = 1024  # drawings compared with a pool at once
ROUNDING = 1e-12  # of a squared distance, relative to the squared lengths: what is nearer than this is the same place


@dataclass(frozen=True, eq=False)
class Overlap:
    """How an agent's drawings of each concept and people's cover each other.

    precision, density: (k, n), of each drawing; recall, coverage: (k, m), of each of people's. Their means over a concept
    are the scores. Where sides were halved, each number is the mean over the halves that held the drawing.
    """

    precision: np.ndarray
    density: np.ndarray
    recall: np.ndarray
    coverage: np.ndarray


def overlap(
    drawn: np.ndarray, real: np.ndarray, n_neighbours: int = 3, *, halves: tuple[np.ndarray, np.ndarray] | None = None
) -> Overlap:
    """Precision and recall (Kynkäänniemi et al. 2019), density and coverage (Naeem et al. 2020), concept by concept.

    A drawing's neighbourhood is the ball that reaches to its k-th nearest other drawing of the same side, rim included.
    precision: whether a drawing lies in some person's neighbourhood; density: in how many, over n_neighbours; recall: whether
    a person's drawing lies in some neighbourhood of the agent's; coverage: whether any of the agent's lies in hers.
    halves: (k, splits, h) places of drawn, and as many of real, to be compared instead of everything with everything.
    """
    k, n, m = len(drawn), drawn.shape[1], real.shape[1]
    whole = (np.tile(np.arange(n), (k, 1, 1)), np.tile(np.arange(m), (k, 1, 1)))
    theirs, people = whole if halves is None else halves
    fewest = min(theirs.shape[2], people.shape[2])
    if not 1 <= n_neighbours < fewest:
        raise UserError(
            f"{n_neighbours} neighbours cannot be found among {fewest} drawings: give 1 to {fewest - 1}, or more drawings"
        )
    found = Overlap(np.empty((k, n)), np.empty((k, n)), np.empty((k, m)), np.empty((k, m)))
    for place, (a, b, mine, hers) in enumerate(zip(drawn, real, theirs, people, strict=True)):
        across = distances(a, b)[mine[:, :, None], hers[:, None, :]]  # (splits, h, h)
        in_hers = across <= _reach(distances(b, b), hers, n_neighbours)[:, None, :]
        in_mine = across <= _reach(distances(a, a), mine, n_neighbours)[:, :, None]
        found.precision[place] = _mean_by_place(in_hers.any(axis=2), mine, n)
        found.density[place] = _mean_by_place(in_hers.sum(axis=2) / n_neighbours, mine, n)
        found.recall[place] = _mean_by_place(in_mine.any(axis=1), hers, m)
        found.coverage[place] = _mean_by_place(in_hers.any(axis=1), hers, m)
    return found


def nearest(drawn: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """(k, n): root-mean-square distance (over the d dimensions) of each drawing to the nearest of a pool (p, d)."""
    k, n, d = drawn.shape
    flat, there = torch.from_numpy(drawn.reshape(k * n, d)), torch.from_numpy(np.ascontiguousarray(pool, drawn.dtype))
    found = np.empty(k * n)
    for start in range(0, k * n, PART):
        part = flat[start : start + PART]
        closest = torch.cdist(part, there, compute_mode="use_mm_for_euclid_dist").argmin(1)
        # the fast product finds who is nearest, but its rounding would hide that a copy is at 0
        found[start : start + PART] = (part.double() - there[closest].double()).square().mean(1).sqrt().numpy()
    return found.reshape(k, n)


def copies(distance: np.ndarray, of_people: np.ndarray, level: float = 0.01) -> np.ndarray:
    """(k, n) 0 or 1: whether a drawing is as near to what it may copy as only a share `level` of people's drawings are.

    distance: (k, n) to the exemplar, or to the nearest training image; of_people: (k, m), the same of people's drawings. By
    construction about that share of people's own count as copies.
    """
    if not 0 < level < 1:
        raise UserError(f"the share {level} of people's drawings that count as copies must lie between 0 and 1")
    return (distance <= np.quantile(of_people, level)).astype(np.float64)


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, d), (m, d) → (n, m) float32, Euclidean; exactly 0 between equal rows, alike where distances are."""
    wide, other = a.astype(np.float64), b.astype(np.float64)
    size = np.square(wide).sum(axis=1)[:, None] + np.square(other).sum(axis=1)
    squared = size - 2 * (wide @ other.T)
    squared[squared < ROUNDING * size] = 0
    return np.sqrt(squared).astype(np.float32)


def _reach(within: np.ndarray, halves: np.ndarray, n_neighbours: int) -> np.ndarray:
    """(splits, h): in each half, how far each drawing's n_neighbours-th nearest other one is. within: (n, n) distances."""
    parts = within[halves[:, :, None], halves[:, None, :]]
    # the nearest is the drawing itself, at 0
    return np.partition(parts, n_neighbours, axis=2)[:, :, n_neighbours]


def _mean_by_place(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """(n,): the mean of the values at each place; of a place that never came up, the mean of all. values, places: (s, h)."""
    times = np.bincount(places.ravel(), minlength=n)
    total = np.bincount(places.ravel(), values.ravel(), minlength=n)
    return np.where(times > 0, total / np.maximum(times, 1), values.mean())
