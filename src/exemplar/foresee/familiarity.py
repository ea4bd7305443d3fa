"""Whether a task's features lie where those lay that a predictor was calibrated on.

Measures of a task cannot tell: drawings, or features of another encoder, may have the same. Two numbers of its features can,
each compared with what tasks of classes held out from the calibration have: how far their mean lies from the calibration's, and
which share of their spread lies outside of its main directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from exemplar import seeds
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.predictor_config import PredictorConfig
from exemplar.foresee.tasks import TaskConfig, Tasks, sample_tasks

N_AXES, PER_CLASS = 8, 200  # main directions; samples of each class that are looked at
LEAST_VARIANCE = 0.3  # of the mean variance of a feature: some are hardly ever active
MARGINS = (1.2, 1.0)  # times the largest of tasks of classes held out: what lies beyond either is unlike them
N_GROUPS, N_CONFIGS, N_EACH = 24, 12, 4  # groups of classes held out; configurations of tasks, and tasks of each
DIGITS = 4  # that are kept in a file
ROUNDING = 1e-3  # a share below it is none


@dataclass(frozen=True, eq=False)
class Familiar:
    """centre: (d,) mean of the class means; between, within: (d,) variances of class means, and within classes; axes: (d, r)
    main directions of the samples; farthest: (2,) beyond which a task is unlike them."""

    centre: np.ndarray
    between: np.ndarray
    within: np.ndarray
    axes: np.ndarray
    farthest: np.ndarray

    def distances(self, samples: np.ndarray, ways: int) -> np.ndarray:
        """(tasks, 2): of the mean, in standard deviations of that of so many new classes; and the share of the spread around
        the centre outside of the axes. samples: (tasks, m, d) of length 1."""
        apart = samples - self.centre
        variance = self.between / ways + self.within / samples.shape[1]
        variance = variance + LEAST_VARIANCE * variance.mean()
        mean = np.sqrt((np.square(apart.mean(axis=1)) / variance).mean(axis=1))
        inside = np.square(apart @ self.axes).sum(axis=(1, 2)) / np.square(apart).sum(axis=(1, 2))
        return np.stack([mean, np.maximum(1 - inside, ROUNDING)], axis=1)

    def unlike(self, samples: np.ndarray, ways: int) -> np.ndarray:
        """(tasks,) bool."""
        return np.asarray((self.distances(samples, ways) > self.farthest).any(axis=1))

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}

    @classmethod
    def of_plain(cls, at: Mapping[str, Any]) -> Familiar:
        return cls(**{name: np.asarray(at[name], np.float64) for name in cls.__dataclass_fields__})


def find_familiar(bank: FeatureBank, config: PredictorConfig) -> Familiar:
    """Of a bank's features; how far counts as unlike is found on groups of a quarter of the classes, again and again, and the
    features of the others. Groups share classes, and there are few: hence the margin, chosen on validation classes."""
    rng, size = seeds.rng("foresee familiar", config.seed), max(2, bank.n_classes // 4)
    some, found = bank.first(PER_CLASS), list[np.ndarray]()
    for _ in range(N_GROUPS):
        order = rng.permutation(bank.n_classes)
        inside, outside = describe_features(some.only(order[size:])), bank.only(order[:size])
        for task in config.draw(N_CONFIGS, config.regimes[-1], rng):
            smaller = TaskConfig(min(task.ways, size), task.shots, task.queries, task.setting)
            tasks = sample_tasks(outside.counts, smaller, N_EACH, rng=rng)
            found.append(inside.distances(seen_samples(outside, tasks), smaller.ways))
    every = np.concatenate(found)
    return describe_features(some, every.max(axis=0) * MARGINS)


def describe_features(bank: FeatureBank, farthest: np.ndarray | None = None) -> Familiar:
    parts = [bank.of_class(c).astype(np.float64) for c in range(bank.n_classes)]
    means = np.stack([part.mean(axis=0) for part in parts])
    within = np.mean([part.var(axis=0, ddof=1) for part in parts], axis=0)
    noise = within * np.mean([1 / len(part) for part in parts])  # of a class mean
    centre, between = means.mean(axis=0), np.maximum(means.var(axis=0, ddof=1) - noise, 0)
    limits = np.full(2, np.inf) if farthest is None else farthest
    axes = _main_axes(np.concatenate(parts) - centre)
    return Familiar(*(_short(part) for part in (centre, between, within, axes, limits)))


def _main_axes(apart: np.ndarray) -> np.ndarray:
    """(d, r): the directions in which samples (n, d) spread most, each with its largest entry above 0."""
    n_axes = min(N_AXES, *(size - 1 for size in apart.shape))
    if n_axes < 1:
        return np.zeros((apart.shape[1], 0))
    axes = svds(apart, n_axes, v0=np.ones(min(apart.shape)))[2].T[:, ::-1]
    return axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_axes)])


def _short(values: np.ndarray) -> np.ndarray:
    """To a few digits, as they are kept in a file."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.flat]).reshape(values.shape)


def seen_samples(bank: FeatureBank, tasks: Tasks) -> np.ndarray:
    """(tasks, m, d): what a predictor sees of tasks: labelled samples, and the unlabelled ones where they are part of it."""
    parts = [tasks.support] if tasks.config.setting == "supervised" else [tasks.support, tasks.queries]
    return bank.rows[np.concatenate(parts, axis=1)].astype(np.float64)
