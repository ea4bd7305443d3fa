"""The strokes an invented alphabet is made of: lines, arcs, hooks, loops, zigzags, each a spline through a few knots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SPACING = 0.025  # between the points of a stroke, where a character is about 1 wide


@dataclass(frozen=True)
class Temper:
    """How an alphabet bends. roundness: 0 straight pieces with corners, 1 smooth; steps: knots in a quarter turn."""

    roundness: float
    steps: int


def _turn(temper: Temper, turn: float, shrink: float = 1.0) -> np.ndarray:
    """An arc of `turn` radians from (0, 0), first to the right and bending down; its radius shrinks to `shrink` of 1."""
    n = max(2, round(turn / (np.pi / 2) * temper.steps))
    angle = np.linspace(0, turn, n + 1)
    radius = np.linspace(1, shrink, n + 1)
    return np.stack([radius * np.sin(angle), 1 - radius * np.cos(angle)], axis=1)


def _line(temper: Temper, u: np.ndarray) -> np.ndarray:
    return np.array([[0.0, 0], [1, 0]])


def _bow(temper: Temper, u: np.ndarray) -> np.ndarray:
    return _turn(temper, np.pi * (0.5 + 0.2 * u[0]))


def _arch(temper: Temper, u: np.ndarray) -> np.ndarray:
    return _turn(temper, np.pi) * [0.7 + 0.9 * u[0], 1]


def _bowl(temper: Temper, u: np.ndarray) -> np.ndarray:
    return _turn(temper, np.pi * (1.35 + 0.3 * u[0])) * [0.8 + 0.5 * u[1], 1]


def _ring(temper: Temper, u: np.ndarray) -> np.ndarray:
    return _turn(temper, 2 * np.pi) * [0.75 + 0.5 * u[0], 1]


def _spiral(temper: Temper, u: np.ndarray) -> np.ndarray:
    return _turn(temper, np.pi * (2.2 + 0.6 * u[0]), shrink=0.25)[::-1]


def _cane(temper: Temper, u: np.ndarray) -> np.ndarray:
    """A stem that ends in an arch."""
    arch = _turn(temper, np.pi * (0.7 + 0.4 * u[0])) * (0.22 + 0.1 * u[1])
    return np.concatenate([[[-0.9, 0], [-0.45, 0]], arch])


def _loop(temper: Temper, u: np.ndarray) -> np.ndarray:
    """A stem that ends in a ring."""
    ring = _turn(temper, np.pi * 1.95) * (0.2 + 0.1 * u[0]) * [1.1, 1]
    return np.concatenate([[[-0.7 - 0.3 * u[1], 0], [-0.35, 0]], ring])


def _knot(temper: Temper, u: np.ndarray) -> np.ndarray:
    """A line that crosses itself and goes on."""
    ring = _turn(temper, np.pi * 1.9) * (0.24 + 0.08 * u[0])
    return np.concatenate([[[-0.6, 0.05], [-0.3, 0]], ring, [[0.3, 0.02], [0.6, 0.05]]])


def _ess(temper: Temper, u: np.ndarray) -> np.ndarray:
    """Two arcs that bend opposite ways."""
    arc = _turn(temper, np.pi * (0.75 + 0.35 * u[0])) * [1, 0.8 + 0.4 * u[1]]
    half = arc - arc[-1]
    return np.concatenate([half, -half[-2::-1]])


def _wave(temper: Temper, u: np.ndarray) -> np.ndarray:
    x = np.arange(4 * temper.steps + 1) / (4 * temper.steps)
    return np.stack([x, (0.17 + 0.12 * u[0]) * np.sin((2 + u[1] // 0.5) * np.pi * x)], axis=1)


def _humps(temper: Temper, u: np.ndarray) -> np.ndarray:
    """Two arches in a row, as in m."""
    angle = np.linspace(0, np.pi, 2 * temper.steps + 1)
    arch = np.stack([0.5 - 0.5 * np.cos(angle), (-0.5 - 0.5 * u[0]) * np.sin(angle)], axis=1)
    return np.concatenate([arch, arch[1:] + arch[-1]])


def _wedge(temper: Temper, u: np.ndarray) -> np.ndarray:
    return np.array([[0, 0], [0.35 + 0.4 * u[0], 0.5 + 0.4 * u[1]], [1, 0]])


def _corner(temper: Temper, u: np.ndarray) -> np.ndarray:
    return np.array([[0, 0], [0.5 + 0.5 * u[0], 0], [0.5 + 0.5 * u[0], 1]])


def _zed(temper: Temper, u: np.ndarray) -> np.ndarray:
    return np.array([[0, 0], [0.6 + 0.3 * u[0], 0], [0.1 * u[1], 0.9], [0.7 + 0.3 * u[0], 0.9]])


def _zigzag(temper: Temper, u: np.ndarray) -> np.ndarray:
    n = 3 + int(2 * u[0])
    return np.stack([np.arange(n + 1) / n, (0.4 + 0.3 * u[1]) * (np.arange(n + 1) % 2)], axis=1)


def _step(temper: Temper, u: np.ndarray) -> np.ndarray:
    return np.array([[0, 0], [0.45, 0], [0.45, 0.4 + 0.4 * u[0]], [1, 0.4 + 0.4 * u[0]]])


def _cup(temper: Temper, u: np.ndarray) -> np.ndarray:
    depth = 0.6 + 0.6 * u[0]
    return np.array([[0, 0], [0, depth], [0.6 + 0.4 * u[1], depth], [0.6 + 0.4 * u[1], 0.1]])


def _box(temper: Temper, u: np.ndarray) -> np.ndarray:
    side = 0.6 + 0.5 * u[0]
    return np.array([[0, 0], [side, 0], [side, 1], [0, 1], [0, 0]])


def _triangle(temper: Temper, u: np.ndarray) -> np.ndarray:
    return np.array([[0, 0], [0.9, 0.1 * u[0]], [0.45 + 0.3 * (u[1] - 0.5), 0.9], [0, 0]])


Shape = Callable[[Temper, np.ndarray], np.ndarray]
ROUND: tuple[Shape, ...] = (_bow, _arch, _bowl, _ring, _spiral, _cane, _loop, _knot, _ess, _wave, _humps)
ANGULAR: tuple[Shape, ...] = (_wedge, _corner, _zed, _zigzag, _step, _cup, _box, _triangle, _cane, _arch)
LINE: Shape = _line


def spline(knots: np.ndarray, roundness: float) -> np.ndarray:
    """knots: (k, 2) → (t, 2) about SPACING apart: between the polygon (roundness 0) and the Catmull–Rom spline (1)."""
    closed = len(knots) > 3 and np.allclose(knots[0], knots[-1])
    before, after = (knots[-2], knots[1]) if closed else (2 * knots[0] - knots[1], 2 * knots[-1] - knots[-2])
    padded = np.concatenate([[before], knots, [after]])
    longest = np.linalg.norm(np.diff(knots, axis=0), axis=1).max()
    n = max(2, int(np.ceil(2 * longest / SPACING)))
    s = (np.arange(n) / n)[:, None]
    p0, p1, p2, p3 = (padded[k : len(padded) - 3 + k, None] for k in range(4))  # (k − 1, 1, 2) each
    smooth = p1 + s * ((p2 - p0) + s * ((2 * p0 - 5 * p1 + 4 * p2 - p3) + s * (3 * (p1 - p2) + p3 - p0))) / 2
    straight = p1 + s * (p2 - p1)
    dense = (roundness * smooth + (1 - roundness) * straight).reshape(-1, 2)
    return evenly(np.concatenate([dense, knots[-1:]]))


def evenly(path: np.ndarray) -> np.ndarray:
    """path: (m, 2) → (t, 2) the same line, its points about SPACING apart along it, at least two."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    to = np.linspace(0, along[-1], max(2, round(along[-1] / SPACING) + 1))
    return np.stack([np.interp(to, along, path[:, 0]), np.interp(to, along, path[:, 1])], axis=1)
