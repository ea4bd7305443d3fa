"""A field's surface as a closed mesh: a vertex for each sheet of surface in a cell, a quad around each crossed edge.

The tables of how a surface may pass through a cell are derived, not typed in: on each face of the cell the crossed edges
are joined in pairs, so that two inside corners across a face stay apart, and the pairs are followed around into loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from exemplar.images.objects.fields import Field
from exemplar.images.objects.sky import open_sky

TINY = np.float32(-1e-6)  # as little inside as can be

# Corner c of a cell lies at (c & 1, c >> 1 & 1, c >> 2); edge 4 · axis + k runs along the axis, k counting its places.
EDGES = tuple(
    (corner, corner | 1 << axis) for axis in range(3) for corner in range(8) if not corner >> axis & 1
)  # (12, 2) corners


@dataclass(frozen=True, eq=False)
class Mesh:
    """vertices: (n, 3) float32, the smallest ball around them has centre 0 and radius about 1; normals: (n, 3) float32,
    unit, outwards; sky: (n,) float32 in [0, 1], how open each vertex lies; triangles: (m, 3) int32, counter-clockwise
    seen from outside; hull: (k,) the vertices of its convex hull, which alone decide how large it looks."""

    vertices: np.ndarray
    normals: np.ndarray
    sky: np.ndarray
    triangles: np.ndarray
    hull: np.ndarray


def mesh(field: Field) -> Mesh:
    """The largest connected piece of the field's surface, centred and brought to radius 1."""
    from scipy.spatial import ConvexHull

    counts, loop_of = loops()
    values = field.values.copy()
    while _joined(values):
        pass
    vertices, quads = _extracted(values, counts, loop_of)
    vertices = _settled(field.values, vertices)
    normals = _gradients(field.values, vertices)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    vertices, normals, quads = _largest(vertices, normals, quads)
    hull = ConvexHull(vertices).vertices
    centre, radius = _ball(vertices[hull])
    vertices = ((vertices - centre) / radius).astype(np.float32)
    triangles = _split(vertices, quads)
    normals = normals.astype(np.float32)
    return Mesh(vertices, normals, open_sky(vertices, normals, triangles), triangles, hull)


@lru_cache(maxsize=1)
def loops() -> tuple[np.ndarray, np.ndarray]:
    """For each of the 256 patterns of corners inside (bit c for corner c): (256,) how many loops of crossed edges the
    surface makes in the cell, and (256, 12) int8 the loop of each edge, −1 where it is not crossed."""
    counts, loop_of = np.zeros(256, np.int64), np.full((256, 12), -1, np.int8)
    faces = [_face(axis, side) for axis in range(3) for side in range(2)]
    for pattern in range(256):
        inside = [bool(pattern >> corner & 1) for corner in range(8)]
        joined: dict[int, list[int]] = {}
        for corners in faces:
            for first, second in _pairs(corners, inside):
                joined.setdefault(first, []).append(second)
                joined.setdefault(second, []).append(first)
        left = set(joined)
        while left:
            reached = [min(left)]
            while reached:
                edge = reached.pop()
                if edge in left:
                    left.discard(edge)
                    loop_of[pattern, edge] = counts[pattern]
                    reached += joined[edge]
            counts[pattern] += 1
    return counts, loop_of


def _face(axis: int, side: int) -> list[int]:
    """The corners of a face, in order around it."""
    u, v = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
    return [(side << axis) | corner for corner in (0, u, u | v, v)]


def _pairs(corners: list[int], inside: list[bool]) -> list[tuple[int, int]]:
    """The crossed edges of a face, joined in pairs: each pair cuts off a run of inside corners."""
    places = {frozenset(edge): number for number, edge in enumerate(EDGES)}
    around = [places[frozenset((corners[k], corners[(k + 1) % 4]))] for k in range(4)]
    into = [k for k in range(4) if not inside[corners[k]] and inside[corners[(k + 1) % 4]]]
    pairs = []
    for k in into:
        end = next(m for m in range(1, 4) if not inside[corners[(k + 1 + m) % 4]])
        pairs.append((around[k], around[(k + end) % 4]))
    return pairs


@njit(cache=True)
def _joined(values: np.ndarray) -> int:
    """Where two inside corners lie across a face, the nearer of its outside corners becomes inside; returns how many did.

    Once there are none left, no two sheets share a face, and every edge of the mesh has exactly two triangles.
    """
    nx, ny, nz = values.shape
    n = 0
    step = np.eye(3, dtype=np.int64)
    for axis in range(3):
        u, v = step[(axis + 1) % 3], step[(axis + 2) % 3]
        for i in range(nx - u[0] - v[0]):
            for j in range(ny - u[1] - v[1]):
                for k in range(nz - u[2] - v[2]):
                    a, c = values[i, j, k], values[i + u[0] + v[0], j + u[1] + v[1], k + u[2] + v[2]]
                    if (a < 0) != (c < 0):
                        continue
                    b, d = values[i + u[0], j + u[1], k + u[2]], values[i + v[0], j + v[1], k + v[2]]
                    if (b < 0) != (d < 0) or (a < 0) == (b < 0):
                        continue
                    n += 1
                    if a < 0:
                        nearer = u if b < d else v
                        values[i + nearer[0], j + nearer[1], k + nearer[2]] = min(-0.1 * min(b, d), TINY)
                    elif a < c:
                        values[i, j, k] = min(-0.1 * a, TINY)
                    else:
                        values[i + u[0] + v[0], j + u[1] + v[1], k + u[2] + v[2]] = min(-0.1 * c, TINY)
    return n


