"""A predictor of accuracy: it learns on classes with many samples which measures foretell accuracy, and how wrong they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from exemplar import engine, seeds
from exemplar.errors import UserError
from exemplar.foresee.banks import find_bank
from exemplar.foresee.calibration import Calibrated
from exemplar.foresee.familiarity import Familiar, find_familiar
from exemplar.foresee.indicators import compute_measures
from exemplar.foresee.labelling import check_budget, labelling_order
from exemplar.foresee.posteriors import expected_confusion, matched_posterior
from exemplar.foresee.predictor_config import N_SCORED, PredictorConfig
from exemplar.foresee.predictor_fitting import calibrate_regime, check_bank, find_growth
from exemplar.foresee.single_tasks import FewShotTask
from exemplar.runs import read_json, write_json

VERSION = 3


@dataclass(frozen=True, eq=False)
class GeneralizationPredictor:
    """models: for one shot and for several; growth: how much the log odds of being right grow per log of labelled samples;
    source: what it was calibrated on; familiar: where its features lie. Make one with `fit` or `load`."""

    config: PredictorConfig
    models: Mapping[str, Calibrated]
    growth: float
    source: str
    familiar: Familiar

    @property
    def n_features(self) -> int:
        return len(self.familiar.centre)

    @classmethod
    def fit(
        cls,
        bank: Any,
        *,
        ways: Any = 5,
        shots: Any = 5,
        queries: Any = 30,
        setting: str = "semi",
        seed: int = 0,
        **more: int,
    ) -> GeneralizationPredictor:
        """Learn from a bank of features of classes that its encoder was not trained on.

        bank: anything `run` takes as features; ways, shots, queries: a number, or a (lowest, highest) pair of them.
        """
        asked: dict[str, Any] = {"setting": setting, "seed": seed, **more}
        config = PredictorConfig(_pair(ways), _pair(shots), _pair(queries), **asked)
        found = find_bank(bank)
        check_bank(found, config)
        with engine.one_thread():
            models = {regime: calibrate_regime(found, config, regime) for regime in config.regimes}
            growth, familiar = find_growth(found, config), find_familiar(found, config)
        return cls(config, models, growth, f"{found.source}, {found.n_classes} classes", familiar)

    def predict(self, task: FewShotTask) -> float:
        """Expected accuracy on samples like the task's queries."""
        model, base = self._base(task)
        return float(model.ridge.predict(base)[0])

    def interval(self, task: FewShotTask, level: float = 0.9) -> tuple[float, float]:
        """Where the accuracy on the queries (on 50 new samples per class, where there are none) lies with this probability."""
        if not 0 < level < 1:
            raise UserError(f"The level must lie between 0 and 1, got {level}.")
        model, base = self._base(task)
        lo, hi = model.interval(base, self.n_scored(task), level)
        return float(lo[0]), float(hi[0])

    def n_scored(self, task: FewShotTask) -> int:
        return task.n_queries if self.config.setting == "semi" else N_SCORED * task.n_ways

    def find_warnings(self, task: FewShotTask) -> list[str]:
        """Why not to believe a prediction: numbers outside of what it was calibrated for, or a task unlike all of it."""
        said, numbers = (
            list[str](),
            {"ways": task.n_ways, "shots": _shots(task), "queries": task.n_queries / task.n_ways},
        )
        for name in ("ways", "shots", "queries") if self.config.setting == "semi" else ("ways", "shots"):
            low, high = getattr(self.config, name)
            if not low * 0.99 <= numbers[name] <= high * 1.01:
                said.append(
                    f"The predictor was calibrated for {low} to {high} {name}, this task has {numbers[name]:.3g}."
                )
        if task.support.shape[1] != self.n_features:
            said.append(
                f"The predictor was calibrated on samples of {self.n_features} features ({self.source}), these have "
                f"{task.support.shape[1]}: they come from another encoder."
            )
        elif self.familiar.unlike(self._seen(task)[None], task.n_ways)[0]:
            said.append(
                f"The features of this task lie where none lay that the predictor was calibrated on ({self.source}): these are "
                "other images, or another encoder."
            )
        model, base = self._base(task)
        far = float(model.ridge.distance(base)[0])
        if far > model.farthest:
            said.append(
                f"This task is unlike anything the predictor was calibrated on ({self.source}): its measures lie "
                f"{far:.1f} standard "
                f"deviations out, where 99 % of tasks stay within {model.farthest:.1f}."
            )
        return said

    def posterior(self, task: FewShotTask) -> np.ndarray:
        """(q, ways): probabilities of the queries' classes, sharpened or flattened to agree with the predicted accuracy."""
        if task.queries is None:
            raise UserError("There are no unlabelled samples whose classes could be told: give some.")
        log_p = self._view(task).query_log_p[0].double().numpy()
        return matched_posterior(log_p, self.predict(task))

    def per_class(self, task: FewShotTask) -> dict[str, float]:
        """Expected accuracy of each class: of its samples, the share that will be named right."""
        matrix = self.confusion(task)
        return {name: float(matrix[k, k]) for k, name in enumerate(task.names)}

    def confusion(self, task: FewShotTask) -> np.ndarray:
        """(ways, ways): of each class's samples (rows), the share expected to be given each name (columns)."""
        return expected_confusion(self._view(task), self.predict(task))

    def label_next(self, task: FewShotTask, budget: int, policy: str = "cover") -> tuple[list[int], float]:
        """Which queries to label, in order, and the accuracy to expect after as many labels at random."""
        check_budget(budget, task.n_queries)
        order = labelling_order(self._view(task), policy, budget, rng=seeds.rng("foresee label next", self.config.seed))
        return order[0].tolist(), self.after(task, budget)

    def after(self, task: FewShotTask, budget: int) -> float:
        """Expected accuracy with so many more labelled samples, as it grew on the calibration classes."""
        chance = 1 / task.n_ways
        now = np.clip(self.predict(task), chance, 1 - 1e-3)
        odds = np.log(now / (1 - now)) + self.growth * np.log1p(budget / len(task.labels))
        return float(1 / (1 + np.exp(-odds)))

    def save(self, path: Path | str) -> Path:
        """A JSON file, whole or not at all."""
        place = Path(path).expanduser()
        models = {name: model.plain() for name, model in self.models.items()}
        about = {"predictor": VERSION, "config": vars(self.config), "growth": self.growth, "source": self.source}
        write_json(place, about | {"familiar": self.familiar.plain(), "models": models})
        return place

    @classmethod
    def load(cls, path: Path | str) -> GeneralizationPredictor:
        place = Path(path).expanduser()
        if not place.is_file():
            raise UserError(f"there is no predictor {place}: make one with exemplar foresee fit")
        try:
            at = read_json(place)
            if at["predictor"] != VERSION:
                raise KeyError("predictor")
            pairs = {name: tuple(at["config"][name]) for name in ("ways", "shots", "queries")}
            config = PredictorConfig(**(at["config"] | pairs))
            models = {name: Calibrated.of_plain(model) for name, model in at["models"].items()}
            return cls(config, models, float(at["growth"]), str(at["source"]), Familiar.of_plain(at["familiar"]))
        except (UserError, KeyError, TypeError, ValueError, AttributeError) as problem:
            raise UserError(
                f"{place} is no predictor, or of another version: make it again with exemplar foresee fit"
            ) from problem

    def _seen(self, task: FewShotTask) -> np.ndarray:
        """(m, d): the samples it looks at."""
        if self.config.setting == "supervised" or task.queries is None:
            return task.support
        return np.concatenate([task.support, task.queries])

    def _view(self, task: FewShotTask) -> Any:
        if self.config.setting == "semi" and task.queries is None:
            raise UserError(
                "This predictor is for tasks with unlabelled samples, and there are none: use a supervised one."
            )
        seen = (
            task if self.config.setting == "semi" else FewShotTask(task.support, task.labels, task.names, task.queries)
        )
        return seen.view(diffused=self.config.setting == "semi")

    def _base(self, task: FewShotTask) -> tuple[Calibrated, np.ndarray]:
        regime = "several shots" if int(task.counts.min()) > 1 else "one shot"
        if regime not in self.models:
            raise UserError(
                f"The predictor was calibrated for {self.config.shots[0]} to {self.config.shots[1]} labelled samples "
                "per class, "
                f"this task has a class of {int(task.counts.min())}: fit another one."
            )
        model = self.models[regime]
        with engine.one_thread(), torch.inference_mode():
            measured = compute_measures(self._view(task), model.design.measures)
        values = np.array([[float(measured[name][0]) for name in model.design.measures]])
        if not np.isfinite(values).all():
            name = model.design.measures[int(np.flatnonzero(~np.isfinite(values[0]))[0])]
            raise UserError(
                f"{name} has no value for this task, perhaps because samples are identical: remove duplicates."
            )
        queries = max(task.n_queries / task.n_ways, 1)
        return model, model.design.base(values, task.n_ways, _shots(task), queries)


def _shots(task: FewShotTask) -> float:
    """Labelled samples per class: the geometric mean, where classes differ."""
    return float(np.exp(np.log(task.counts).mean()))


def _pair(value: Any) -> tuple[int, int]:
    low, high = (value, value) if np.ndim(value) == 0 else value
    return int(low), int(high)
