"""A grammar of invented objects: a body and families of bent, tapered, ribbed limbs that grow out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar import seeds

STEPS = 28  # segments of a limb
TRIES, FULL = 8, 0.17  # proposals for an object until one fills less of the ball around it than this


@dataclass(frozen=True, eq=False)
class Limb:
    """A tube along a curve, its cross-section an ellipse whose size varies along it and around it.

    points: (t, 3) its axis; sides: (t, 3) unit vectors across the axis, from which angles around it count; radius: (t,)
    of the cross-section; flat: short over long diameter of the cross-section, in (0, 1]; flutes: ridges around it, 0 for
    none; depth: of a ridge, as a share of the radius; twist: radians by which the ridges turn from base to tip.
    """

    points: np.ndarray
    sides: np.ndarray
    radius: np.ndarray
    flat: float = 1.0
    flutes: int = 0
    depth: float = 0.0
    twist: float = 0.0


@dataclass(frozen=True)
class Style:
    """What the limbs of one family share.

    length, thickness: of a limb, where the body is about 1 long; taper: radius along a limb, see TAPERS; bend: radians by
    which it turns in all; coil: radians by which the plane of that turning rotates in all; ribs: rings along it; relief:
    of a ring, as a share of the radius; sharp: whether rings are thin ridges or wide bulges; the rest as in `Limb`.
    """

    length: float
    thickness: float
    taper: str
    bend: float
    coil: float
    ribs: int
    relief: float
    sharp: float
    flat: float
    flutes: int
    depth: float
    twist: float


# Radius along a limb, as a share of its thickness: at the base, in the middle, near the tip, and at the tip.
TAPERS = {
    "horn": (1.0, 0.72, 0.34, 0.06),
    "club": (0.55, 0.5, 1.05, 0.75),
    "spindle": (0.5, 1.1, 0.6, 0.15),
    "rod": (0.75, 0.75, 0.75, 0.7),
    "bell": (0.7, 0.45, 0.85, 1.3),
}


def shape(name: str, seed: int) -> tuple[Limb, ...]:
    """The object of this name: its body, a single limb, first. Where it lies in space and how large it is does not matter."""
    from exemplar.images.objects.familiar import ANIMALS, familiar_shape

    if name in ANIMALS:
        return familiar_shape(name)
    rng = seeds.rng("objects", seed, "shape", name)
    proposals: list[tuple[Limb, ...]] = []
    while len(proposals) < TRIES and (not proposals or _fullness(proposals[-1]) > FULL):
        proposals.append(_proposal(rng))
    return min(proposals, key=_fullness)


def _proposal(rng: np.random.Generator) -> tuple[Limb, ...]:
    body = _grown(_body(rng), np.zeros(3), np.eye(3)[2], np.eye(3)[0])
    limbs = [body]
    plans = [_rows, _star, _crown, _helix, _scatter]
    likely = rng.permutation(len(plans))[: rng.choice([2, 3, 4], p=[0.4, 0.45, 0.15])]
    for order, plan in enumerate(likely):
        family = plans[plan](body, _style(rng, first=order == 0), rng)
        limbs += family
        if rng.random() < 0.3:  # what grows may itself bear something
            small = _style(rng, first=False, shrink=0.55)
            limbs += _tips(family, small, rng) if rng.random() < 0.6 else _scatter(family[0], small, rng)
    return tuple(limbs)


def _fullness(limbs: tuple[Limb, ...]) -> float:
    """About the share of the ball around an object that its limbs fill: what is nearly a ball has no shape to learn."""
    points = np.concatenate([limb.points for limb in limbs])
    reach = np.concatenate([limb.radius for limb in limbs])[:, None]
    extent = ((points + reach).max(axis=0) - (points - reach).min(axis=0)).max() / 2
    steps = [np.linalg.norm(np.diff(limb.points, axis=0), axis=1) for limb in limbs]
    ends = 4 / 3 * limbs[0].radius[0] ** 3  # a short body is mostly its round ends
    volume = ends + sum((lb.flat * lb.radius[1:] ** 2 * step).sum() for lb, step in zip(limbs, steps, strict=True))
    return float(0.75 * volume / extent**3)


def _body(rng: np.random.Generator) -> Style:
    """Anything from a ball to a long, curled, segmented trunk."""
    length = rng.uniform(0.15, 1.5)
    return Style(
        length=length,
        thickness=rng.uniform(0.17, 0.34) * (1.15 - 0.4 * length),
        taper=str(rng.choice(["horn", "club", "spindle", "rod", "bell"])),
        bend=rng.uniform(0, 2.6) * min(1.0, length),
        coil=rng.normal(0, 1.2),
        ribs=int(rng.choice([0, 0, int(rng.integers(2, 5)), int(rng.integers(5, 10))])) if length > 0.5 else 0,
        relief=rng.uniform(0.12, 0.4),
        sharp=rng.uniform(0.6, 3),
        flat=float(rng.choice([1.0, 1.0, rng.uniform(0.4, 0.8)])),
        flutes=int(rng.choice([0, 0, 3, 4, 5, 6])),
        depth=rng.uniform(0.1, 0.28),
        twist=rng.normal(0, 2),
    )


def _style(rng: np.random.Generator, *, first: bool, shrink: float = 1.0) -> Style:
    """A family's style; the first family of an object is its largest."""
    kind = str(rng.choice(list(TAPERS), p=[0.4, 0.18, 0.18, 0.14, 0.1]))
    length = rng.uniform(0.7, 1.5) if first else rng.uniform(0.3, 0.95)
    thickness = float(np.clip(length * rng.uniform(0.11, 0.26), 0.07, 0.21))
    ribs = int(rng.choice([0, int(rng.integers(2, 5)), int(rng.integers(5, 9))], p=[0.4, 0.3, 0.3]))
    bend = abs(rng.normal(0, 1.4)) + (rng.uniform(1, 3.5) if rng.random() < 0.3 else 0)
    return Style(
        length=length * shrink,
        thickness=max(thickness * shrink, 0.055),
        taper=kind,
        bend=min(bend, length / (1.8 * thickness)),  # a thick limb that curls more is but a lump
        coil=rng.normal(0, 1.5),
        ribs=ribs if shrink == 1 else 0,
        relief=rng.uniform(0.18, 0.45),
        sharp=rng.uniform(0.6, 3),
        flat=float(rng.choice([1.0, 1.0, rng.uniform(0.35, 0.7)])),
        flutes=int(rng.choice([0, 0, 0, 3, 4])) if shrink == 1 and thickness > 0.12 else 0,
        depth=rng.uniform(0.15, 0.3),
        twist=rng.normal(0, 3),
    )


