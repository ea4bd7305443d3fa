"""Mistakes that scores alone do not show: drawings in the wrong order, and drawings that nobody drew again, since they are the
exemplars or the data's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar.draw.measures.features import CriticFeatures
from exemplar.draw.measures.neighbours import distances
from exemplar.draw.measures.sides import CEILING, possessive
from exemplar.draw.tasks import DrawingTask
from exemplar.images.pixels import CHUNK, binarised
from exemplar.records import Score
from exemplar.report.resizing import resize

MOST_OF_THEM = 0.5  # of a concept's drawings, or of the concepts
BELOW_CHANCE = 0.5  # of the share that chance alone would recognise
N_ENOUGH = 200  # drawings from which so low a share is no accident
THRESHOLD = 0.5
RECOGNISED = re.compile(r"recognizability_(\d+|all)_way")
CRITICS = "these critics do not recognise"  # how a sentence begins that is about them, and not about who drew


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


def find_chance(scores: Sequence[Score], agent: str, drawers: str, n_concepts: int) -> str:
    """A sentence where the data's own drawers, or else the agent, are not recognised better than by chance, as far as the
    interval of any of their recognizabilities tells; else nothing. scores: of one agent, among them the overall ones."""
    overall = {(score.agent, score.name): score for score in scores if not score.concept and not score.space}
    chances = {
        name: 1 / (n_concepts if found[1] == "all" else int(found[1]))
        for who, name in overall
        if who == agent and (found := RECOGNISED.fullmatch(name))
    }
    for name, chance in chances.items():
        own = overall.get((drawers, CEILING + name))
        if own is not None and own.ci95[0] <= chance:
            return (
                f"{CRITICS} {possessive(drawers)} own drawings ({own.value:.3f}, chance {chance:.3f}): features in another "
                "order, or a critic that sees nothing in this data?"
            )
    for name, chance in chances.items():
        mine, own = overall[agent, name], overall.get((drawers, CEILING + name))
        if agent != drawers and mine.ci95[0] <= chance:
            beside = "" if own is None else f", {possessive(drawers)} own {own.value:.3f}"
            return (
                f"the drawings of {agent} are not recognized more often than by chance ({mine.value:.3f}, chance "
                f"{chance:.3f}{beside}): they show nothing of their concepts, or they or their features are in another order"
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
