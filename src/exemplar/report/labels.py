"""Names beside the points of a figure, where they cover least of what is there already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

SIZE = 10.0  # pt of the names
WIDE, HIGH = 0.58 * SIZE, 1.15 * SIZE  # pt of a letter, about
AROUND = 5.0  # pt kept free around a point
FAR = 40.0  # pt², what a near seat may cover before a far one is better


def name_points(
    axes: Axes, names: Sequence[str], places: np.ndarray, colours: Sequence[str], *, busy: np.ndarray
) -> None:
    """One name after the other takes the best of 16 seats around its point; far from it, a thin line leads there.

    places: (n, 2) in the axes' numbers; busy: (m, 2) what to leave free, the points and more. The axes must
    have their final limits, and their final place in the figure.
    """
    to_points = 72 / axes.figure.dpi
    spots = axes.transData.transform(places) * to_points
    crowd = axes.transData.transform(busy) * to_points
    taken = np.hstack([crowd - AROUND, crowd + AROUND])  # left, low, right, high of what is there
    frame = np.array(axes.bbox.extents) * to_points
    for name, (x, y), colour in zip(names, spots, colours, strict=True):
        size = np.array([WIDE * len(name), HIGH])
        corners = np.array([x, y]) + _seats(*size)
        boxes = np.hstack([corners, corners + size])
        outside = size.prod() - _covered(boxes, frame[None])
        cost = _covered(boxes, taken) + 3 * outside + FAR * (np.arange(len(boxes)) >= 8)
        best = int(np.argmin(cost.round(3)))  # of equal seats the first, whatever the rounding
        taken = np.vstack([taken, boxes[best]])
        axes.annotate(
            name, (x, y), xytext=tuple(corners[best]), xycoords="figure points", textcoords="figure points", fontsize=SIZE,
            color=colour, arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5} if best >= 8 else None,
        )  # fmt: skip


def _seats(wide: float, high: float) -> np.ndarray:
    """(16, 2) lower left corners around a point at the origin: eight near, then eight farther off."""
    seats = []
    for gap in (9.0, 26.0):
        right, left, above, below = gap, -gap - wide, gap - 3, 3 - gap - high
        middle_x, middle_y = -wide / 2, -high / 2
        seats += [(right, above), (right, middle_y), (left, above), (left, middle_y), (right, below), (left, below)]
        seats += [(middle_x, above + 3), (middle_x, below - 3)]
    return np.array(seats)


def _covered(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n,) area of each box (n, 4: left, low, right, high) that lies on the others (m, 4), counted once for each of them."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)
