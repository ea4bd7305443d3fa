"""Limbs to a field on a grid: negative inside, positive outside, limbs blended where they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar.images.objects.shapes import Limb

CELLS = 76  # along the longest side of an object
BLEND = 0.07  # how far a limb flows into what it grows from, where a body is about 1 long
FAR = 1e3  # the field where no limb is near


@dataclass(frozen=True, eq=False)
class Field:
    """values: (x, y, z) float32 at the points origin + cell · (i, j, k); the surface is where it is 0."""

    values: np.ndarray
    origin: np.ndarray
    cell: float


def field(limbs: Sequence[Limb], *, cells: int = CELLS, blend: float = BLEND) -> Field:
    """The field of an object: about the distance from its surface, near it, and FAR elsewhere.

    cells: along the longest side of its box; blend: see BLEND, 0 for a plain union.
    """
    reach = [float(limb.radius.max()) * (1 + limb.depth * (limb.flutes > 0)) for limb in limbs]
    low = np.min([limb.points.min(axis=0) - r for limb, r in zip(limbs, reach, strict=True)], axis=0)
    high = np.max([limb.points.max(axis=0) + r for limb, r in zip(limbs, reach, strict=True)], axis=0)
    cell = float((high - low).max()) / cells
    origin = low - 3 * cell  # so that the surface never touches the border
    counts = np.ceil((high - low) / cell).astype(int) + 7
    total = np.full(counts, FAR, np.float32)
    band = blend + 2.5 * cell
    for limb, r in zip(limbs, reach, strict=True):
        first = np.maximum(((limb.points.min(axis=0) - r - band - origin) / cell).astype(int), 0)
        last = np.minimum(((limb.points.max(axis=0) + r + band - origin) / cell).astype(int) + 2, counts)
        own = np.full(last - first, FAR, np.float32)
        _tube(
            own, origin + first * cell, cell, limb.points, limb.sides, limb.radius,
            limb.flat, limb.flutes, limb.depth, limb.twist, band,
        )  # fmt: skip
        part = total[tuple(slice(a, b) for a, b in zip(first, last, strict=True))]
        _blended(part, own, blend)
    return Field(total, origin, cell)


@njit(cache=True)
def _tube(
    out: np.ndarray,
    origin: np.ndarray,
    cell: float,
    points: np.ndarray,
    sides: np.ndarray,
    radius: np.ndarray,
    flat: float,
    flutes: int,
    depth: float,
    twist: float,
    band: float,
) -> None:
    """The field of one limb, written where it is below the band."""
    n = len(points) - 1
    for s in range(n):
        ax, ay, az = points[s]
        dx, dy, dz = points[s + 1] - points[s]
        length = max((dx * dx + dy * dy + dz * dz) ** 0.5, 1e-9)
        dx, dy, dz = dx / length, dy / length, dz / length
        sx, sy, sz = sides[s]
        wx, wy, wz = dy * sz - dz * sy, dz * sx - dx * sz, dx * sy - dy * sx
        reach = max(radius[s], radius[s + 1]) * (1 + depth * (flutes > 0)) + band
        low, high = np.empty(3, np.int64), np.empty(3, np.int64)
        for axis in range(3):
            a, b = points[s, axis], points[s + 1, axis]
            low[axis] = max(0, int(np.ceil((min(a, b) - reach - origin[axis]) / cell)))
            high[axis] = min(out.shape[axis], int(np.floor((max(a, b) + reach - origin[axis]) / cell)) + 1)
        for i in range(low[0], high[0]):
            px = origin[0] + i * cell - ax
            for j in range(low[1], high[1]):
                py = origin[1] + j * cell - ay
                for k in range(low[2], high[2]):
                    pz = origin[2] + k * cell - az
                    along = min(max((px * dx + py * dy + pz * dz) / length, 0.0), 1.0)
                    qx, qy, qz = px - along * length * dx, py - along * length * dy, pz - along * length * dz
                    squared = qx * qx + qy * qy + qz * qz
                    if squared > reach * reach:
                        continue
                    r = radius[s] + along * (radius[s + 1] - radius[s])
                    distance = squared**0.5
                    if flat < 1.0 or flutes > 0:
                        x, y = qx * sx + qy * sy + qz * sz, qx * wx + qy * wy + qz * wz
                        if flutes > 0:
                            angle = np.arctan2(y, x) - twist * (s + along) / n
                            # no ridges on the axis itself, where the angle means nothing
                            r *= 1 + depth * np.cos(flutes * angle) * min(1.0, (x * x + y * y) / (0.25 * r * r + 1e-12))
                        if flat < 1.0:  # squeezed across its side: distances there count for more
                            distance = (squared + x * x * (1 / (flat * flat) - 1)) ** 0.5
                            value = (distance - r) * (flat + (1 - flat) * abs(y) / (squared**0.5 + 1e-9))
                        else:
                            value = distance - r
                    else:
                        value = distance - r
                    if value < out[i, j, k]:
                        out[i, j, k] = value


@njit(cache=True)
def _blended(total: np.ndarray, own: np.ndarray, blend: float) -> None:
    """total becomes the smooth minimum of both: lower than either by at most blend / 4, where they are equal."""
    for i in range(own.shape[0]):
        for j in range(own.shape[1]):
            for k in range(own.shape[2]):
                a, b = total[i, j, k], own[i, j, k]
                closeness = max(blend - abs(a - b), 0.0)
                total[i, j, k] = min(a, b) - (closeness * closeness / (4 * blend) if closeness > 0 else 0.0)
