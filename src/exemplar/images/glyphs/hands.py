"""How a drawer draws: a hand that slants, stretches and trembles in its own way, and noise that is new in each drawing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from exemplar import seeds
from exemplar.images.glyphs.programs import Stroke

PEN = 5.45 / 105  # diameter as a part of the frame: Omniglot's
BENDS = 3  # half waves along a stroke that bend it as a whole
TREMBLE = 8  # points of a stroke between two kinks of a hand that trembles

# Standard deviations at spread 1: of a hand (between drawers), and of each of its drawings (within a drawer).
HAND = {"size": 0.13, "aspect": 0.10, "slant": 0.08, "turn": 0.03, "across": 0.035, "down": 0.035, "pen": 0.04}
DRAWING = {"size": 0.06, "aspect": 0.08, "slant": 0.05, "turn": 0.04, "across": 0.025, "down": 0.025, "pen": 0.0}
# Of each stroke of a drawing: relative size and shear; bends, attachment and tremble as parts of the frame.
STROKE_SHAPE, STROKE_BEND, STROKE_SLOP, STROKE_TREMBLE = 0.11, 0.02, 0.018, 0.005
CHARACTER = 0.3  # log-sd of how much more than others a drawer bends, slips and trembles


@dataclass(frozen=True)
class Traces:
    """Where the pen went in each drawing, as `ink.render` takes it.

    points: (p, 2) float32 px; strokes: (s + 1,) and images: (n + 1,) int64 offsets; width: (n,) pen diameter, px.
    """

    points: np.ndarray
    strokes: np.ndarray
    images: np.ndarray
    width: np.ndarray


def hand(drawer: str, seed: int) -> np.ndarray:
    """(10,) standard normal numbers, this drawer's: the seven of HAND, then how bent, how slipping, how trembling."""
    return seeds.rng("glyphs", seed, "hand", drawer).standard_normal(len(HAND) + 3)


def noise(concept: str, drawer: str, character: tuple[Stroke, ...], seed: int) -> np.ndarray:
    """(k,) standard normal numbers of one drawing; k depends on the character alone."""
    wanted = len(DRAWING) + sum(6 + 2 * BENDS + 2 * _n_kinks(len(stroke.points)) for stroke in character)
    return seeds.rng("glyphs", seed, "drawing", concept, drawer).standard_normal(wanted)


def draw(character: tuple[Stroke, ...], hands: np.ndarray, noises: np.ndarray, *, spread: float, size: int) -> Traces:
    """One character, once by each of d drawers, in a frame of size × size px.

    hands: (d, 10), noises: (d, k). Everything that differs between drawings is multiplied by spread, ≥ 0.
    """
    d = len(hands)
    n_shared = len(DRAWING)
    shared = hands[:, :n_shared] * list(HAND.values()) + noises[:, :n_shared] * list(DRAWING.values())
    log_size, log_aspect, slant, turn, across, down, log_pen = spread * shared.T
    bent, slipping, trembling = spread * np.exp(CHARACTER * hands[:, n_shared:]).T[:, :, None, None]
    left = iter(np.split(noises, np.cumsum([n_shared, *_parts(character)]), axis=1)[1:])

    paths: list[np.ndarray] = []
    for stroke in character:
        shape = np.eye(2) + spread * STROKE_SHAPE * next(left).reshape(d, 2, 2)
        slip = slipping * STROKE_SLOP * next(left).reshape(d, 1, 2)
        bends, kinks = next(left).reshape(d, BENDS, 2), next(left).reshape(d, -1, 2)
        waves, hats = _displacements(len(stroke.points))
        path = (stroke.points - stroke.points[stroke.own]) @ shape
        path += waves @ (bent * STROKE_BEND * bends) + hats @ (trembling * STROKE_TREMBLE * kinks)
        path += slip - path[:, stroke.own, None]
        path += (
            stroke.points[stroke.own] if stroke.parent < 0 else paths[stroke.parent][:, stroke.at, None] + stroke.gap
        )
        paths.append(path)

    ink = np.concatenate(paths, axis=1)  # (d, t, 2)
    stretch = np.exp(0.5 * np.stack([log_aspect, -log_aspect]) + log_size)[:, :, None]
    x, y = ink[:, :, 0] * stretch[0], ink[:, :, 1] * stretch[1]
    x = x - slant[:, None] * y
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    ink = np.stack([c * x - s * y + across[:, None], s * x + c * y + down[:, None]], axis=2)
    width = np.maximum(PEN * size * np.exp(log_pen), 1.0)  # thinner than a pixel, binary ink would break
    n_points = np.array([len(stroke.points) for stroke in character])
    return Traces(
        _within(ink * size + size / 2, size, width).reshape(-1, 2).astype(np.float32),
        np.concatenate([[0], np.cumsum(np.tile(n_points, d))]),
        np.arange(d + 1) * len(character),
        width,
    )


def joined(traces: list[Traces]) -> Traces:
    """Several traces, one after the other; at least one."""
    points, strokes = np.cumsum([[len(t.points), len(t.strokes) - 1] for t in traces], axis=0).T
    return Traces(
        np.concatenate([t.points for t in traces]),
        np.concatenate([[0], *(t.strokes[1:] + p for t, p in zip(traces, [0, *points], strict=False))]),
        np.concatenate([[0], *(t.images[1:] + s for t, s in zip(traces, [0, *strokes], strict=False))]),
        np.concatenate([t.width for t in traces]),
    )


def _parts(character: tuple[Stroke, ...]) -> list[int]:
    """How many numbers of a drawing's noise are each stroke's shape, slip, bends and kinks."""
    return [n for s in character for n in (4, 2, 2 * BENDS, 2 * _n_kinks(len(s.points)))]


def _n_kinks(n_points: int) -> int:
    return n_points // TREMBLE + 2


@lru_cache(maxsize=512)
def _displacements(n: int) -> tuple[np.ndarray, np.ndarray]:
    """What the bends, (n, BENDS), and the kinks, (n, n // TREMBLE + 2), move along a stroke of n points."""
    along = np.linspace(0, 1, n)[:, None]
    order = np.arange(1, BENDS + 1)
    kinks = np.linspace(0, 1, _n_kinks(n))
    # A short stroke bends less than a long one: in proportion to its length, up to 20 points.
    waves = np.cos(np.pi * order * along) / order * min(1.0, n / 20)
    return waves, np.clip(1 - np.abs(along - kinks) / kinks[1], 0, None)


def _within(ink: np.ndarray, size: int, width: np.ndarray) -> np.ndarray:
    """ink: (d, t, 2) px, moved, and made smaller where it must, so that the pen stays on the paper."""
    low, high = ink.min(axis=1, keepdims=True), ink.max(axis=1, keepdims=True)
    edge = width[:, None, None] / 2 + 0.5
    room = size - 2 * edge
    scale = np.minimum(1, room / np.maximum(high - low, 1e-9).max(axis=2, keepdims=True))
    middle = (low + high) / 2
    half = (high - low) / 2 * scale
    return (ink - middle) * scale + np.clip(middle, edge + half, size - edge - half)
