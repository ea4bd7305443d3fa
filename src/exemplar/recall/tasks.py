"""What is asked: support sets one after the other, then targets of them all (the specification's Algorithm 1), as indices.

A task is made from (seed, its number) alone, by a counter-based generator: neither the order in which tasks are made nor who
makes them changes anything. Where the specification leaves room, this file follows the readings in docs/recall.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, unknown

POLICIES = ("strict", "unseen")
PART = 256  # tasks sampled at once: their keys stay in the processor's cache
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64 (Steele et al. 2014)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class TaskShape:
    """The specification's hyperparameters.

    nss: support sets of a task (NSS); ways: classes of a support set (N_C); shots, targets: support and target samples of each
    class per set (K_S, K_T); cci: support sets in a row that share their classes (CCI); overwrite: whether later classes take
    the labels of earlier ones; policy: strict, where every sample of a task is distinct, or unseen, where no target is ever in
    a support set but target sets may share samples.
    """

    nss: int = 3
    ways: int = 5
    shots: int = 1
    targets: int = 5
    cci: int = 1
    overwrite: bool = False
    policy: str = "strict"

    def __post_init__(self) -> None:
        for name in ("nss", "ways", "shots", "targets", "cci"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UserError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if self.cci > self.nss:
            raise UserError(f"CCI {self.cci} is larger than NSS {self.nss}: lower --cci, or raise --nss")
        if self.nss % self.cci:
            raise UserError(f"NSS {self.nss} is no multiple of CCI {self.cci}: choose another --nss or --cci")
        if self.policy not in POLICIES:
            raise unknown("policy", self.policy, POLICIES)

    @property
    def n_groups(self) -> int:
        """How often the classes change, the first choice included: NSS / CCI."""
        return self.nss // self.cci

    @property
    def n_classes(self) -> int:
        """Distinct classes of a task."""
        return self.n_groups * self.ways

    @property
    def n_labels(self) -> int:
        """The width of the output."""
        return self.ways if self.overwrite else self.n_classes

    @property
    def n_samples(self) -> int:
        """Samples that a class must have."""
        return self.cci * self.shots + self.targets * (self.cci if self.policy == "strict" else 1)

    def header(self) -> dict[str, Any]:
        """As it is hashed and kept; where there is one group of classes, overwrite changes nothing and is left out."""
        fields = asdict(self)
        if self.n_groups == 1:
            del fields["overwrite"]
        return fields

    def labels(self) -> np.ndarray:
        """(nss, ways) int64 from 0: the label of each class of each set."""
        group = np.arange(self.nss) // self.cci
        first = np.zeros_like(group) if self.overwrite else group * self.ways
        return first[:, None] + np.arange(self.ways)

    def check_supply(self, counts: np.ndarray, name: str) -> np.ndarray:
        """The classes (places in counts) with enough samples, if there are enough such classes; else what to change."""
        enough = np.flatnonzero(counts >= self.n_samples)
        if len(enough) >= self.n_classes:
            return enough
        if len(counts) >= self.n_classes:
            need = f"{self.n_classes} classes of {self.n_samples} samples"
            advice = "lower --targets, --shots or --cci"
            if self.policy == "strict" and self.cci > 1:
                advice += f", or use --policy unseen, which needs {self.cci * self.shots + self.targets}"
            most = f", the largest has {int(counts.max(initial=0))}" if not len(enough) else ""
            raise UserError(f"a task needs {need}, {name} has {len(enough)} such classes{most}: {advice}")
        raise UserError(
            f"a task needs {self.n_classes} classes, {name} has {len(counts)}: lower --ways or --nss, or raise --cci"
        )


# The settings of the literature (Antoniou et al. 2020 name the four shifts A to D), at their smallest NSS.
TYPES = {
    "no-shift": TaskShape(nss=1, cci=1),
    "new-samples": TaskShape(nss=3, cci=3),
    "new-classes-overwrite": TaskShape(nss=3, cci=1, overwrite=True),
    "new-classes": TaskShape(nss=3, cci=1),
    "new-classes-and-samples": TaskShape(nss=4, cci=2),
}
ABOUT_TYPES = {
    "no-shift": "one support set: an ordinary few-shot task",
    "new-samples": "the same classes again, other samples",
    "new-classes-overwrite": "other classes each time, under the same labels",
    "new-classes": "other classes each time, with labels of their own",
    "new-classes-and-samples": "other classes every second set, other samples in between",
}


@dataclass(frozen=True, eq=False)
class Indices:
    """Tasks as rows of the data. number: (n,) the task's number; support: (n, nss, ways, shots), target: (n, nss, ways,
    targets) rows, int32."""

    number: np.ndarray
    support: np.ndarray
    target: np.ndarray


def sample_indices(shape: TaskShape, rows: np.ndarray, counts: np.ndarray, numbers: np.ndarray, seed: int) -> Indices:
    """The tasks of these numbers.

    rows: (classes, most) int32, the rows of each class's samples, anything beyond its count; counts: (classes,), every one
    at least `shape.n_samples`; numbers: (n,) whole numbers from 0.
    """
    parts = list(_parts(shape, rows, counts, np.asarray(numbers, np.uint64), seed))
    support, target = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return Indices(np.asarray(numbers, np.int64), support, target)


def _parts(
    shape: TaskShape, rows: np.ndarray, counts: np.ndarray, numbers: np.ndarray, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    start = np.uint64(seeds.seed("recall tasks", seed))
    for first in range(0, len(numbers), PART):
        task = mix(start + (numbers[first : first + PART] + np.uint64(1)) * GOLDEN)
        classes = _lowest(_keys(mix(task ^ ONES), len(counts)), shape.n_classes)  # (tasks, classes)
        yield _choose(shape, rows, counts, task, classes)


def _choose(
    shape: TaskShape, rows: np.ndarray, counts: np.ndarray, task: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Support and target rows of tasks whose classes are chosen."""
    of_class = mix(task[:, None] + (classes.astype(np.uint64) + np.uint64(1)) * GOLDEN)
    places = _draw(_keys(of_class, shape.n_samples), counts[classes])
    drawn = np.take_along_axis(rows[classes], places, axis=2)
    n, cci, ways = len(task), shape.cci, shape.ways
    drawn = drawn.reshape(n, shape.n_groups, ways, shape.n_samples)
    cut = cci * shape.shots
    support = drawn[..., :cut].reshape(n, shape.n_groups, ways, cci, shape.shots)
    if shape.policy == "strict":
        target = drawn[..., cut:].reshape(n, shape.n_groups, ways, cci, shape.targets)
    else:  # every set of a group asks about the same samples, none of them ever shown
        target = np.broadcast_to(drawn[..., None, cut:], (n, shape.n_groups, ways, cci, shape.targets))
    by_set = [part.transpose(0, 1, 3, 2, 4).reshape(n, shape.nss, ways, -1) for part in (support, target)]
    return by_set[0].astype(np.int32), by_set[1].astype(np.int32)