def _rows(body: Limb, style: Style, rng: np.random.Generator) -> list[Limb]:
    """Pairs along the body, like ribs or legs; longest where a bump along the row says."""
    n = int(rng.integers(2, 5))
    spread, lean, peak = rng.uniform(0.5, 1.4), rng.uniform(-0.7, 0.7), rng.uniform(0, 1)
    limbs = []
    for along in np.linspace(0.1, 0.9, n):
        size = 1 - 0.55 * abs(along - peak)
        limbs += [_on(body, along, side * spread, lean, style, size, mirror=side) for side in (-1, 1)]
    return limbs


def _star(body: Limb, style: Style, rng: np.random.Generator) -> list[Limb]:
    """Evenly around one place of the body."""
    n, along, lean, start = int(rng.integers(3, 7)), rng.uniform(0, 1), rng.uniform(-0.8, 0.8), rng.uniform(0, 6.3)
    return [_on(body, along, start + 2 * np.pi * k / n, lean, style, 1.0) for k in range(n)]


def _crown(body: Limb, style: Style, rng: np.random.Generator) -> list[Limb]:
    """A few out of one end, spread like fingers."""
    n, along, start = int(rng.integers(1, 4)), float(rng.integers(2)), rng.uniform(0, 6.3)
    lean = (1 if along else -1) * (1.5 if n == 1 else rng.uniform(0.7, 1.1))
    return [_on(body, along, start + 2 * np.pi * k / n, lean, style, rng.uniform(0.75, 1.1)) for k in range(n)]


