"""The data's own drawers: their names are theirs alone, and whether drawings are truly theirs is seen from the images."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from exemplar import seeds
from exemplar.draw.tasks import PEOPLE, SIMULATED, DrawingTask
from exemplar.errors import UserError
from exemplar.records import Drawings
from exemplar.spaces.inputs import as_bytes

HUMAN, SIMULATED_DRAWERS = "human", "simulated"  # the data's own drawings: by people, or by the package
RESERVED = (PEOPLE, HUMAN, "humans", SIMULATED, SIMULATED_DRAWERS)
PART = 512  # images at a time


def is_reserved(name: str) -> bool:
    """Whether a name stands for the data's own drawers, however it is written, or would be taken for theirs on a page.

    >>> is_reserved(" People."), is_reserved("simulated_drawers"), is_reserved("Humans (2)"), is_reserved("peopled")
    (True, True, True, False)
    """
    plain = re.sub(r" ?\(.*$", "", unicodedata.normalize("NFKC", name).casefold())
    return re.sub(r"[\W_]+", " ", plain).strip() in RESERVED


def refuse_reserved(name: str) -> None:
    if is_reserved(name):
        raise UserError(
            f"The name {name!r} is reserved for the data's own drawers, and these drawings are not theirs: choose another "
            "name, such as that of the model."
        )


def claim(drawings: Drawings, task: DrawingTask) -> Drawings:
    """The drawings, if nobody else has the name of the data's own drawers; these have the name that is truly theirs."""
    agent = str(drawings["agent"].iloc[0])
    if not is_reserved(agent):
        return drawings
    if not are_own(drawings, task):
        refuse_reserved(agent)
    columns = {name: drawings[name] for name in Drawings.COLUMNS}
    return Drawings.of(**columns | {"agent": task.drawers}, image=drawings.image)


def are_own(drawings: Drawings, task: DrawingTask) -> bool:
    """Whether every drawing is an image of the data, of the concept it is said to be of."""
    if drawings.image.shape[1:] != task.data.shape:
        return False
    known: set[tuple[str, str]] = set()
    concept = np.array(task.data.concepts)[task.data.concept.code]
    for start in range(0, len(task.data), PART):
        rows = np.arange(start, min(start + PART, len(task.data)))
        known |= {
            (str(concept[row]), seeds.digest(image)) for row, image in zip(rows, task.data.take(rows), strict=True)
        }
    images = as_bytes(drawings.image)
    return all((str(c), seeds.digest(image)) in known for c, image in zip(drawings["concept"], images, strict=True))