def mix(value: np.ndarray) -> np.ndarray:
    """splitmix64's output function: uint64 → uint64, each bit of the input in every bit of the output."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))


def _keys(key: np.ndarray, n: int) -> np.ndarray:
    """(..., n) random numbers of each key (...)."""
    with np.errstate(over="ignore"):
        return mix(key[..., None] + np.arange(1, n + 1, dtype=np.uint64) * GOLDEN)


def _lowest(keys: np.ndarray, n: int) -> np.ndarray:
    """(..., n) the places of the n lowest keys along the last axis, lowest first: a random sample in random order."""
    return np.argsort(keys, axis=-1)[..., :n]


def _draw(keys: np.ndarray, count: np.ndarray) -> np.ndarray:
    """(..., k) distinct places below count (...), in random order, from as many keys: each is a place among those left.

    (The remainder of 64 bits is uniform to one part in 10¹⁵.)
    """
    drawn = np.empty(keys.shape, np.int64)
    for k in range(keys.shape[-1]):
        place = (keys[..., k] % (count - k).astype(np.uint64)).astype(np.int64)
        for taken in np.moveaxis(np.sort(drawn[..., :k], axis=-1), -1, 0):  # count on past what is taken
            place += place >= taken
        drawn[..., k] = place
    return drawn
