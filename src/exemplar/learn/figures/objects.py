"""Contact sheets of objects: views that show what varies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exemplar.images.concepts import ConceptSet
from exemplar.learn.stimuli import TRAINING, Stimuli
from exemplar.records import Drawings
from exemplar.report.sheets import sheet_png


def choose_views(stimuli: Stimuli, written: ConceptSet, experiment: int) -> tuple[np.ndarray, list[str]]:
    """Images (rows, columns, h, w) and names of rows, for a sheet: objects, and views that show what varies.

    written: the images of the stimuli, in their order, as they were drawn already.
    """
    pictures = written.resized(min(160, *written.shape))
    n_subtasks, n_objects, n_images = stimuli.shape
    n_rows = min(8, n_subtasks * n_objects)
    test = stimuli.test[0, 0]
    if experiment == 2:  # the training image, then the strongest level of each transformation
        last = {str(name).split(" | ")[0]: place for place, name in enumerate(test) if name}
        columns = np.array([0, *last.values()])
        heads = " · ".join([TRAINING, *(str(test[place]) for place in last.values())])
    else:
        columns, heads = np.linspace(0, n_images - 1, min(10, n_images)).astype(int), ""
    rows = np.arange(n_rows)[:, None] * n_images + columns
    images = pictures.take(rows.ravel()).reshape(*rows.shape, *pictures.shape)
    names = [pictures.concept[int(row)] for row in rows[:, 0]]
    return images, [f"{name}   {heads}" if place == 0 and heads else name for place, name in enumerate(names)]


def objects_sheet(drawings: Drawings, labels: Sequence[str] | None = None, *, cell: int = 92) -> bytes:
    """Views of objects as a PNG, one row per concept. drawings: as many of each, in order; labels: one per row."""
    n = int(drawings["index"].max()) + 1
    images = drawings.image.reshape(-1, n, *drawings.image.shape[1:])
    return sheet_png(images, labels, cell=cell, drawn=False)
