"""Names beside the points of a figure, where they cover least of what is there already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from exemplar.report.figures import any_script

FONT_SIZE = 10.0  # pt
POINT_MARGIN = 5.0  # pt kept free around a point
TEXT_MARGIN = 1.0  # pt kept free around a text
NEAR, STEP, RINGS = 9.0, 17.0, 16  # pt from a point to the places nearest to it, and between two rings of places
FAR_COST = 40.0  # pt², the area a place may cover before one of the next ring is better
TEXT_COST = 100.0  # what lies on another text counts so many times
LINE_COST = 150.0  # pt², for each text that a name's line crosses
LINE_POINTS = 24  # of a line, at which that is checked


def name_points(
    axes: Axes, names: Sequence[str], places: np.ndarray, colours: Sequence[str], *, busy: np.ndarray
) -> None:
    """One name after the other takes the best of the places around its point, on no other text if there is room; from all but
    the nearest a thin line leads to the point.

    places: (n, 2) in data coordinates; busy: (m, 2) what to leave free, the points and more. The axes must have their final
    limits, and their final position in the figure.
    """
    to_points = 72 / axes.figure.dpi
    points = axes.transData.transform(places) * to_points
    obstacles = axes.transData.transform(busy) * to_points
    taken = np.hstack([obstacles - POINT_MARGIN, obstacles + POINT_MARGIN])  # left, bottom, right, top
    texts = np.array([_text_box(text) for text in axes.texts]).reshape(-1, 4)
    frame = np.array(axes.bbox.extents) * to_points
    for name, point, colour in zip(names, points, colours, strict=True):
        label = axes.annotate(
            name, tuple(point), xytext=tuple(point), xycoords="figure points", textcoords="figure points",
            fontsize=FONT_SIZE, color=colour, arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5},
        )  # fmt: skip
        box = _text_box(label)
        size = box[2:] - box[:2]
        corner, line = _best_place(point, size, taken, texts, frame)
        label.set_position(tuple(corner + point - box[:2]))  # where its baseline begins
        assert label.arrow_patch is not None
        label.arrow_patch.set_visible(len(line) > 0)
        texts = np.vstack([texts, [*corner, *(corner + size)]])
        taken = np.vstack([taken, np.hstack([line - TEXT_MARGIN, line + TEXT_MARGIN])])


def _best_place(
    point: np.ndarray, size: np.ndarray, taken: np.ndarray, texts: np.ndarray, frame: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lower left corner (2,) of a name of this size, and the points (p, 2) of its line, none where it needs none.

    taken, texts: (m, 4) boxes, left, bottom, right and top, to leave free; frame: (4,) the box to stay in. All in points.
    """
    corners = point + _candidate_corners(*size)
    boxes, ring = np.hstack([corners, corners + size]), np.arange(len(corners)) // 8
    outside = size.prod() - _overlap_area(boxes, frame[None])
    lines = np.linspace(point, corners + size / 2, LINE_POINTS, axis=1)  # (places, LINE_POINTS, 2)
    crossed = np.where(ring > 0, _crossed_boxes(lines, texts), 0)
    covered = _overlap_area(boxes, taken) + TEXT_COST * _overlap_area(boxes, texts)
    cost = covered + LINE_COST * crossed + 3 * outside + FAR_COST * ring
    best = int(np.argmin(cost.round(3)))  # of equal places the first, whatever the rounding
    return corners[best], lines[best] if ring[best] else np.zeros((0, 2))


def _text_box(text: Text) -> np.ndarray:
    """Left, bottom, right and top of what is written, in points of the figure, with its margin."""
    with any_script():
        text.get_window_extent()  # an annotation only now goes to its place
        extents = np.array(Text.get_window_extent(text).extents) * 72 / text.figure.dpi  # without an annotation's line
    return extents + TEXT_MARGIN * np.array([-1, -1, 1, 1])


def _candidate_corners(width: float, height: float) -> np.ndarray:
    """(8 · RINGS, 2) lower left corners of a name around a point at the origin: eight of each ring, the nearest first."""
    corners = []
    for gap in NEAR + STEP * np.arange(RINGS):
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


def _crossed_boxes(lines: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """(n,) how many of the boxes (m, 4: left, bottom, right, top) hold a point of each line (n, points, 2)."""
    at = lines[:, :, None]
    inside = np.all((at > boxes[:, :2]) & (at < boxes[:, 2:]), axis=3)  # (n, points, m)
    return np.count_nonzero(np.any(inside, axis=1), axis=1)
