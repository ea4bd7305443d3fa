"""What is asked: N classes drawn at random, K labelled samples of each, and Q more that are to be named, or clustered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.errors import UserError, unknown

SETTINGS = {
    "supervised": "labelled samples alone; scored on others",
    "semi": "labelled and unlabelled samples; scored on the unlabelled ones",
    "unsupervised": "unlabelled samples alone, to be clustered",
}


@dataclass(frozen=True)
class TaskConfig:
    """ways, shots, queries: N, K, Q; unsupervised tasks have K + Q samples of a class, none of them labelled.

    proportion: of all queries, the share of the task's first class, the others sharing the rest equally; dirichlet: instead,
    the concentration of the distribution that the classes' shares are drawn from. Balanced unless one is given.
    """

    ways: int = 5
    shots: int = 5
    queries: int = 30
    setting: str = "semi"
    proportion: float | None = None
    dirichlet: float | None = None

    def __post_init__(self) -> None:
        if self.setting not in SETTINGS:
            raise unknown("setting", self.setting, SETTINGS)
        if self.ways < 2:
            raise UserError(f"A task needs at least 2 classes to tell apart, got --ways {self.ways}.")
        if self.shots < 1 or self.queries < 1:
            raise UserError(
                f"A task needs at least 1 labelled sample and 1 query per class, got {self.shots} and {self.queries}."
            )
        if self.proportion is not None and self.dirichlet is not None:
            raise UserError("Give either a proportion or a Dirichlet concentration, not both.")
        if self.proportion is not None and not 0 < self.proportion < 1:
            raise UserError(f"The proportion of the first class must lie between 0 and 1, got {self.proportion}.")
        if self.dirichlet is not None and not self.dirichlet > 0:
            raise UserError(f"The Dirichlet concentration must be above 0, got {self.dirichlet}.")

    @property
    def balanced(self) -> bool:
        return self.proportion is None and self.dirichlet is None

    @property
    def n_needed(self) -> int:
        """Samples that a class must have."""
        return self.shots + (self.queries if self.balanced else self.ways * self.queries)

    def shares(self, n_tasks: int, rng: np.random.Generator) -> np.ndarray:
        """(tasks, ways) int64: queries of each class; equally many in all for every task of a configuration."""
        total = self.ways * self.queries
        if self.dirichlet is not None:
            probability = rng.dirichlet(np.full(self.ways, self.dirichlet), size=n_tasks)
            return rng.multinomial(total, probability)
        counts = np.full(self.ways, self.queries)
        if self.proportion is not None:
            counts[0] = int(self.proportion * total)
            counts[1:] = (total - counts[0]) // (self.ways - 1)
        return np.tile(counts, (n_tasks, 1))


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks of one shape. classes: (tasks, ways) of the bank; support, queries: (tasks, n) and (tasks, q) rows of it; labels:
    (tasks, n), truth: (tasks, q), which of the task's classes each belongs to."""

    config: TaskConfig
    classes: np.ndarray
    support: np.ndarray
    labels: np.ndarray
    queries: np.ndarray
    truth: np.ndarray

    def __len__(self) -> int:
        return len(self.classes)


def usable_classes(counts: np.ndarray, config: TaskConfig) -> np.ndarray:
    """The classes that have enough samples; too few of them is the user's mistake. counts: (classes,) samples of each."""
    enough = np.flatnonzero(counts >= config.n_needed)
    if len(enough) < config.ways:
        raise UserError(
            f"Tasks need {config.ways} classes of at least {config.n_needed} samples, there are {len(enough)} of "
            f"{len(counts)}: lower --ways, --shots or --queries."
        )
    return enough


def sample_tasks(counts: np.ndarray, config: TaskConfig, n_tasks: int, *, rng: np.random.Generator) -> Tasks:
    """Tasks of random classes and distinct samples. counts: (classes,) samples of each class, whose rows follow each other."""
    usable = usable_classes(counts, config)
    start = np.concatenate([[0], np.cumsum(counts)])
    keys = rng.random((n_tasks, len(usable)))
    classes = usable[np.argsort(keys, axis=1)[:, : config.ways]]
    drawn = _distinct(counts[classes], config.n_needed, rng) + start[classes][..., None]  # (tasks, ways, needed)
    shares = config.shares(n_tasks, rng)
    way = np.arange(config.ways)
    labels = np.tile(np.repeat(way, config.shots), (n_tasks, 1))
    support = drawn[:, :, : config.shots].reshape(n_tasks, -1)
    taken = np.arange(config.n_needed - config.shots) < shares[..., None]  # (tasks, ways, most)
    queries = drawn[:, :, config.shots :][taken].reshape(n_tasks, -1)
    truth = np.broadcast_to(way[:, None], taken.shape)[taken].reshape(n_tasks, -1)
    return Tasks(config, classes, support, labels, queries, truth)


def _distinct(sizes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(..., n) distinct whole numbers below each size, in random order."""
    keys = rng.random((*sizes.shape, int(sizes.max())), dtype=np.float32)
    keys[np.arange(keys.shape[-1]) >= sizes[..., None]] = 2
    if n < keys.shape[-1]:
        place = np.argpartition(keys, n - 1, axis=-1)[..., :n]
        order = np.argsort(np.take_along_axis(keys, place, -1), axis=-1)
        return np.take_along_axis(place, order, -1)
    return np.argsort(keys, axis=-1)[..., :n]
