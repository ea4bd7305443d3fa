"""What players of ClickMe paint: places of the brush on the canvas, in order, with their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exemplar import attend
from exemplar.errors import UserError

SIDE, BRUSH = 256, 21  # px of the canvas and of the brush, as published
MOST_PLACES = 4000  # of a round
LATE_MS = 250.0  # how much later than the limit a browser may hear of the last place


def read_places(places: Any) -> list[tuple[int, int]]:
    """(row, column) of each place; UserError where they are none."""
    if not isinstance(places, list) or not 0 < len(places) <= MOST_PLACES:
        raise UserError(f"places must be a list of 1 to {MOST_PLACES:,} places.")
    return [_read_place(place, 2) for place in places]


def read_path(path: Any, limit_ms: float) -> list[tuple[int, int, float]]:
    """(row, column, ms since the first touch) of each place; UserError where they are none, or too late."""
    if not isinstance(path, list) or len(path) > MOST_PLACES:
        raise UserError(f"places must be a list of at most {MOST_PLACES:,} places.")
    found, last = [], 0.0
    for place in path:
        row, column = _read_place(place, 3)
        ms = place[2]
        if isinstance(ms, bool) or not isinstance(ms, int | float) or not last <= ms <= limit_ms + LATE_MS:
            raise UserError(f"The times of places go up from 0 to {limit_ms:g} ms, got {str(ms)[:40]}.")
        last = float(ms)
        found.append((row, column, last))
    return found


def paint(places: Sequence[tuple[int, int]]) -> np.ndarray:
    """(SIDE, SIDE) bool: what the brush uncovered."""
    return attend.paint(places, SIDE, BRUSH)


def places_of(path: Sequence[tuple[int, int, float]]) -> list[tuple[int, int]]:
    return [(row, column) for row, column, _ in path]


def _read_place(place: Any, n: int) -> tuple[int, int]:
    inside = isinstance(place, list) and len(place) == n and all(type(v) is int for v in place[:2])
    if not inside or not all(0 <= v < SIDE for v in place[:2]):
        more = "" if n == 2 else ", and ms"
        raise UserError(f"A place is a row and a column from 0 to {SIDE - 1}{more}, got {str(place)[:40]}.")
    return place[0], place[1]
