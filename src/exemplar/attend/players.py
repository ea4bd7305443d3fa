"""Simulated players of the ClickMe game with known strategies: they stand in for people in tests, in the tour and in studies.

A player has a preference over the places of a picture. A share of its brush strokes, its reliability, follows the
preference; the others fall anywhere. It uncovers places until the partner is right, or its strokes are used up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exemplar import seeds
from exemplar.attend.measures.blurring import blur, resize_maps
from exemplar.attend.partner.guessing import Partner
from exemplar.attend.rounds import BRUSH, CANVAS, Round, paint, uncover
from exemplar.attend.tasks import AttendTask
from exemplar.errors import UserError, unknown

GRID = 64  # cells per side among which a stroke's place is chosen
STROKES = 40  # of a round
STROKES_A_GUESS = 4
PART = 128  # rounds played side by side

Preference = Callable[[np.ndarray], np.ndarray]  # (n, h, w) in [0, 1], ink 1 → (n, h, w), at least 0


def prefer_ink(pictures: np.ndarray) -> np.ndarray:
    return pictures


def prefer_corners(pictures: np.ndarray) -> np.ndarray:
    """Where lines end, bend or meet: the smaller eigenvalue of the structure tensor (Shi & Tomasi 1994)."""
    smooth = blur(pictures, 9)
    dy, dx = np.gradient(smooth, axis=(1, 2))
    yy, xx, xy = (blur(part, 21) for part in (dy * dy, dx * dx, dy * dx))
    smaller = (yy + xx) / 2 - np.sqrt(np.maximum(((yy - xx) / 2) ** 2 + xy * xy, 0))
    most = smaller.max(axis=(1, 2), keepdims=True)
    return np.where(smaller > 0.2 * most, smaller, 0)


def prefer_anything(pictures: np.ndarray) -> np.ndarray:
    return np.ones_like(pictures)


STRATEGIES: dict[str, Preference] = {"ink": prefer_ink, "corners": prefer_corners, "random": prefer_anything}


@dataclass(frozen=True, eq=False)
class Player:
    """name: its strategy; preference: (n, h, w) of each picture of a task, at least 0; reliability: in [0, 1]."""

    name: str
    preference: np.ndarray
    reliability: float = 0.8

    @classmethod
    def of(cls, strategy: str, task: AttendTask, reliability: float = 0.8) -> Player:
        """By name: ink, corners or random."""
        return cls.seeing(strategy, task.image, reliability)

    @classmethod
    def seeing(cls, strategy: str, pictures: np.ndarray, reliability: float = 0.8) -> Player:
        """One who is shown these pictures, (n, h, w) uint8, ink 255, and knows nothing else of them."""
        if strategy not in STRATEGIES:
            raise unknown("strategy", strategy, STRATEGIES)
        return cls(strategy, STRATEGIES[strategy](pictures.astype(np.float32) / 255), reliability)

    @classmethod
    def after(cls, name: str, maps: np.ndarray, task: AttendTask, reliability: float = 0.8) -> Player:
        """One who prefers what a model found important. maps: (n, h', w') of the task's images."""
        if len(maps) != len(task):
            raise UserError(f"There are {len(task)} pictures and {len(maps)} maps: give one per picture.")
        size = (task.image.shape[1], task.image.shape[2])
        return cls(name, np.clip(resize_maps(maps, size), 0, None), reliability)


def play(
    player: Player,
    task: AttendTask,
    partner: Partner,
    *,
    participants: int,
    share: float = 1.0,
    strokes: int = STROKES,
    brush: int = BRUSH,
    seed: int = 0,
) -> list[Round]:
    """Rounds of so many participants, each with a share of the pictures. task: on the canvas, whose concepts the partner
    knows."""
    missing = [name for name in task.concepts if name not in partner.concepts]
    if missing:
        raise UserError(f"The partner does not know {missing[0]}: train it on the concepts of the task.")
    answer = np.array([partner.concepts.index(name) for name in task.concepts])[task.label]
    cells = _cells(player.preference, player.reliability)
    plan = []
    for who in range(participants):
        rng = seeds.rng("attend player", player.name, player.reliability, seed, who)
        some = np.sort(rng.permutation(len(task))[: max(round(share * len(task)), 1)])
        plan += [(f"simulated-{who + 1}", int(row)) for row in some]
    found = []
    for start in range(0, len(plan), PART):
        part = plan[start : start + PART]
        found += _play_side_by_side(part, task, partner, answer, cells, strokes, brush, player, seed)
    return found


def play_one(
    player: Player, row: int, look: Callable[[list[tuple[int, int]]], bool], rng: np.random.Generator
) -> list[tuple[int, int]]:
    """One round of picture `row` with a partner elsewhere. look: whether the partner is right, shown what was painted at these
    places; asked after every STROKES_A_GUESS of them. Returns the places painted until it was, or STROKES of them."""
    chance = _cells(player.preference[row : row + 1], player.reliability)[0]
    places: list[tuple[int, int]] = []
    while len(places) < STROKES:
        places += [_choose(chance, rng, player.preference.shape[1]) for _ in range(STROKES_A_GUESS)]
        if look(places):
            break
    return places


def _play_side_by_side(
    part: list[tuple[str, int]],
    task: AttendTask,
    partner: Partner,
    answer: np.ndarray,
    cells: np.ndarray,
    strokes: int,
    brush: int,
    player: Player,
    seed: int,
) -> list[Round]:
    side = task.image.shape[1]
    rows = np.array([row for _, row in part])
    rngs = [seeds.rng("attend round", player.name, player.reliability, seed, who, row) for who, row in part]
    places: list[list[tuple[int, int]]] = [[] for _ in part]
    painted = np.zeros((len(part), side, side), bool)
    right = np.zeros(len(part), bool)
    chance = cells[rows]
    for stroke in range(strokes):
        for k in np.flatnonzero(~right):
            place = _choose(chance[k], rngs[k], side)
            places[k].append(place)
            painted[k] |= paint([place], side, brush)
        if (stroke + 1) % STROKES_A_GUESS == 0 or stroke == strokes - 1:
            left = np.flatnonzero(~right)
            told = partner.log_p(uncover(task.image[rows[left]], painted[left])).argmax(axis=1)
            right[left] = told == answer[rows[left]]
        if right.all():
            break
    return [Round(who, row, tuple(places[k]), bool(right[k])) for k, (who, row) in enumerate(part)]


def _cells(preference: np.ndarray, reliability: float) -> np.ndarray:
    """(n, GRID²) cumulative chance of each cell."""
    if not 0 <= reliability <= 1:
        raise UserError(f"A reliability lies between 0 and 1, not at {reliability}.")
    n, side = len(preference), min(GRID, preference.shape[1])
    pooled = resize_maps(preference, (side, side)).reshape(n, -1).astype(np.float64)
    total = pooled.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        raise UserError(f"Picture {int(np.flatnonzero(total[:, 0] <= 0)[0])} has nothing that the player prefers.")
    return np.cumsum(reliability * pooled / total + (1 - reliability) / pooled.shape[1], axis=1)


def _choose(chance: np.ndarray, rng: np.random.Generator, side: int) -> tuple[int, int]:
    """A place in a cell drawn by its chance, anywhere within it."""
    grid = round(np.sqrt(len(chance)))
    cell = min(int(np.searchsorted(chance, rng.random() * chance[-1], side="right")), len(chance) - 1)
    row, column = divmod(cell, grid)
    across, down = rng.random(2)
    return int((row + down) * side / grid), int((column + across) * side / grid)


__all__ = ["BRUSH", "CANVAS", "STRATEGIES", "Player", "play", "play_one"]
