"""What people draw with pen, mouse or finger, as points in time; and what bots draw, as bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exemplar import images
from exemplar.errors import UserError

MOST_STROKES, MOST_POINTS, MOST_MS = 500, 20_000, 1e9
SIZE, PEN = 105, 3.0  # px, as Omniglot's drawings


def read_strokes(strokes: Any) -> list[np.ndarray]:
    """Strokes of an answer, each (n, 3) float64: x, y in [0, 1] and ms; UserError where they are none."""
    if not isinstance(strokes, list) or len(strokes) > MOST_STROKES:
        raise UserError(f"strokes must be a list of at most {MOST_STROKES} strokes.")
    if sum(len(stroke) if isinstance(stroke, list) else 1 for stroke in strokes) > MOST_POINTS:
        raise UserError(f"A drawing may have {MOST_POINTS:,} points at most.")
    found = []
    for stroke in strokes:
        if not isinstance(stroke, list) or not stroke or not all(map(_is_point, stroke)):
            raise UserError("A stroke is a list of points, each of three numbers: x, y and ms.")
        array = np.array(stroke, float)
        if not np.isfinite(array).all() or (array[:, :2] < -1).any() or (array[:, :2] > 2).any():
            raise UserError("Points lie in the canvas, from 0 to 1 along each axis.")
        found.append(array)
    return found


def _is_point(point: Any) -> bool:
    """Three numbers that are not beyond all measure."""
    numbers = isinstance(point, list) and not any(isinstance(v, bool) or not isinstance(v, int | float) for v in point)
    return numbers and len(point) == 3 and all(abs(v) < MOST_MS for v in point)


def pack_bitmap(image: np.ndarray) -> str:
    """An ink image (h, w) uint8 as text: its height and width, and its bits in hexadecimal."""
    return f"{image.shape[0]}x{image.shape[1]}:{np.packbits(image >= 128).tobytes().hex()}"


def read_bitmap(text: Any) -> np.ndarray:
    """(h, w) uint8, ink 255: what `pack_bitmap` wrote."""
    size, _, content = str(text).partition(":")
    try:
        height, width = (int(side) for side in size.split("x"))
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(content), np.uint8))
    except ValueError as problem:
        raise UserError("A bitmap is written as HEIGHTxWIDTH:bits in hexadecimal.") from problem
    if not (0 < height <= 512 and 0 < width <= 512) or len(bits) != -(-height * width // 8) * 8:
        raise UserError("A bitmap has as many bits as pixels, at most 512 by 512.")
    return 255 * bits[: height * width].reshape(height, width)


def render_answers(answers: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(n, SIZE, SIZE) uint8, ink 255 or 0: strokes as a round pen of PEN px draws them, where they were drawn; bitmaps as they
    are, brought to this size."""
    drawings = [[] if "bitmap" in answer else read_strokes(answer["strokes"]) for answer in answers]
    strokes = [stroke for drawing in drawings for stroke in drawing]
    out = np.zeros((len(answers), SIZE, SIZE), np.uint8)
    if strokes:
        points = np.concatenate([stroke[:, :2] * SIZE for stroke in strokes]).astype(np.float32)
        ends = np.cumsum([0, *(len(stroke) for stroke in strokes)])
        of_image = np.cumsum([0, *(len(drawing) for drawing in drawings)])
        out = images.render(points, ends, of_image, size=(SIZE, SIZE), width=PEN)
    for place, answer in enumerate(answers):
        if "bitmap" in answer:
            bitmap = read_bitmap(answer["bitmap"])
            rows, columns = ((np.arange(SIZE) + 0.5) * side // SIZE for side in bitmap.shape)
            out[place] = bitmap[rows.astype(int)[:, None], columns.astype(int)]
    return np.where(out >= 128, 255, 0).astype(np.uint8)