@njit(cache=True)
def _extracted(values: np.ndarray, counts: np.ndarray, loop_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in cells, each the mean of where the surface crosses its loop's edges; quads (m, 4), in order."""
    nx, ny, nz = values.shape
    pattern = np.zeros((nx - 1, ny - 1, nz - 1), np.uint8)
    first = np.zeros((nx - 1, ny - 1, nz - 1), np.int32)
    n = 0
    for i in range(nx - 1):
        for j in range(ny - 1):
            for k in range(nz - 1):
                bits = 0
                for corner in range(8):
                    if values[i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)] < 0:
                        bits |= 1 << corner
                pattern[i, j, k] = bits
                first[i, j, k] = n
                n += counts[bits]
    sums, crossed = np.zeros((n, 3), np.float64), np.zeros(n, np.int64)
    n_quads = 0
    quads = np.empty((2 * n + 64, 4), np.int32)
    step = np.eye(3, dtype=np.int64)
    for axis in range(3):
        u, v = step[(axis + 1) % 3], step[(axis + 2) % 3]
        du, dv, da = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3, step[axis]
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                for k in range(1, nz - 1):
                    a, b = values[i, j, k], values[i + da[0], j + da[1], k + da[2]]
                    if (a < 0) == (b < 0):
                        continue
                    share = a / (a - b)
                    for q in range(4):  # the four cells around the edge, in order
                        back_u, back_v = q in (1, 2), q in (2, 3)
                        ci = i - back_u * u[0] - back_v * v[0]
                        cj = j - back_u * u[1] - back_v * v[1]
                        ck = k - back_u * u[2] - back_v * v[2]
                        corner = back_u * du + back_v * dv
                        low = corner & ((1 << axis) - 1)  # the edge's number: its corner's bits without the axis
                        edge = 4 * axis + (low | (corner >> (axis + 1)) << axis)
                        vertex = first[ci, cj, ck] + loop_of[pattern[ci, cj, ck], edge]
                        quads[n_quads, q if a < 0 else 3 - q] = vertex
                        sums[vertex, 0] += i + share * da[0]
                        sums[vertex, 1] += j + share * da[1]
                        sums[vertex, 2] += k + share * da[2]
                        crossed[vertex] += 1
                    n_quads += 1
    for vertex in range(n):
        sums[vertex] /= crossed[vertex]
    return sums, quads[:n_quads]


@njit(cache=True)
def _at(values: np.ndarray, x: float, y: float, z: float) -> float:
    """The field between the grid's points, trilinear."""
    i, j, k = int(x), int(y), int(z)
    total = 0.0
    for corner in range(8):
        di, dj, dk = corner & 1, corner >> 1 & 1, corner >> 2
        weight = (x - i if di else 1 - x + i) * (y - j if dj else 1 - y + j) * (z - k if dk else 1 - z + k)
        total += weight * values[i + di, j + dj, k + dk]
    return total


@njit(cache=True)
def _gradients(values: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """(n, 3): which way the field grows at each vertex, over a whole cell so that shading is smooth."""
    out = np.empty_like(vertices)
    for n in range(len(vertices)):
        x, y, z = vertices[n]
        out[n, 0] = _at(values, x + 0.7, y, z) - _at(values, x - 0.7, y, z)
        out[n, 1] = _at(values, x, y + 0.7, z) - _at(values, x, y - 0.7, z)
        out[n, 2] = _at(values, x, y, z + 0.7) - _at(values, x, y, z - 0.7)
    return out


def _settled(values: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Vertices moved onto the surface along the field's slope, by at most 0.6 cells: means of points on it lie off it."""
    for _ in range(2):
        slope = _gradients(values, vertices) / 1.4
        height = _heights(values, vertices)
        move = -height[:, None] * slope / np.maximum((slope**2).sum(axis=1, keepdims=True), 1e-12)
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-12)
        vertices = vertices + move * np.minimum(1, 0.3 / length)
    return vertices


@njit(cache=True)
def _heights(values: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    out = np.empty(len(vertices))
    for n in range(len(vertices)):
        out[n] = _at(values, vertices[n, 0], vertices[n, 1], vertices[n, 2])
    return out


def _largest(vertices: np.ndarray, normals: np.ndarray, quads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The connected piece with the most vertices: crumbs that a thin tip may leave behind are dropped."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = (np.ones(3 * len(quads), bool), (quads[:, :3].ravel(), quads[:, 1:].ravel()))
    piece = connected_components(coo_array(links, shape=(len(vertices),) * 2), directed=False)[1]
    kept = piece == np.bincount(piece).argmax()
    number = np.cumsum(kept) - 1
    return vertices[kept], normals[kept], number[quads[kept[quads[:, 0]]]]


def _split(vertices: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """(2 · len(quads), 3) int32: each quad cut along its shorter diagonal."""
    a, b, c, d = quads.T
    other = np.linalg.norm(vertices[b] - vertices[d], axis=1) < np.linalg.norm(vertices[a] - vertices[c], axis=1)
    first = np.where(other, [a, b, d], [a, b, c]).T
    second = np.where(other, [b, c, d], [a, c, d]).T
    return np.stack([first, second], axis=1).reshape(-1, 3).astype(np.int32)


def _ball(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of nearly the smallest ball around points (k, 3): the centre goes towards whichever point is
    farthest, each time a smaller part of the way."""
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    for step in 0.1 * 0.98 ** np.arange(350):
        away = points - centre
        centre = centre + step * away[(away**2).sum(axis=1).argmax()]
    return centre, float(np.linalg.norm(points - centre, axis=1).max())
