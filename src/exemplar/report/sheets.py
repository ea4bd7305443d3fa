"""Contact sheets: many small images on one, in rows with a label each."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from exemplar.errors import UserError
from exemplar.files import whole_file
from exemplar.report.resizing import resize

LABEL_HEIGHT = 13  # px of a row's label
LARGEST = 20_000  # px, the longest side a picture may have and still open everywhere


def sheet_png(
    images: np.ndarray,
    labels: Sequence[str] | None = None,
    *,
    cell: int | None = None,
    gap: int = 4,
    frames: Mapping[tuple[int, int], str] = MappingProxyType({}),
    drawn: bool = True,
) -> bytes:
    """images: (rows, columns, h, w) grey, or (rows, columns, h, w, 3); if drawn, grey is ink, shown dark on white.

    labels: one per row; cell: px of an image on the sheet, its own size unless given (never below 24); frames: the colour of
    the frame around (row, column), where one is to stand out.
    """
    rows, columns = images.shape[:2]
    side = max(24, cell or max(images.shape[2:4]))
    head = LABEL_HEIGHT + 4 if labels else 0
    width, height = gap + columns * (side + gap), rows * (side + gap + head) + gap
    if max(width, height) > LARGEST:
        raise UserError(
            f"A sheet of {width} × {height} px is too large: ask for fewer images, or for a smaller --size."
        )
    paper = Image.new("RGB", (width, height), "white")
    pen, font = ImageDraw.Draw(paper), ImageFont.load_default(LABEL_HEIGHT - 2)
    flat = images.reshape(rows * columns, *images.shape[2:])
    shown = resize(255 - flat if drawn and images.ndim == 4 else flat, (side, side)).reshape(
        rows, columns, side, side, -1
    )
    for row in range(rows):
        top = gap + row * (side + gap + head)
        if labels:
            name = labels[row].encode("utf-8", "replace").decode()  # file names may hold what is not text
            pen.text((gap, top), name, fill=(110, 110, 110), font=font)
        for column in range(columns):
            left = gap + column * (side + gap)
            picture = Image.fromarray(shown[row, column].squeeze())
            paper.paste(picture, (left, top + head))
            frame = (left - 1, top + head - 1, left + side, top + head + side)
            colour = frames.get((row, column))
            pen.rectangle(frame, outline=colour or (225, 225, 225), width=3 if colour else 1)
    buffer = io.BytesIO()
    paper.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def write_sheet(path: Path, images: np.ndarray, labels: Sequence[str] | None = None, *, drawn: bool = True) -> None:
    """As `sheet_png`, to a file, whole or not at all."""
    if path.suffix.lower() != ".png":
        raise UserError(f"A sheet is a PNG: rename {path} to end with .png.")
    content = sheet_png(images, labels, drawn=drawn)
    with whole_file(path) as part:
        part.write_bytes(content)
