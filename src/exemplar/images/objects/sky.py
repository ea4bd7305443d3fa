"""How much of the sky each point of a surface sees: hollows are darker, which shows a shape better than any one light."""

from __future__ import annotations

import numpy as np
from numba import njit

N_DIRECTIONS = 48  # from which light may come
MAP = 128  # px of the depth map that tells what a direction reaches


def open_sky(vertices: np.ndarray, normals: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n,) float32: the share of an even sky, weighted by the cosine to the normal, that nothing hides from a vertex."""
    k = np.arange(N_DIRECTIONS) + 0.5
    height, turn = 1 - 2 * k / N_DIRECTIONS, np.pi * (1 + 5**0.5) * k
    ring = np.sqrt(1 - height**2)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1).astype(np.float32)
    return _open(vertices, normals, triangles, directions, MAP)


@njit(cache=True)
def _open(
    vertices: np.ndarray, normals: np.ndarray, triangles: np.ndarray, directions: np.ndarray, size: int
) -> np.ndarray:
    """One depth map a direction, of vertices and triangle middles, which lie denser than its pixels."""
    n = len(vertices)
    seen, possible = np.zeros(n, np.float32), np.full(n, np.float32(1e-6))
    x, y = np.empty(n, np.int64), np.empty(n, np.int64)
    z = np.empty(n, np.float32)
    for d in range(len(directions)):
        dx, dy, dz = directions[d]
        if abs(dz) < 0.9:
            ux, uy, uz = -dy, dx, np.float32(0)
        else:
            ux, uy, uz = np.float32(0), -dz, dy
        norm = (ux * ux + uy * uy + uz * uz) ** np.float32(0.5)
        ux, uy, uz = ux / norm, uy / norm, uz / norm
        vx, vy, vz = dy * uz - dz * uy, dz * ux - dx * uz, dx * uy - dy * ux
        depth = np.full((size, size), np.float32(-9))
        half = np.float32(size / 2.1)
        for i in range(n):
            px, py, pz = vertices[i]
            x[i] = int(size / 2 + half * (ux * px + uy * py + uz * pz))
            y[i] = int(size / 2 + half * (vx * px + vy * py + vz * pz))
            z[i] = dx * px + dy * py + dz * pz
            depth[y[i], x[i]] = max(depth[y[i], x[i]], z[i])
        for t in range(len(triangles)):
            a, b, c = triangles[t]
            mx, my = (x[a] + x[b] + x[c]) // 3, (y[a] + y[b] + y[c]) // 3
            depth[my, mx] = max(depth[my, mx], (z[a] + z[b] + z[c]) / 3)
        for i in range(n):
            facing = normals[i, 0] * dx + normals[i, 1] * dy + normals[i, 2] * dz
            if facing > 0:
                possible[i] += facing
                if z[i] > depth[y[i], x[i]] - np.float32(0.06):
                    seen[i] += facing
    return seen / possible
