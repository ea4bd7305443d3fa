"""Whether an agent can be told apart from the data's own drawers: its distance to them beside theirs to each other.

A distance is never negative, so noise alone makes it positive: two groups of people are some way apart. How far follows from
how much the drawers differ. All drawings by one drawer, of whatever concept, are resampled together.

The null: the agent's drawings are a new group's of the same drawers. Its distances are simulated from that noise, at the same
number of drawings, and p is the share of them that are as large as the agent's.

In the arrays here `plane` is (s, k, n, 2): of each drawing its two coordinates, z-scored, by each of s pairs of critics; a
concept's point is their mean over drawings. `hands` is (k, n) whole numbers: drawings of one number are by one hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N_NULL = 4999  # new groups of drawers that are simulated
LEVEL = 0.05
STEPS = 20  # halvings in search of the end of an interval


@dataclass(frozen=True, eq=False)
class Noise:
    """How uncertain a mean over concepts is on account of who drew. parts: (b, …), what each hand adds to the deviation of the
    mean; their sum of squares is its variance. free: how many of them are free to vary."""

    parts: np.ndarray
    free: float

    def draw(self, lots: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """(r, …) deviations of the mean. lots: (r, at least b) standard normal; scale: (r,) from `student_scale`."""
        drawn = np.tensordot(lots[:, : len(self.parts)], self.parts, axes=1)
        return drawn * scale.reshape(-1, *(1,) * (drawn.ndim - 1))


@dataclass(frozen=True, eq=False)
class NullDistance:
    """distance: the agent's; null: (r,) what it would be of new groups of the same drawers, as large; p: the share of these
    that are as large, the agent's counted among them."""

    distance: float
    null: np.ndarray
    p: float

    @property
    def limit(self) -> float:
        """95 % of new groups of the same drawers are nearer than this."""
        return float(np.quantile(self.null, 1 - LEVEL))


def null_words(p: float, them: str) -> str:
    """What the test says of an agent. them: people, or the simulated drawers."""
    if p < LEVEL:
        return f"farther from {them} than {them} are from each other"
    return f"not told apart from {them}"


def hand_noise(values: np.ndarray, hands: np.ndarray) -> Noise:
    """Of the mean over concepts and drawings, where every drawing of a hand is taken or left together.

    values: (s, k, n, …); hands: (k, n), from `known_hands` or `index_hands`. Where no hand drew two concepts, it is the sum of
    the concepts' own noise.
    """
    k, n = hands.shape
    _, hand, size = np.unique(hands, return_inverse=True, return_counts=True)
    hand = hand.reshape(k, n)
    per_concept = len(np.unique(hand + len(size) * np.arange(k)[:, None])) / k  # hands
    deviation = (values - values.mean(axis=2, keepdims=True)) / (k * n) * np.sqrt(per_concept / (per_concept - 1))
    columns = np.moveaxis(deviation, (1, 2), (-2, -1)).reshape(-1, k * n)
    summed = np.stack([np.bincount(hand.ravel(), column, len(size)) for column in columns], axis=1)
    parts = summed.reshape(len(size), *values.shape[:1], *values.shape[3:])
    # equal hands are all free but for the means of concepts; of unequal ones the few that drew most count
    squares = np.square(size.astype(float))
    effective = np.square(squares.sum()) / np.square(squares).sum()
    return Noise(parts, max(effective * (per_concept - 1) / per_concept, 1.0))


def known_hands(makers: np.ndarray) -> np.ndarray:
    """(k, n): the makers, or, where these were not told apart, the place among a concept's drawings, as `index_hands`."""
    unnamed = any(len(np.unique(row)) == 1 for row in makers)
    return index_hands(*makers.shape) if unnamed else makers


def index_hands(k: int, n: int) -> np.ndarray:
    """(k, n): the j-th drawings of all concepts are taken to be by one hand, where nobody says who drew."""
    return np.tile(np.arange(n), (k, 1))


def student_scale(free: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) what makes of normal numbers Student's: the noise itself is known from a few hands only."""
    return np.sqrt(free / rng.chisquare(free, n))


