"""How an object is turned, and the smallest circle around what is then seen of it."""

from __future__ import annotations

import numpy as np
from numba import njit


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """(3, 3): every rotation is equally likely (a normalised quaternion of four normal numbers is uniform)."""
    w, x, y, z = (q := rng.standard_normal(4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def turned(axis: int, degrees: float) -> np.ndarray:
    """(3, 3): a turn about the camera's axis 0 (horizontal), 1 (vertical) or 2 (towards the viewer), counter-clockwise
    seen from its positive end."""
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    matrix = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first], matrix[first, second], matrix[second, first], matrix[second, second] = c, -s, s, c
    return matrix


@njit(cache=True)
def smallest_circle(points: np.ndarray) -> tuple[float, float, float]:
    """x, y and radius of the smallest circle around points (k, 2), k ≥ 1.

    The circle of at most three points grows: the point farthest outside joins, and of the four the smallest circle
    around them all decides which stay. The radius rises each time, so it ends.
    """
    held = np.empty((4, 2))
    held[0] = points[0]
    n_held = 1
    x, y, radius = points[0, 0], points[0, 1], 0.0
    for _ in range(len(points) + 8):
        far, worst = 0, -1.0
        for k in range(len(points)):
            distance = (points[k, 0] - x) ** 2 + (points[k, 1] - y) ** 2
            if distance > worst:
                far, worst = k, distance
        if worst**0.5 <= radius * (1 + 1e-9) + 1e-12:
            break
        held[n_held, 0], held[n_held, 1] = points[far, 0], points[far, 1]
        n_held += 1
        x, y, radius, n_held = _around(held, n_held)
    return x, y, radius


@njit(cache=True)
def _around(held: np.ndarray, n: int) -> tuple[float, float, float, int]:
    """The smallest circle around the first n ≤ 4 points held, and how many of them it rests on; these come first then."""
    best = (0.0, 0.0, np.inf, -1, -1, -1)
    for i in range(n):
        for j in range(i):
            for k in range(j + 1):  # k = j: the circle whose diameter runs from i to j
                ax, ay = held[i]
                bx, by = held[j] - held[i]
                cx, cy = held[k] - held[i]
                if k == j:
                    ox, oy = bx / 2, by / 2
                else:
                    area = 2 * (bx * cy - by * cx)
                    if abs(area) < 1e-18:
                        continue
                    b, c = bx * bx + by * by, cx * cx + cy * cy
                    ox, oy = (cy * b - by * c) / area, (bx * c - cx * b) / area
                radius = (ox * ox + oy * oy) ** 0.5
                if radius < best[2]:
                    inside = True
                    for m in range(n):
                        away = ((held[m, 0] - ax - ox) ** 2 + (held[m, 1] - ay - oy) ** 2) ** 0.5
                        inside = inside and away <= radius * (1 + 1e-9) + 1e-12
                    if inside:
                        best = (ax + ox, ay + oy, radius, i, j, k)
    x, y, radius, i, j, k = best
    first, second, third = held[i].copy(), held[j].copy(), held[k].copy()
    held[0], held[1], held[2] = first, second, third
    return x, y, radius, 2 if j == k else 3
