"""Strokes to images: a round pen drawn with anti-aliasing, one thread, many thousand drawings per second.

However many, drawings are three arrays: `points` (p, 2) x, y; `strokes` (s + 1,) where each stroke begins in points;
`images` (n + 1,) where each image begins in strokes. A stroke of one point is a dot.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from exemplar.errors import UserError


def render(
    points: np.ndarray, strokes: np.ndarray, images: np.ndarray, *, size: tuple[int, int], width: float | np.ndarray
) -> np.ndarray:
    """Coverage of each pixel by the pen: (n, h, w) uint8, ink 255 on paper 0.

    points: (p, 2) float32, px, x to the right and y down, the centre of the first pixel at (.5, .5); what lies outside
    the frame is clipped. strokes: (s + 1,) int64 offsets into points; images: (n + 1,) int64 offsets into strokes.
    size: (h, w); width: the pen's diameter in px, one for all or (n,). A pen thinner than a pixel leaves lighter ink.
    """
    points, strokes, images = _checked(points, strokes, images)
    height, across = _checked_size(size)
    n = len(images) - 1
    pen = np.asarray(width, np.float64)
    if pen.shape not in ((), (n,)):
        raise UserError(f"{n} images need one pen width or {n} of them, these are {pen.shape}")
    if not (np.isfinite(pen).all() and (pen >= 0).all()):
        raise UserError("a pen's width must be a finite number of pixels, 0 or more")
    out = np.empty((n, height, across), np.uint8)
    _render(points, strokes, images, np.broadcast_to(pen / 2, (n,)).copy(), out)
    return out


def fit(
    points: np.ndarray, strokes: np.ndarray, images: np.ndarray, *, size: tuple[int, int], margin: float
) -> np.ndarray:
    """Each image's strokes scaled, aspect ratio kept, and centred so as to fill the frame: (p, 2) float32, px.

    points, strokes, images, size: as in `render`, points in any unit; margin: paper between the frame and the pen's
    middle, px (half the pen, and what should stay white). A drawing without extent becomes a dot in the middle.
    """
    points, strokes, images = _checked(points, strokes, images)
    frame = np.asarray(_checked_size(size)[::-1], np.float64)
    if not (margin >= 0 and 2 * margin < frame.min()):
        raise UserError(f"a margin of {margin} px leaves nothing of {size[0]} × {size[1]} px: give a smaller one")
    n = len(images) - 1
    owner = np.repeat(np.arange(n), np.diff(strokes[images]))
    low, high = np.full((n, 2), np.inf), np.full((n, 2), -np.inf)
    np.minimum.at(low, owner, points)
    np.maximum.at(high, owner, points)
    drawn = np.isfinite(low[:, :1])
    extent = np.where(drawn, high - low, 0)
    middle = np.where(drawn, low + extent / 2, 0)
    room = np.broadcast_to(frame - 2 * margin, extent.shape)
    ratio = np.divide(room, extent, out=np.full_like(extent, np.inf), where=extent > 0).min(axis=1)
    scale = np.where(np.isfinite(ratio), ratio, 0.0)
    return ((points - middle[owner]) * scale[owner, None] + frame / 2).astype(np.float32)


def _checked(points: np.ndarray, strokes: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three arrays as float32 and int64, or a UserError."""
    points = np.asarray(points)
    if points.ndim != 2 or points.shape[1] != 2 or points.dtype.kind not in "fiu":
        raise UserError(f"points must be (p, 2) numbers, x and y, these are {points.shape} {points.dtype}")
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, and is refused below
        points = np.ascontiguousarray(points, np.float32)
    if not np.isfinite(points).all():
        raise UserError("a stroke has a point that is not finite: drop NaN and infinite points first")
    strokes = _checked_offsets(strokes, len(points), "strokes", "points")
    return points, strokes, _checked_offsets(images, len(strokes) - 1, "images", "strokes")


def _checked_offsets(offsets: np.ndarray, n: int, kind: str, parts: str) -> np.ndarray:
    offsets = np.asarray(offsets)
    if offsets.ndim != 1 or len(offsets) == 0 or offsets.dtype.kind not in "iu":
        raise UserError(f"{kind} must be a row of whole numbers, offsets into {parts} that start with 0")
    offsets = np.ascontiguousarray(offsets, np.int64)
    if offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 0).any():
        raise UserError(
            f"{kind} must rise from 0 to the number of {parts}, {n}, these go from {offsets[0]} to {offsets[-1]}"
        )
    return offsets


def _checked_size(size: tuple[int, int]) -> tuple[int, int]:
    height, width = size
    if min(height, width) < 1:
        raise UserError(f"an image cannot be {height} × {width} px: give a size of at least 1")
    return height, width


@njit(cache=True)
def _render(points: np.ndarray, strokes: np.ndarray, images: np.ndarray, radius: np.ndarray, out: np.ndarray) -> None:
    """Per image: the squared distance from each pixel to the nearest segment, then coverage from distance."""
    height, width = out.shape[1:]
    nearest = np.empty((height, width), np.float64)
    for image in range(len(images) - 1):
        reach = radius[image] + 0.5  # further away than this a pixel gets no ink
        nearest[:] = reach * reach
        for stroke in range(images[image], images[image + 1]):
            first, last = strokes[stroke], strokes[stroke + 1] - 1
            for k in range(first, max(last, first + 1) if last >= first else first):
                _near_segment(nearest, points[k], points[min(k + 1, last)], reach)
        darkest = min(1.0, 2 * radius[image])  # a pen thinner than a pixel never covers one
        for y in range(height):
            for x in range(width):
                coverage = min(max(reach - np.sqrt(nearest[y, x]), 0.0), darkest)
                out[image, y, x] = np.uint8(coverage * 255 + 0.5)


@njit(cache=True)
def _near_segment(nearest: np.ndarray, start: np.ndarray, end: np.ndarray, reach: float) -> None:
    """Lower `nearest` (h, w) to the squared distance to this segment, where it is nearer; only within its reach."""
    height, width = nearest.shape
    ax, ay = np.float64(start[0]), np.float64(start[1])
    dx, dy = np.float64(end[0]) - ax, np.float64(end[1]) - ay
    squared = dx * dx + dy * dy
    per_length = 1 / squared if squared > 0 else 0.0
    top = max(min(ay, ay + dy) - reach - 0.5, 0.0)
    bottom = min(max(ay, ay + dy) + reach - 0.5, height - 1.0)
    if top > bottom:
        return
    for y in range(int(np.ceil(top)), int(bottom) + 1):
        # Only the part of the segment within reach of this row matters: long diagonals have almost empty boxes.
        py = y + 0.5 - ay
        t0, t1 = 0.0, 1.0
        if abs(dy) > 1e-9:
            s0, s1 = (py - reach) / dy, (py + reach) / dy
            t0, t1 = min(max(min(s0, s1), 0.0), 1.0), max(min(max(s0, s1), 1.0), 0.0)
        x0, x1 = ax + t0 * dx, ax + t1 * dx
        left = max(min(x0, x1) - reach - 0.5, 0.0)
        right = min(max(x0, x1) + reach - 0.5, width - 1.0)
        if left > right:
            continue
        for x in range(int(np.ceil(left)), int(right) + 1):
            px = x + 0.5 - ax
            t = min(max((px * dx + py * dy) * per_length, 0.0), 1.0)
            ex, ey = px - t * dx, py - t * dy
            nearest[y, x] = min(nearest[y, x], ex * ex + ey * ey)
