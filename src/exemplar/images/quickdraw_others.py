"""Categories of Quick, Draw! of which QuickDraw-FS has no concept: more kinds of drawings for critics to be trained on.

They are drawn as the official bitmaps are: from strokes at 28 px, which gives nearly the same pixels, or from thin bitmaps,
made smaller and with a wider pen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import ndimage

from exemplar.errors import UserError
from exemplar.images.pixels import Packed, Plain
from exemplar.images.quickdraw import BITMAP, Sketch, Sketches, read_sketches
from exemplar.images.quickdraw_bitmaps import load_quickdraw_bitmaps
from exemplar.images.quickdraw_fs import at_full_size, in_category_test

MOST = 500  # drawings of a category, as many as a concept has variations
SIDE = 33  # px: thin bitmaps fill their 28 px with what is 256 of 304 in official ones
PEN = 2  # px: the lines of thin bitmaps are widened by one at 48 px


def draw_others(folder: Path, known: set[str]) -> Iterator[tuple[str, Packed]]:
    """Each category that is not known, nor for testing only, by name, with its drawings at 48 px: from the folder's files of
    strokes where these have it, else from its thin bitmaps."""

    def wanted(word: str) -> bool:
        return word not in known and not in_category_test(word)

    found = {
        word: at_full_size(Sketches.of(several, BITMAP)) for word, several in _read_strokes(folder, wanted).items()
    }
    with suppress(UserError):  # not everybody has thin bitmaps
        thin = load_quickdraw_bitmaps(folder, "thin-centred")
        for word in thin.concepts:
            if wanted(word) and word not in found:
                found[word] = widen(thin.take(thin.rows(word)))
    if not found:
        raise UserError(
            f"{folder} has neither strokes (.ndjson) nor thin bitmaps of other categories than those of the concepts: put some "
            "there, or train on train instead of critics"
        )
    return iter(sorted(found.items()))


def widen(thin: np.ndarray) -> Packed:
    """Thin bitmaps as the official ones of the same drawings look at 48 px. thin: (n, 28, 28) uint8, centred."""
    before = (SIDE - BITMAP) // 2
    around = (before, SIDE - BITMAP - before)
    ink = at_full_size(Plain(np.pad(thin, ((0, 0), around, around)))).take(np.arange(len(thin)))
    return Packed.of(ndimage.grey_dilation(ink, (1, PEN, PEN)))


def _read_strokes(folder: Path, wanted: Callable[[str], bool]) -> dict[str, list[Sketch]]:
    """Category → its first drawings, of every file of strokes in the folder."""
    found: dict[str, list[Sketch]] = {}
    for path in sorted([*folder.glob("*.ndjson"), *folder.glob("*.ndjson.gz")]):
        for sketch in (sketch for batch in read_sketches(path) for sketch in batch):
            if wanted(sketch.word) and len(several := found.setdefault(sketch.word, [])) < MOST:
                several.append(sketch)
    return found
