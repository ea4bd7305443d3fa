"""What a character is: a small program of strokes, each attached to another, in the style its alphabet shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from exemplar import seeds
from exemplar.images.glyphs.shapes import ANGULAR, LINE, ROUND, SPACING, Temper, evenly, spline
from exemplar.images.ink import render

TRIES = 40  # proposals for a character before the best so far is taken
ALIKE = 0.80  # cosine of two blurred characters above which the second is a near-duplicate
MIN_LENGTH, MAX_LENGTH = 1.7, 4.8  # of a character's ink, where its longer side is 1
FEW = np.ones(3)  # chances of 1, 2, 3 strokes once an alphabet's usual numbers have failed a dozen times
LETTERS = (
    ("", "k", "t", "m", "s", "r", "v", "l", "n", "d", "sh", "th", "z", "b", "y"),
    ("a", "e", "i", "o", "u", "ai"),
    ("", "", "n", "r", "l", "s", "m"),
)


@dataclass(frozen=True, eq=False)
class Stroke:
    """One line of the pen. points: (t, 2), x right, y down, where the character is about 1 wide.

    parent: the stroke it hangs on (−1: none); at: the parent's point it hangs on; own: its own point that hangs there;
    gap: (2,) how far its own point is from the parent's (0, 0 where they touch).
    """

    points: np.ndarray
    parent: int = -1
    at: int = 0
    own: int = 0
    gap: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Style:
    """What the characters of an alphabet share.

    vocabulary: strokes as (t, 2) points of extent 1, the first ones used most; flips: chance of left-right, up-down and
    quarter-turned use; counts: chances of 1, 2, … strokes; chain: chance that a stroke goes on with another of the
    vocabulary; echo: chance that a stroke repeats the one before it elsewhere; marks: chance of a detached dot or tick;
    head: None, or the straight stroke with which most characters begin; side: (2,) where from it the others hang;
    extent: size of a character as a part of the frame; aspect: width over height; places: where along a stroke others
    attach, 0 to 1.
    """

    vocabulary: tuple[np.ndarray, ...]
    flips: tuple[float, float, float]
    counts: np.ndarray
    chain: float
    echo: float
    marks: float
    head: np.ndarray | None
    side: np.ndarray
    extent: float
    aspect: float
    places: tuple[float, ...]


def names(n: int, seed: int) -> tuple[str, ...]:
    """Distinct pronounceable alphabet names; the first of many are those of few."""
    rng = seeds.rng("glyphs", seed, "names")
    found: dict[str, None] = {}
    while len(found) < n:
        syllables = ["".join(str(rng.choice(letters)) for letters in LETTERS) for _ in range(rng.integers(2, 4))]
        name = "".join(syllables).capitalize()
        if 4 <= len(name) <= 9:
            found[name] = None
    return tuple(found)


def count(alphabet: int, characters: int, seed: int) -> int:
    """How many characters an alphabet has: between two and four thirds of the typical number, at least 4."""
    low, high = max(4, round(characters * 2 / 3)), max(4, round(characters * 4 / 3))
    return int(seeds.rng("glyphs", seed, "count", alphabet).integers(low, high + 1))


@lru_cache(maxsize=64)
def characters(alphabet: int, n: int, seed: int) -> tuple[tuple[Stroke, ...], ...]:
    """The first n characters of an alphabet, all different; their points centred on (0, 0), in parts of the frame."""
    style = _style(seeds.rng("glyphs", seed, "style", alphabet))
    kept: list[tuple[Stroke, ...]] = []
    looks = np.empty((0, 20 * 20), np.float32)
    for number in range(n):
        rng = seeds.rng("glyphs", seed, "character", alphabet, number)
        best: tuple[Stroke, ...] = ()
        least, best_look = np.inf, looks[:0]
        for attempt in range(TRIES):
            proposal = _character(style, rng, n_strokes=style.counts if attempt < 12 else FEW)
            unfit = _unfitness(proposal)
            if unfit >= least:
                continue
            look = _look(proposal)
            fault = unfit + float((looks @ look).max(initial=0.0))
            if fault < least:
                best, least, best_look = proposal, fault, look[None]
            if fault < ALIKE:
                break
        kept.append(best)
        looks = np.concatenate([looks, best_look])
    return tuple(kept)


def _style(rng: np.random.Generator) -> Style:
    kind = rng.choice(3, p=[0.4, 0.3, 0.3])  # round, angular, both
    temper = Temper(*[(1.0, 2), (float(rng.choice([0.0, 0.25])), 1), (float(rng.uniform(0.5, 0.9)), 2)][kind])
    families = [ROUND, ANGULAR, ROUND + ANGULAR][kind]
    chosen = [families[k] for k in rng.permutation(len(families))[: rng.integers(3, 6)]]
    if rng.random() < 0.85:
        chosen.insert(int(rng.integers(0, 2)), LINE)
    tilt = rng.choice([0.0, 0.0, 0.0, 0.0, np.pi / 4])
    vocabulary = []
    for shape in chosen:
        path = spline(shape(temper, rng.random(2)), temper.roundness)
        quarter = rng.integers(4) * np.pi / 2 + (tilt if shape is not LINE else rng.choice([0, tilt]))
        vocabulary.append(_unit(path @ _rotation(quarter)))
    across, down = np.array([1.0, 0]), np.array([0, 1.0])
    heads = [(None, down)] * 4 + [(down, across), (down, -across), (across, down)]  # stems, and a headline
    head, side = heads[rng.integers(len(heads))]
    typical = rng.uniform(0.0, 2.6)
    counts = np.exp(-0.5 * ((np.arange(5) - typical) / rng.uniform(0.7, 1.2)) ** 2)
    return Style(
        tuple(vocabulary),
        (rng.uniform(0, 0.5), rng.uniform(0, 0.4), rng.uniform(0, 0.35)),
        counts / counts.sum(),
        chain=rng.uniform(0.15, 0.7) if kind != 1 else rng.uniform(0, 0.35),
        echo=rng.uniform(0, 0.5),
        marks=max(0.0, rng.uniform(-0.15, 0.3)),
        head=None if head is None else evenly(np.array([-head / 2, head / 2])),
        side=side,
        extent=float(np.clip(rng.normal(0.64, 0.08), 0.45, 0.76)),
        aspect=float(np.exp(rng.normal(0, 0.2))),
        places=((0.0, 1.0), (0.0, 0.5, 1.0), (0.0, 0.33, 0.67, 1.0), (0.0, 0.5))[rng.integers(4)],
    )


def _character(style: Style, rng: np.random.Generator, n_strokes: np.ndarray) -> tuple[Stroke, ...]:
    """One proposal; n_strokes: chances of 1, 2, … strokes, the first attached to nothing, the others to earlier ones."""
    n = 1 + int(np.searchsorted(np.cumsum(n_strokes), rng.random() * n_strokes.sum()))
    headed = style.head is not None and n > 1 and rng.random() < 0.8
    first = _path(style, rng, style.chain + (0.35 if n == 1 else 0.0), plain=(n - 1) / 2)
    strokes = [Stroke(style.head if headed and style.head is not None else first)]
    while len(strokes) < n:
        strokes.append(_attached(style, strokes, n, headed, rng))
    if rng.random() < style.marks:
        strokes.append(_mark(strokes, rng))
    ink = np.concatenate([stroke.points for stroke in strokes])
    low, high = ink.min(axis=0), ink.max(axis=0)
    stretch = np.array([style.aspect, 1])
    scale = stretch * style.extent * rng.uniform(0.85, 1.05) / ((high - low) * stretch).max()
    middle = (low + high) / 2
    return tuple(
        Stroke((s.points - middle) * scale, s.parent, s.at, s.own, (s.gap[0] * scale[0], s.gap[1] * scale[1]))
        for s in strokes
    )


def _unfitness(strokes: tuple[Stroke, ...]) -> float:
    """0 for a character one can read and write; more the thinner, plainer, longer or more crowded it is."""
    ink = np.concatenate([stroke.points for stroke in strokes])
    extent = np.ptp(ink, axis=0)
    length = sum(np.linalg.norm(np.diff(s.points, axis=0), axis=1).sum() for s in strokes) / extent.max()
    thin = max(0.0, 0.25 - extent.min() / extent.max())
    odd = max(0.0, MIN_LENGTH - length) + max(0.0, length - MAX_LENGTH)
    # Crowded is where ink lies on or close beside other ink that is not its own neighbour along the stroke.
    few = ink[::2] / extent.max()
    along = np.concatenate([np.arange(len(s.points)) + 1000 * k for k, s in enumerate(strokes)])[::2]
    dx, dy = few[:, None, 0] - few[:, 0], few[:, None, 1] - few[:, 1]
    near = dx * dx + dy * dy < 0.13**2
    crowded = (near & (np.abs(along[:, None] - along[None]) > 10)).any(axis=1).mean()
    allowed = 0.15 + 0.08 * len(strokes)  # where strokes meet they are always close
    return 2 * thin + odd + 3 * max(0.0, crowded - allowed)


def _path(style: Style, rng: np.random.Generator, chain: float, plain: float) -> np.ndarray:
    """A stroke of one piece of the vocabulary, or with chance `chain` of two, rarely three; `plain` as in `_piece`."""
    path = _piece(style, rng, plain)
    for chance in (chain, chain / 2):
        if rng.random() >= chance:
            break
        piece = _piece(style, rng, plain) * (0.5, 0.75, 1.0)[rng.integers(3)]
        if rng.random() < 0.6:  # go on about where the pen is heading, as in joined-up writing, by quarter turns
            turn = _heading(piece[0], piece[3]) - _heading(path[-4], path[-1])
            piece = piece @ _rotation(np.round(turn / (np.pi / 2)) * np.pi / 2)
        path = np.concatenate([path, piece[1:] - piece[0] + path[-1]])
    return path


def _piece(style: Style, rng: np.random.Generator, plain: float) -> np.ndarray:
    """(t, 2) One of the vocabulary, flipped or turned as the alphabet does; the larger `plain`, the rarer long ones."""
    length = np.array([len(path) * SPACING for path in style.vocabulary])
    likely = np.cumsum(length**-plain / (1.5 + np.arange(len(length))))
    path = style.vocabulary[np.searchsorted(likely, rng.random() * likely[-1])]
    across, down, turned = rng.random(3) < style.flips
    path = path * [-1 if across else 1, -1 if down else 1]
    return path[:, ::-1] if turned else path


def _attached(style: Style, strokes: list[Stroke], n: int, headed: bool, rng: np.random.Generator) -> Stroke:
    """A further stroke, smaller or as large, that begins, ends or crosses somewhere on an earlier one.

    The more strokes, n, a character has, the plainer they are: otherwise nobody could read it.
    """
    mirrored = len(strokes) > 1 and rng.random() < 0.4
    if len(strokes) > 1 and rng.random() < style.echo:
        last = strokes[-1]
        path, own, parent = last.points * [-1 if mirrored else 1, 1], last.own, max(last.parent, 0)
    else:
        mirrored = False
        path = _path(style, rng, style.chain - 0.3, plain=n - 1.0)
        path = evenly(path * (0.45, 0.45, 0.6, 0.6, 0.8, 1.0)[rng.integers(6)])
        own = round((0.0, 0.0, 0.0, 0.0, 0.5, 1.0)[rng.integers(6)] * (len(path) - 1))
        parent = 0 if rng.random() < 0.7 else int(rng.integers(len(strokes)))
    path = path - path[own]
    if headed and parent == 0 and not mirrored and path.mean(axis=0) @ style.side < 0:
        path = path * (1 - 2 * np.abs(style.side))  # hangs from the head on the alphabet's side
    on = strokes[parent].points
    at = round(style.places[rng.integers(len(style.places))] * (len(on) - 1))
    return Stroke(path + on[at], parent, at, own)


def _mark(strokes: list[Stroke], rng: np.random.Generator) -> Stroke:
    """A dot or a tick beside the first stroke's box."""
    ink = np.concatenate([stroke.points for stroke in strokes])
    low, high = ink.min(axis=0), ink.max(axis=0)
    side = np.array([(0.5, -0.22), (0.5, 1.22), (1.2, 0.5), (1.15, 0.1), (0.5, 0.5)])[rng.integers(5)]
    place = low + side * np.maximum(high - low, 0.4)
    reach = rng.choice([0.04, 0.2])
    path = evenly(place + np.array([[0, -reach / 2], [reach / 4, reach / 2]]))
    at = len(strokes[0].points) // 2
    gap = path[0] - strokes[0].points[at]
    return Stroke(path, 0, at, 0, (float(gap[0]), float(gap[1])))


def _look(strokes: tuple[Stroke, ...]) -> np.ndarray:
    """(400,) float32 of length 1: the character drawn small with a broad pen, whatever its size."""
    points = np.concatenate([stroke.points for stroke in strokes])
    offsets = np.cumsum([0, *(len(stroke.points) for stroke in strokes)])
    points = points * (14 / np.ptp(points, axis=0).max()) + 10
    look = render(points, offsets, np.array([0, len(strokes)]), size=(20, 20), width=3.0).reshape(-1).astype(np.float32)
    return look / np.linalg.norm(look)


def _unit(path: np.ndarray) -> np.ndarray:
    """Centred, its longer side 1 long."""
    low, high = path.min(axis=0), path.max(axis=0)
    return evenly((path - (low + high) / 2) / (high - low).max())


def _heading(start: np.ndarray, end: np.ndarray) -> float:
    return float(np.arctan2(end[1] - start[1], end[0] - start[0]))


def _rotation(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])
