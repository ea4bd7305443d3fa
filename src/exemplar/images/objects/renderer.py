"""Meshes to grey images: orthographic z-buffer, light at every vertex, four samples a pixel; one thread, about a ms."""

from __future__ import annotations

import numpy as np
from numba import njit

from exemplar.images.objects.meshes import Mesh

# Towards the light, in the camera's frame: x right, y up, z to the viewer.
KEY = np.array([-0.46, 0.66, 0.60]) / np.linalg.norm([-0.46, 0.66, 0.60])
FILL = np.array([0.85, -0.2, 0.48]) / np.linalg.norm([0.85, -0.2, 0.48])
AMBIENT, DIFFUSE, FILLING, GLOSS, SHARPNESS = 0.13, 0.75, 0.12, 0.24, 24.0


def draw(
    mesh: Mesh, rotation: np.ndarray, *, scale: float, centre: tuple[float, float], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Light (size, size) float32 in [0, 1], times coverage (size, size) float32, and that coverage: what to add to a
    background weakened by 1 − coverage.

    rotation: (3, 3), the object's frame to the camera's; scale: px a unit; centre: x, y in px (right, down, the first
    pixel's middle at .5, .5) of the object's origin.
    """
    n = len(mesh.vertices)
    seen = np.empty((n, 3), np.float32)
    light = np.empty(n, np.float32)
    _seen(
        mesh.vertices, mesh.normals, mesh.sky, np.ascontiguousarray(rotation, np.float32), 2.0 * scale,
        2.0 * centre[0], 2.0 * centre[1], KEY, FILL, seen, light,
    )  # fmt: skip
    out, cover = np.zeros((size, size), np.float32), np.zeros((size, size), np.float32)
    _raster(seen, light, mesh.triangles, out, cover)
    return out, cover


def illuminate(normals: np.ndarray, sky: np.ndarray) -> np.ndarray:
    """Light in [0, 1] that a surface sends to the camera. normals: (n, 3) unit, camera's frame; sky: (n,) in [0, 1], the
    share of the sky that each point sees."""
    n = len(normals)
    light, seen = np.empty(n, np.float32), np.empty((n, 3), np.float32)
    _seen(
        np.zeros((n, 3), np.float32), normals.astype(np.float32), sky.astype(np.float32), np.eye(3, dtype=np.float32),
        1.0, 0.0, 0.0, KEY, FILL, seen, light,
    )  # fmt: skip
    return light


@njit(cache=True)
def _seen(
    vertices: np.ndarray,
    normals: np.ndarray,
    sky: np.ndarray,
    rotation: np.ndarray,
    scale: float,
    cx: float,
    cy: float,
    key: np.ndarray,
    fill: np.ndarray,
    seen: np.ndarray,
    light: np.ndarray,
) -> None:
    """Each vertex's place among the samples (x right, y down, z to the viewer) and its light."""
    r = rotation
    half = key + np.array([0.0, 0.0, 1.0])
    half /= (half * half).sum() ** 0.5
    for i in range(len(vertices)):
        x, y, z = vertices[i]
        seen[i, 0] = cx + scale * (r[0, 0] * x + r[0, 1] * y + r[0, 2] * z)
        seen[i, 1] = cy - scale * (r[1, 0] * x + r[1, 1] * y + r[1, 2] * z)
        seen[i, 2] = scale * (r[2, 0] * x + r[2, 1] * y + r[2, 2] * z)
        x, y, z = normals[i]
        nx, ny = r[0, 0] * x + r[0, 1] * y + r[0, 2] * z, r[1, 0] * x + r[1, 1] * y + r[1, 2] * z
        nz = r[2, 0] * x + r[2, 1] * y + r[2, 2] * z
        open_ = sky[i]
        direct = max(nx * key[0] + ny * key[1] + nz * key[2], 0.0)
        side = max(nx * fill[0] + ny * fill[1] + nz * fill[2], 0.0)
        glint = max(nx * half[0] + ny * half[1] + nz * half[2], 0.0) ** SHARPNESS
        # Light reaches into hollows as far as the sky does: stands in for cast shadows.
        level = AMBIENT * open_ + open_ * (DIFFUSE * direct + FILLING * side + GLOSS * glint)
        light[i] = min(level, 1.0)


@njit(cache=True)
def _raster(seen: np.ndarray, light: np.ndarray, triangles: np.ndarray, out: np.ndarray, cover: np.ndarray) -> None:
    """Samples lie twice as dense as pixels, each way; of what covers a sample the nearest counts. seen is in samples."""
    height, width = 2 * out.shape[0], 2 * out.shape[1]
    # Only the box around the object has samples.
    left, right = max(0, int(np.floor(seen[:, 0].min()))), min(width, int(np.ceil(seen[:, 0].max())) + 1)
    top, bottom = max(0, int(np.floor(seen[:, 1].min()))), min(height, int(np.ceil(seen[:, 1].max())) + 1)
    left, top, right, bottom = left // 2 * 2, top // 2 * 2, (right + 1) // 2 * 2, (bottom + 1) // 2 * 2
    if right <= left or bottom <= top:
        return
    depth = np.full((bottom - top, right - left), np.float32(-1e30), np.float32)
    level = np.zeros((bottom - top, right - left), np.float32)
    for t in range(len(triangles)):
        a, b, c = triangles[t]
        ax, ay, bx, by, cx, cy = seen[a, 0], seen[a, 1], seen[b, 0], seen[b, 1], seen[c, 0], seen[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area >= 0:  # its back is to us (y points down)
            continue
        x0 = max(left, int(np.ceil(min(ax, bx, cx) - 0.5)))
        x1 = min(right - 1, int(np.floor(max(ax, bx, cx) - 0.5)))
        y0 = max(top, int(np.ceil(min(ay, by, cy) - 0.5)))
        y1 = min(bottom - 1, int(np.floor(max(ay, by, cy) - 0.5)))
        if x0 > x1 or y0 > y1:
            continue
        inverse = np.float32(1.0) / area
        az, bz, cz = seen[a, 2], seen[b, 2], seen[c, 2]
        la, lb, lc = light[a], light[b], light[c]
        # Shares of b and c at a sample, and how they change from one sample to the next.
        b_dx, b_dy = (cy - ay) * inverse, (ax - cx) * inverse
        c_dx, c_dy = (ay - by) * inverse, (bx - ax) * inverse
        px, py = x0 + np.float32(0.5) - ax, y0 + np.float32(0.5) - ay
        row_b, row_c = px * b_dx + py * b_dy, px * c_dx + py * c_dy
        for y in range(y0, y1 + 1):
            share_b, share_c = row_b, row_c
            for x in range(x0, x1 + 1):
                if share_b >= 0 and share_c >= 0 and share_b + share_c <= 1:
                    z = az + share_b * (bz - az) + share_c * (cz - az)
                    if z > depth[y - top, x - left]:
                        depth[y - top, x - left] = z
                        level[y - top, x - left] = la + share_b * (lb - la) + share_c * (lc - la)
                share_b += b_dx
                share_c += c_dx
            row_b += b_dy
            row_c += c_dy
    for y in range(0, bottom - top, 2):
        for x in range(0, right - left, 2):
            total, count = np.float32(0.0), 0
            for dy in range(2):
                for dx in range(2):
                    if depth[y + dy, x + dx] > np.float32(-1e29):
                        total += level[y + dy, x + dx]
                        count += 1
            if count:
                out[(y + top) // 2, (x + left) // 2] = total * np.float32(0.25)
                cover[(y + top) // 2, (x + left) // 2] = count * np.float32(0.25)
