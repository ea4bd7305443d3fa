"""Whether two drawers differ in a score: the paired difference over the same concepts and the same critics.

A difference is known of each concept by each critic, (s, k). Both are taken as drawn from many: its variance is that of two
crossed random effects (with one or two critics it is over concepts alone). The interval and p are by Student's t, of one and
the same test: p is below .05 where the interval leaves out 0. The data's own drawers, whose hands drew many concepts each, add
the noise of these; an agent's drawings are taken as independent, and drawings that are the same do not differ. Shares near 0
or 1 hang on a few concepts, of which a set may show none: two shares never differ by less than three concepts' worth.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from exemplar import stats
from exemplar.draw.measures.intervals import FEW_CRITICS
from exemplar.draw.measures.told_apart import LEVEL, hand_noise

UNSEEN = 3.0  # concepts' worth by which shares may differ unseen (the rule of three): by simulation, see `draw-null`
SMALLEST, HALVINGS = 1e-12, 40  # in search of p
VALUES, HANDS = "by_critic_", "hands_of_"  # how a run names them
NOTHING = 0.0, (0.0, 0.0), 1.0  # the difference of a drawer to itself, its interval and p
ROUNDING = 1e-6  # critics compute in float32: what is nearer is alike


@dataclass(frozen=True, eq=False)
class Headline:
    """One drawer's score, ready for differences. values: (s, k) by each critic; shared: the variance of the mean that hands
    add which drew many concepts, beyond what differences between concepts show; free: how many hands that is known from;
    share: whether it is one, in [0, 1]."""

    values: np.ndarray
    shared: float
    free: float
    share: bool = False


@dataclass(frozen=True)
class Difference:
    """a − b of a score. p_corrected: for all pairs of this score (Holm)."""

    a: str
    b: str
    score: str
    difference: float
    ci95: tuple[float, float]
    p: float
    p_corrected: float

    @property
    def differs(self) -> bool:
        """Whether the two differ, all pairs considered."""
        return self.p_corrected < LEVEL


def headline(by_drawing: np.ndarray, hands: np.ndarray | None = None, *, share: bool = False) -> Headline:
    """by_drawing: (s, k, n), whose mean over drawings is the score; hands: (k, n), None where no two drawings are by one."""
    if hands is None:
        return Headline(by_drawing.mean(axis=2), 0.0, 1.0, share)
    k, n = by_drawing.shape[1:]
    mean = by_drawing.mean(axis=0, keepdims=True)
    whole = hand_noise(mean, hands)
    alone = hand_noise(mean, np.arange(k * n).reshape(k, n))
    beyond = float(np.square(whole.parts).sum() - np.square(alone.parts).sum())
    return Headline(by_drawing.mean(axis=2), max(beyond, 0.0), whole.free, share)


def difference(one: Headline, other: Headline) -> tuple[float, tuple[float, float], float]:
    """one − other, its 95 % interval, and p."""
    gap = one.values - other.values
    gap = np.where(np.abs(gap) > ROUNDING, gap, 0.0)
    middle, (parts, free) = float(gap.mean()), _variance_parts(gap)
    parts += [one.shared, other.shared]
    free += [one.free, other.free]
    variance, least = sum(parts), UNSEEN / gap.shape[1] if one.share else 0.0
    if variance <= 0:
        p = 1.0 if abs(middle) <= least else 2.0 ** (1 - gap.shape[1])  # that of a sign test
        return middle, _ends(middle, least, one.share), p
    half, p = _reach(LEVEL, parts, free), _p_of(abs(middle), parts, free)
    if half < least:
        half, p = least, _p_of(abs(middle) * _reach(LEVEL, parts, free) / least, parts, free)
    return middle, _ends(middle, half, one.share), float(p)


def _ends(middle: float, half: float, share: bool) -> tuple[float, float]:
    """Two shares differ by 1 at most."""
    low, high = middle - half, middle + half
    return (max(low, -1.0), min(high, 1.0)) if share else (low, high)


def _reach(p: float, parts: Sequence[float], free: Sequence[float]) -> float:
    """Half of the interval that leaves out p: each part of the variance has Student's quantile of its own, which never covers
    less than it should (Banerjee 1960)."""
    return float(np.sqrt((np.square(stdtrit(np.array(free), 1 - p / 2)) * np.array(parts)).sum()))


def _p_of(gap: float, parts: Sequence[float], free: Sequence[float]) -> float:
    """The p whose interval ends at 0."""
    if gap <= 0:
        return 1.0
    low, high = np.log(SMALLEST), 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _reach(np.exp(middle), parts, free) > gap else (low, middle)
    return float(np.exp(high))


def _variance_parts(gap: np.ndarray) -> tuple[list[float], list[float]]:
    """Of the mean over concepts and critics, drawn independently: (concepts, critics) and what each is known from."""
    s, k = gap.shape
    concepts = float(gap.mean(axis=0).var(ddof=1) / k)
    if s < FEW_CRITICS:  # how critics differ is not known: these alone are meant
        return [concepts], [k - 1]
    critics = float(gap.mean(axis=1).var(ddof=1) / s)
    rest = gap - gap.mean(axis=0) - gap.mean(axis=1, keepdims=True) + gap.mean()
    noise = float(np.square(rest).sum() / ((s - 1) * (k - 1)) / (s * k))  # is in both of the others
    return [concepts, max(critics - noise, 0.0)], [k - 1, s - 1]


@dataclass(frozen=True, eq=False)
class Moved:
    """Where a drawer stands, seen from the data's own. moved: (s, k, 2) of each concept, z-scored; noise: (2s, 2s), the
    covariance of the mean that the hands of the data's drawers add; free: how many hands that is known from."""

    moved: np.ndarray
    noise: np.ndarray
    free: float

    @property
    def along(self) -> np.ndarray:
        """(s, 2) of length 1: the way from the data's drawers to this one; 0 where it is nowhere else."""
        middle = self.moved.mean(axis=1)
        length = np.hypot(*middle.T)[:, None]
        return np.divide(middle, length, out=np.zeros_like(middle), where=length > 0)


