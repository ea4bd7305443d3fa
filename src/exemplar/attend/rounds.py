"""A round of the ClickMe game: who uncovered what with a brush, and whether the partner then recognized it; maps from rounds.

The paper's canvas is 256 × 256 px and its brush 21 × 21. A round counts if the partner was right before time was up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar.attend.tasks import AttendTask
from exemplar.errors import UserError
from exemplar.records import Maps

CANVAS = 256  # px per side
BRUSH = 21


@dataclass(frozen=True)
class Round:
    """participant: who; image: the row of the picture that was shown; places: (s, 2) row and column of the brush, px of the
    canvas, in order; right: whether the partner recognized it; seconds: how long it took, None where nobody timed it."""

    participant: str
    image: int
    places: Sequence[tuple[int, int]]
    right: bool
    seconds: float | None = None


def paint(places: Sequence[tuple[int, int]], side: int = CANVAS, brush: int = BRUSH) -> np.ndarray:
    """(side, side) bool: what a square brush uncovered at these places; what lies beyond the canvas is cut off."""
    found = np.zeros((side, side), bool)
    half = brush // 2
    for row, column in places:
        found[max(row - half, 0) : max(row + half + 1, 0), max(column - half, 0) : max(column + half + 1, 0)] = True
    return found


def uncover(picture: np.ndarray, painted: np.ndarray) -> np.ndarray:
    """What the partner sees: the picture (…, h, w) uint8 where it was painted, paper (0) elsewhere."""
    return np.where(painted, picture, 0).astype(picture.dtype)


def maps_from_rounds(rounds: Iterable[Round], task: AttendTask, *, agent: str = "people", brush: int = BRUSH) -> Maps:
    """The record of the rounds that the partner got right: 1 where a participant painted, 0 elsewhere.

    task: whose images the rounds number, on the canvas (256 × 256 px).
    """
    height, width = task.image.shape[1:]
    if height != width:
        raise UserError(f"The canvas must be square, these pictures are {height} × {width} px.")
    kept = []
    for one in rounds:
        if not 0 <= one.image < len(task):
            raise UserError(f"A round of {one.participant} is of image {one.image}, and there are {len(task)}.")
        if one.right and len(one.places):
            kept.append(one)
    if not kept:
        raise UserError("In no round was the partner right, so there are no maps: play more, or with another partner.")
    rows = [one.image for one in kept]
    maps = np.stack([paint(one.places, height, brush) for one in kept]).astype(np.uint8)
    full = np.flatnonzero(maps.reshape(len(maps), -1).all(axis=1))
    if len(full):
        who = kept[int(full[0])].participant
        raise UserError(f"{who} painted a whole picture, which says nothing of what matters: leave that round out.")
    return Maps.of(
        agent=agent,
        participant=[one.participant for one in kept],
        concept=[task.concepts[task.label[row]] for row in rows],
        image=task.image[rows],
        map=maps,
    )
