"""Names beside the points of a figure, where they cover least of what is there already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

FONT_SIZE = 10.0  # pt
LETTER_WIDTH, LINE_HEIGHT = 0.58 * FONT_SIZE, 1.15 * FONT_SIZE  # pt, about
POINT_MARGIN = 5.0  # pt kept free around a point
FAR_COST = 40.0  # pt², the area a near place may cover before a far one is better


def name_points(
    axes: Axes, names: Sequence[str], places: np.ndarray, colours: Sequence[str], *, busy: np.ndarray
) -> None:
    """One name after the other takes the best of 16 places around its point; from the far ones a thin line leads to it.

    places: (n, 2) in data coordinates; busy: (m, 2) what to leave free, the points and more. The axes must have their final
    limits, and their final position in the figure.
    """
    to_points = 72 / axes.figure.dpi
    points = axes.transData.transform(places) * to_points
    obstacles = axes.transData.transform(busy) * to_points
    taken = np.hstack([obstacles - POINT_MARGIN, obstacles + POINT_MARGIN])  # left, bottom, right, top
    frame = np.array(axes.bbox.extents) * to_points
    for name, (x, y), colour in zip(names, points, colours, strict=True):
        size = np.array([LETTER_WIDTH * len(name), LINE_HEIGHT])
        corners = np.array([x, y]) + _candidate_corners(*size)
        boxes = np.hstack([corners, corners + size])
        outside = size.prod() - _overlap_area(boxes, frame[None])
        cost = _overlap_area(boxes, taken) + 3 * outside + FAR_COST * (np.arange(len(boxes)) >= 8)
        best = int(np.argmin(cost.round(3)))  # of equal places the first, whatever the rounding
        taken = np.vstack([taken, boxes[best]])
        axes.annotate(
            name, (x, y), xytext=tuple(corners[best]), xycoords="figure points", textcoords="figure points",
            fontsize=FONT_SIZE, color=colour,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5} if best >= 8 else None,
        )  # fmt: skip


def _candidate_corners(width: float, height: float) -> np.ndarray:
    """(16, 2) lower left corners of a name around a point at the origin: eight near, then eight farther off."""
    corners = []
    for gap in (9.0, 26.0):
        right, left, above, below = gap, -gap - width, gap - 3, 3 - gap - height
        middle_x, middle_y = -width / 2, -height / 2
        corners += [(right, above), (right, middle_y), (left, above), (left, middle_y), (right, below), (left, below)]
        corners += [(middle_x, above + 3), (middle_x, below - 3)]
    return np.array(corners)


def _overlap_area(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n,) area of each box (n, 4: left, bottom, right, top) that lies on the others (m, 4), counted once for each of them."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)
