"""How measures turn into a predicted accuracy: a ridge on tasks of known classes, and intervals from classes it has not seen.

Tasks that share classes are not exchangeable, so what an interval must cover is found on whole groups of classes that the ridge
was not fitted to, again and again with other groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar.foresee.evaluating import Evaluated

LEAST_VARIANCE = 0.1  # of standardised covariates, in distances: correlated ones have less in some direction
LEVELS = np.round(np.arange(0.005, 1.0, 0.005), 3)  # of which quantiles are kept
FAMILIAR = 0.99  # share of held-out tasks that count as familiar
LEAST_SPREAD = 0.01  # of a (1 − a), so that an accuracy near 0 or 1 is never certain


@dataclass(frozen=True, eq=False)
class Design:
    """What the ridge sees of tasks: their measures, the logarithms of their numbers that vary, and products of both.

    measures: names; numbers: of "ways", "shots", "queries", those that vary.
    """

    measures: tuple[str, ...]
    numbers: tuple[str, ...]

    def base(self, values: np.ndarray, ways: Any, shots: Any, queries: Any) -> np.ndarray:
        """(tasks, measures + numbers). values: (tasks, measures); the others broadcast to (tasks,)."""
        all_numbers = {"ways": ways, "shots": shots, "queries": queries}
        logs = [np.broadcast_to(np.log(np.asarray(all_numbers[name], float)), len(values)) for name in self.numbers]
        return np.concatenate([values, *(log[:, None] for log in logs)], axis=1)

    def of(self, found: Evaluated) -> np.ndarray:
        task = found.config
        values = np.stack([found.measures[name] for name in self.measures], axis=1)
        return self.base(values, task.ways, task.shots, task.queries)


@dataclass(frozen=True, eq=False)
class Ridge:
    """centre, scale: (base,) of the covariates; n_measures: how many of them are measures, the others being numbers; weight:
    of the standardised covariates and their products; mean: of accuracy; whiten: (base, base), for distances."""

    centre: np.ndarray
    scale: np.ndarray
    n_measures: int
    weight: np.ndarray
    mean: float
    whiten: np.ndarray

    @classmethod
    def fit(cls, base: np.ndarray, accuracy: np.ndarray, n_measures: int, penalty: float) -> Ridge:
        """base: (tasks, covariates); penalty: on standardised covariates, per task."""
        centre, scale = base.mean(axis=0), base.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        z = (base - centre) / scale
        x = expand(z, n_measures)
        mean = float(accuracy.mean())
        inner = x.T @ x / len(x) + penalty * np.eye(x.shape[1])
        weight = np.linalg.solve(inner, x.T @ (accuracy - mean) / len(x))
        spread = z.T @ z / len(z) + LEAST_VARIANCE * np.eye(z.shape[1])
        return cls(centre, scale, n_measures, weight, mean, np.linalg.cholesky(np.linalg.inv(spread)))

    def standardise(self, base: np.ndarray) -> np.ndarray:
        return (base - self.centre) / self.scale

    def predict(self, base: np.ndarray) -> np.ndarray:
        """(tasks,) in [0, 1]."""
        return np.clip(self.mean + expand(self.standardise(base), self.n_measures) @ self.weight, 0, 1)

    def distance(self, base: np.ndarray) -> np.ndarray:
        """(tasks,): how far from the tasks it was fitted to, in standard deviations (Mahalanobis, per covariate)."""
        return np.sqrt(np.square(self.standardise(base) @ self.whiten).mean(axis=1))


def expand(z: np.ndarray, n_measures: int) -> np.ndarray:
    """Standardised covariates, and each measure times each number."""
    products = [z[:, :n_measures] * z[:, [k]] for k in range(n_measures, z.shape[1])]
    return np.concatenate([z, *products], axis=1)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A ridge with what its errors are on other classes.

    excess: variance of its error beyond that of counting n samples; quantiles: at LEVELS, of |error| over its expected size;
    farthest: distance beyond which a task is unlike all it was calibrated on; error: mean absolute error on classes held out;
    naive: that of always predicting the mean of the other classes.
    """

    design: Design
    ridge: Ridge
    excess: float
    quantiles: np.ndarray
    farthest: float
    error: float
    naive: float

    def spread(self, predicted: np.ndarray, n_scored: Any) -> np.ndarray:
        """Expected size of the error of a prediction, for accuracy on n samples."""
        return np.sqrt(np.maximum(predicted * (1 - predicted), LEAST_SPREAD) / n_scored + self.excess)

    def interval(self, base: np.ndarray, n_scored: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
        predicted = self.ridge.predict(base)
        reach = np.interp(level, LEVELS, self.quantiles) * self.spread(predicted, n_scored)
        return np.clip(predicted - reach, 0, 1), np.clip(predicted + reach, 0, 1)

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        ridge = {name: np.asarray(value).tolist() for name, value in vars(self.ridge).items()}
        return {**vars(self), "design": vars(self.design), "ridge": ridge, "quantiles": self.quantiles.tolist()}

    @classmethod
    def of_plain(cls, at: dict[str, Any]) -> Calibrated:
        ridge: dict[str, Any] = {name: np.asarray(value) for name, value in at["ridge"].items()}
        ridge |= {"n_measures": int(at["ridge"]["n_measures"]), "mean": float(at["ridge"]["mean"])}
        design = Design(tuple(at["design"]["measures"]), tuple(at["design"]["numbers"]))
        kept = {name: float(at[name]) for name in ("excess", "farthest", "error", "naive")}
        return cls(design=design, ridge=Ridge(**ridge), quantiles=np.asarray(at["quantiles"]), **kept)


@dataclass(frozen=True, eq=False)
class Group:
    """Tasks of some classes, and tasks of classes that are not among them: lists of what was found, by configuration."""

    inside: Sequence[Evaluated]
    outside: Sequence[Evaluated]


def calibrate(design: Design, everything: Sequence[Evaluated], groups: Sequence[Group], penalty: float) -> Calibrated:
    """everything: tasks of all classes, which the ridge is fitted to; groups: for its errors on classes it has not seen."""
    ridge = _fit(design, everything, penalty)
    error, predicted, n_scored, distance, naive = [], [], [], [], []
    for group in groups:
        fitted = _fit(design, group.inside, penalty)
        for found in group.outside:
            base = design.of(found)
            predicted.append(fitted.predict(base))
            error.append(found.performance - predicted[-1])
            n_scored.append(np.full(len(base), found.n_scored))
            distance.append(fitted.distance(base))
            naive.append(np.abs(found.performance - fitted.mean))
    e, p, n, d = (np.concatenate(parts) for parts in (error, predicted, n_scored, distance))
    counting = np.maximum(p * (1 - p), LEAST_SPREAD) / n
    excess = max(float(np.mean(np.square(e) - counting)), 1e-6)
    ratio = np.abs(e) / np.sqrt(counting + excess)
    farthest = float(np.quantile(d, FAMILIAR))
    quantiles = np.quantile(ratio, LEVELS)
    return Calibrated(
        design, ridge, excess, quantiles, farthest, float(np.abs(e).mean()), float(np.concatenate(naive).mean())
    )


def _fit(design: Design, found: Sequence[Evaluated], penalty: float) -> Ridge:
    base = np.concatenate([design.of(one) for one in found])
    accuracy = np.concatenate([one.performance for one in found])
    return Ridge.fit(base, accuracy, len(design.measures), penalty)
