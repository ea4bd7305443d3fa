"""Two animals everyone knows, of the same tubes as the invented objects: for a first session that must be easy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exemplar.images.objects.shapes import Limb

STEPS = 24  # segments of a tube

# A tube: points of its axis (x forwards, y left, z up), radius at each, and how flat it is; symmetrical ones stand once.
Tube = tuple[Sequence[tuple[float, float, float]], Sequence[float], float]
ANIMALS: dict[str, tuple[list[Tube], list[Tube]]] = {
    "elephant": (
        [
            ([(-0.55, 0, 0), (0, 0, 0.08), (0.5, 0, 0.05)], (0.36, 0.46, 0.34), 1.0),  # body
            ([(0.62, 0, 0.3), (0.82, 0, 0.28)], (0.29, 0.27), 1.0),  # head
            (
                [(0.95, 0, 0.2), (1.22, 0, -0.1), (1.25, 0, -0.5), (1.5, 0, -0.66)],
                (0.14, 0.11, 0.085, 0.07),
                1.0,
            ),  # trunk
            ([(-0.85, 0, 0.15), (-1.02, 0, -0.2)], (0.05, 0.035), 1.0),  # tail
        ],
        [
            ([(0.5, 0.46, 0.42), (0.44, 0.62, 0.1)], (0.34, 0.24), 0.22),  # ears, wide and flat
            ([(0.42, 0.22, -0.1), (0.42, 0.24, -0.88)], (0.17, 0.15), 1.0),  # forelegs
            ([(-0.5, 0.22, -0.1), (-0.5, 0.24, -0.88)], (0.18, 0.15), 1.0),  # hind legs
            ([(0.98, 0.13, 0.08), (1.2, 0.18, -0.12), (1.38, 0.2, -0.08)], (0.05, 0.045, 0.02), 1.0),  # tusks
        ],
    ),
    "bear": (
        [
            ([(0, 0, -0.45), (0, 0, 0), (0.02, 0, 0.35)], (0.42, 0.44, 0.3), 1.0),  # body, sitting upright
            ([(0.03, 0, 0.72), (0.08, 0, 0.76)], (0.33, 0.32), 1.0),  # head
            ([(0.3, 0, 0.66), (0.44, 0, 0.64)], (0.15, 0.11), 1.0),  # snout
        ],
        [
            ([(0.0, 0.26, 0.98), (0.0, 0.32, 1.06)], (0.12, 0.11), 0.6),  # round ears
            ([(0.05, 0.32, 0.25), (0.3, 0.5, 0.0), (0.5, 0.4, -0.12)], (0.15, 0.13, 0.13), 1.0),  # arms
            ([(0.1, 0.28, -0.6), (0.45, 0.38, -0.72), (0.75, 0.42, -0.66)], (0.2, 0.18, 0.18), 1.0),  # legs
        ],
    ),
}


def familiar_shape(name: str) -> tuple[Limb, ...]:
    middle, sides = ANIMALS[name]
    mirrored = [([(x, -y, z) for x, y, z in points], radius, flat) for points, radius, flat in sides]
    return tuple(
        _limb(np.array(points, float), np.array(radius, float), flat)
        for points, radius, flat in (*middle, *sides, *mirrored)
    )


def _limb(points: np.ndarray, radius: np.ndarray, flat: float) -> Limb:
    """A smooth tube through the points. A flat one is thin from front to back."""
    along, t = np.linspace(0, 1, len(points)), np.linspace(0, 1, STEPS + 1)
    axis = np.stack([_smooth(t, along, points[:, k]) for k in range(3)], axis=1)
    heading = np.gradient(axis, axis=0)
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    across = np.cross(heading, np.array([1.0, 0.0, 0.0]))  # the long diameter of an ear lies left to right
    flatter = np.linalg.norm(across, axis=1, keepdims=True) < 0.2
    across = np.where(flatter, np.cross(heading, np.array([0.0, 1.0, 0.0])), across)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return Limb(axis, across, _smooth(t, along, radius), flat)


def _smooth(t: np.ndarray, along: np.ndarray, values: np.ndarray) -> np.ndarray:
    from scipy.interpolate import PchipInterpolator

    smooth: np.ndarray = PchipInterpolator(along, values)(t)
    return smooth