def compare_with_null(
    agent: np.ndarray,
    drawers: np.ndarray,
    hands: np.ndarray,
    shift: np.ndarray | float = 0.0,
    *,
    rng: np.random.Generator,
    n_null: int = N_NULL,
) -> NullDistance:
    """The agent's distance, mean over critics, among those of new groups of the same drawers, as large.

    agent, drawers: planes; hands: the drawers'; shift: (s, 2), where a new group is expected, seen from these drawers, whose
    most typical drawing is the exemplar and is not among the others. The noise of a new group is taken from the drawers, or
    from the agent where its own is larger: where the odd hand is among the agent's, the drawers do not show it.
    """
    theirs, own = hand_noise(drawers, hands), hand_noise(agent, index_hands(*hands.shape))
    new = own if np.square(own.parts).sum() > np.square(theirs.parts).sum() else theirs
    moved = np.zeros((n_null, agent.shape[0], 2)) + shift
    for noise in (theirs, new):
        moved += noise.draw(rng.standard_normal((n_null, len(noise.parts))), student_scale(noise.free, n_null, rng))
    null = np.hypot(*np.moveaxis(moved, -1, 0)).mean(axis=1)
    found = float(np.hypot(*np.moveaxis((agent - drawers).mean(axis=(1, 2)), -1, 0)).mean())
    return NullDistance(found, null, float((1 + (null >= found).sum()) / (1 + n_null)))


def distance_intervals(
    agent: np.ndarray, drawers: np.ndarray, hands: np.ndarray, lot: np.ndarray, *, rng: np.random.Generator
) -> np.ndarray:
    """(1 + s, 2): 95 % intervals of the true distance, of the mean over critics and by each; from 0 where it may be 0.

    An interval holds the true distances that would not often be found as large, or as small, as this one was: the agent is
    moved along the line to the drawers, and noise is added. Noise is over concepts, over the drawers' hands and the agent's
    (whose j-th drawings are taken to be one hand's), and, for the mean, over critics. lot: (r, s) in [0, 1), by which critics
    are drawn.
    """
    s, k, n = agent.shape[:3]
    moved = (agent - drawers).mean(axis=2)  # (s, k, 2)
    middle = moved.mean(axis=1)
    if not moved.any():
        return np.zeros((1 + s, 2))
    r = len(lot)
    concepts = Noise(np.moveaxis(moved - middle[:, None], 1, 0) / np.sqrt(k * (k - 1)), k - 1)
    error = concepts.draw(rng.standard_normal((r, k)), student_scale(concepts.free, r, rng))
    for side, whose in ((drawers, hands), (agent, index_hands(k, n))):
        error += _shared_noise(side, whose, r, rng)
    drawn = (lot[:, :s] * s).astype(np.intp)
    ends = [_invert(middle, error, drawn)]
    return np.array(ends + [_invert(middle[[c]], error[:, [c]], np.zeros((r, 1), np.intp)) for c in range(s)])


def shared_covariance(side: np.ndarray, hands: np.ndarray) -> tuple[np.ndarray, float]:
    """(2s, 2s), of the mean: what hands add beyond the noise of single drawings, which differences between concepts show
    already; and how many hands are free."""
    s, k, n = side.shape[:3]
    whole, alone = (hand_noise(side, who) for who in (hands, np.arange(k * n).reshape(k, n)))
    one, other = (noise.parts.reshape(-1, s * 2) for noise in (whole, alone))
    size, axes = np.linalg.eigh(one.T @ one - other.T @ other)
    return (axes * np.maximum(size, 0)) @ axes.T, whole.free


def _shared_noise(side: np.ndarray, hands: np.ndarray, r: int, rng: np.random.Generator) -> np.ndarray:
    """(r, s, 2)"""
    covariance, free = shared_covariance(side, hands)
    size, axes = np.linalg.eigh(covariance)
    shared = Noise((axes * np.sqrt(np.maximum(size, 0))).T.reshape(-1, len(side), 2), free)
    return shared.draw(rng.standard_normal((r, len(size))), student_scale(free, r, rng))


def _invert(middle: np.ndarray, error: np.ndarray, drawn: np.ndarray) -> tuple[float, float]:
    """The least and the largest true distance that fit. middle: (s, 2); error: (r, s, 2); drawn: (r, s) critics."""
    found = np.hypot(*middle.T).mean()
    if not found:
        return 0.0, float(np.quantile(_lengths(error, drawn), 1 - LEVEL))
    # so far away, it would never be found so near
    farthest = 1 + 6 * float(np.sqrt(np.square(error).sum(axis=2).mean())) / found

    def share(time: float, nearer: bool) -> float:
        """Of the replicates of an agent `time` times as far, those found as near as this one was, or as far."""
        lengths = _lengths(time * middle + error, drawn)
        return float((lengths <= found if nearer else lengths >= found).mean())

    low = 0.0 if share(0, False) >= LEVEL / 2 else _bisect(lambda time: share(time, False) < LEVEL / 2, 0, 1)
    high = _bisect(lambda time: share(time, True) >= LEVEL / 2, 0, farthest)
    return low * found, max(high, 1.0) * found


def _lengths(moved: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """(r, s, 2) → (r,): the mean distance over the critics drawn."""
    return np.take_along_axis(np.hypot(*np.moveaxis(moved, -1, 0)), drawn, axis=1).mean(axis=1)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where between the two `holds` stops to hold."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