def _helix(body: Limb, style: Style, rng: np.random.Generator) -> list[Limb]:
    """A spiral staircase, growing or shrinking on its way."""
    n, start, step = int(rng.integers(4, 9)), rng.uniform(0, 6.3), rng.uniform(0.6, 2.2)
    size = np.linspace(1, rng.uniform(0.35, 1), n)[:: rng.choice([-1, 1])]
    return [_on(body, k / (n - 1), start + k * step, 0.0, style, 0.75 * size[k]) for k in range(n)]


def _scatter(body: Limb, style: Style, rng: np.random.Generator) -> list[Limb]:
    """A few, each in a place and direction of its own."""
    places = [(rng.uniform(0, 1), rng.uniform(0, 6.3), rng.uniform(-0.8, 0.8)) for _ in range(rng.integers(1, 4))]
    return [_on(body, *place, style, rng.uniform(0.5, 1.1)) for place in places]


def _tips(family: list[Limb], style: Style, rng: np.random.Generator) -> list[Limb]:
    """Each limb of a family forks near its end."""
    along, start, lean = rng.uniform(0.55, 0.95), rng.uniform(0, 6.3), rng.uniform(0, 0.9)
    return [_on(limb, along, start + fork * np.pi, lean, style, 1.0) for limb in family for fork in range(2)]


def _on(
    parent: Limb, along: float, around: float, lean: float, style: Style, size: float, *, mirror: float = 1.0
) -> Limb:
    """A limb whose base lies inside its parent: at `along` of its length, `around` its axis (rad), leaning by `lean`
    (rad) towards its tip; mirror −1 bends the other way."""
    place = round(along * (len(parent.points) - 1))
    at = max(1, min(place, len(parent.points) - 1))
    axis = parent.points[at] - parent.points[at - 1]
    axis = axis / np.linalg.norm(axis)
    side = parent.sides[place]
    across = np.cos(around) * side + np.sin(around) * np.cross(axis, side)
    heading = np.cos(lean) * across + np.sin(lean) * axis
    base = parent.points[place] + 0.35 * parent.radius[place] * heading
    normal = np.cos(lean) * axis - np.sin(lean) * across
    return _grown(style, base, heading, normal, size=size, mirror=mirror)


def _grown(
    style: Style, base: np.ndarray, heading: np.ndarray, side: np.ndarray, *, size: float = 1.0, mirror: float = 1.0
) -> Limb:
    """A limb from its base on: it turns evenly towards `side`, while that plane itself rotates."""
    t = np.linspace(0, 1, STEPS + 1)
    step, turn, roll = style.length * size / STEPS, style.bend / STEPS, mirror * style.coil / STEPS
    points, sides = _path(base, heading, side, step, turn, roll, STEPS + 1)
    radius = style.thickness * np.sqrt(size) * np.interp(t, [0, 0.45, 0.88, 1], TAPERS[style.taper])
    radius = np.convolve(np.pad(radius, 2, mode="edge"), [0.1, 0.2, 0.4, 0.2, 0.1], mode="valid")
    if style.ribs:
        wave = 0.5 - 0.5 * np.cos(2 * np.pi * style.ribs * t)
        radius = radius * (1 + style.relief * (2 * wave**style.sharp - 1))
    return Limb(points, sides, radius, style.flat, style.flutes, style.depth, mirror * style.twist)


@njit(cache=True)
def _path(
    base: np.ndarray, heading: np.ndarray, side: np.ndarray, step: float, turn: float, roll: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """n points and sides (n, 3) of a curve that turns by `turn` a step, in a plane that rolls by `roll` a step."""
    points, sides = np.empty((n, 3)), np.empty((n, 3))
    point = base
    for k in range(n):
        points[k], sides[k] = point, side
        point = point + step * heading
        heading, side = np.cos(turn) * heading + np.sin(turn) * side, np.cos(turn) * side - np.sin(turn) * heading
        side = np.cos(roll) * side + np.sin(roll) * np.cross(heading, side)
    return points, sides
