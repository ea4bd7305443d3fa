"""Mistakes that scores alone do not show: drawings in the wrong order, and drawings that nobody drew again, since they are the
exemplars or the data's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.measures.neighbours import distances
from exemplar.draw.tasks import DrawingTask
from exemplar.images.pixels import CHUNK, binarised
from exemplar.report.resizing import resize

MOST_OF_THEM = 0.5  # of a concept's drawings, or of the concepts
BELOW_CHANCE = 0.5  # of the share that chance alone would recognise
N_ENOUGH = 200  # drawings from which so low a share is no accident
THRESHOLD = 0.5


@dataclass(frozen=True)
class Copied:
    """How many drawings are an image of the data, px by px, once both are ink and paper. own: its own concept's exemplar;
    exemplars: another's; drawings: any other drawing of the data."""

    own: int
    exemplars: int
    drawings: int


def find_wrong_concepts(recognise: CriticFeatures, agent: str, concepts: tuple[str, ...]) -> str:
    """A sentence where drawings are not of the concepts they are said to be of; else nothing. By one critic, among all."""
    k, n = recognise.drawn.shape[:2]
    nearest = np.stack([distances(drawn, recognise.exemplars).argmin(axis=1) for drawn in recognise.drawn])  # (k, n)
    votes = np.stack([np.bincount(row, minlength=k) for row in nearest])
    taken_for, places = votes.argmax(axis=1), np.arange(k)
    elsewhere = (taken_for != places) & (votes.max(axis=1) > MOST_OF_THEM * n)
    distinct = len(np.unique(taken_for[elsewhere]))
    if elsewhere.sum() > MOST_OF_THEM * k and distinct > MOST_OF_THEM * elsewhere.sum():
        shift = (taken_for - places) % k
        by = int(np.bincount(shift[elsewhere]).argmax())
        regular = (shift == by).sum() > MOST_OF_THEM * k
        how = f"most as the concept {min(by, k - by)} {'on' if 2 * by <= k else 'back'}, a shifted order?"
        some = [f"{concepts[i]} as {concepts[taken_for[i]]}" for i in np.flatnonzero(elsewhere)[:3]]
        return (
            f"the drawings of {agent} seem to be of other concepts: those of {elsewhere.sum()} of {k} are recognized as "
            f"another one's ({', '.join(some)}), {how if regular else 'a mixed-up order?'}"
        )
    right = float((nearest == places[:, None]).mean())
    if k * n >= N_ENOUGH and right < BELOW_CHANCE / k:
        return (
            f"the drawings of {agent} are recognized less often than by chance ({right:.1%} among {k}): do they show other "
            "concepts than they are said to?"
        )
    return ""


def find_copied(images: np.ndarray, task: DrawingTask) -> Copied:
    """images: (k, n, h, w) uint8, ink 255, concepts in the task's order; blank ones are no copies."""
    k, n = images.shape[:2]
    size = (int(images.shape[2]), int(images.shape[3]))
    of_row: dict[bytes, int] = {}
    for start in range(0, len(task.data), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(task.data)))
        for row, key in zip(rows, _keys(resize(task.data.take(rows), size)), strict=True):
            if key is not None:
                of_row.setdefault(key, int(row))
    shown = {key: place for place, key in enumerate(_keys(resize(task.exemplars, size))) if key is not None}
    own = exemplars = drawings = 0
    for place, key in enumerate(_keys(images.reshape(k * n, *size))):
        if key is None:
            continue
        if key in shown:
            own, exemplars = own + (shown[key] == place // n), exemplars + (shown[key] != place // n)
        else:
            drawings += key in of_row
    return Copied(own, exemplars, drawings)


def describe_copied(images: np.ndarray, task: DrawingTask, agent: str) -> Iterator[str]:
    """A sentence about each kind of copy there is. The data's own drawers are not asked."""
    if agent == task.drawers:
        return
    found, total = find_copied(images, task), images.shape[0] * images.shape[1]
    if found.own:
        yield (
            f"{found.own:,} of the {total:,} drawings of {agent} are the exemplar itself, px by px: leave it out if it got in "
            "by mistake"
        )
    if found.exemplars:
        yield f"{found.exemplars:,} of the {total:,} drawings of {agent} are another concept's exemplar, px by px"
    if found.drawings:
        yield (
            f"{found.drawings:,} of the {total:,} drawings of {agent} are drawings of {task.data.name}, px by px, which "
            f"{task.drawers} are compared by"
        )


def _keys(images: np.ndarray) -> Iterator[bytes | None]:
    """Of each image, its ink; None where it is blank."""
    for ink in binarised(images, THRESHOLD) > 0:
        yield np.packbits(ink).tobytes() if ink.any() else None