def distance_difference(one: Moved, other: Moved) -> tuple[float, tuple[float, float], float]:
    """The distance of one − that of the other. To first order: each concept counts as far as it lies along the way to its
    drawer. What the data's drawers add cancels where both ways are the same."""
    weights = [side.along.ravel() / len(side.along) for side in (one, other)]
    apart = weights[0] - weights[1]
    common = float(apart @ one.noise @ apart)
    sides = [Headline((side.moved * side.along[:, None]).sum(axis=2), common / 2, one.free) for side in (one, other)]
    return difference(*sides)


def compare_pairs(
    headlines: Mapping[str, Mapping[str, Headline]],
    distances: Mapping[str, Moved],
    distance: str,
    same: Collection[frozenset[str]] = (),
) -> list[Difference]:
    """Every pair of drawers in every score both have, p corrected within each score (Holm).

    headlines: score → drawer → values; distances: of the drawers that have one to the data's own (who are none of them);
    distance: what that score is called; same: pairs of drawers whose drawings are the same, which differ in nothing.
    """
    found: list[Difference] = []
    for score, drawers in headlines.items():
        pairs = [
            (a, b, *(NOTHING if {a, b} in same else difference(drawers[a], drawers[b])))
            for a, b in combinations(drawers, 2)
        ]
        found += _corrected(score, pairs)
    pairs = [
        (a, b, *(NOTHING if {a, b} in same else distance_difference(distances[a], distances[b])))
        for a, b in combinations(distances, 2)
    ]
    return found + _corrected(distance, pairs)


def _corrected(score: str, pairs: Sequence[tuple[str, str, float, tuple[float, float], float]]) -> list[Difference]:
    if not pairs:
        return []
    corrected = stats.adjust_p([p for *_, p in pairs])
    return [
        Difference(a, b, score, value, ends, p, float(q))
        for (a, b, value, ends, p), q in zip(pairs, corrected, strict=True)
    ]


def to_arrays(headlines: Mapping[str, Headline], moved: Moved | None) -> dict[str, np.ndarray]:
    """For an npz, from which `from_arrays` makes them again."""
    found = {}
    for name, one in headlines.items():
        found[f"{VALUES}{name}"] = one.values
        found[f"{HANDS}{name}"] = np.array([one.shared, one.free, one.share], float)
    if moved is not None:
        found |= {"moved": moved.moved, "moved_noise": moved.noise[None], "moved_free": np.array([moved.free])}
    return found


def from_arrays(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Headline], Moved | None]:
    """Nothing where `to_arrays` left nothing, as in runs of earlier versions."""
    headlines = {}
    for key, values in arrays.items():
        if key.startswith(VALUES):
            name = key.removeprefix(VALUES)
            shared, free, share = arrays[HANDS + name]
            headlines[name] = Headline(values, float(shared), float(free), bool(share))
    if "moved" not in arrays:
        return headlines, None
    # earlier versions wrote an agent's own hands before those of the data's drawers
    return headlines, Moved(arrays["moved"], arrays["moved_noise"][-1], float(arrays["moved_free"][-1]))
