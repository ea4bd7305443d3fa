"""How good is the predictor on classes it has not seen? It is calibrated on some and asked about others, over random splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.calibration import Calibrated
from exemplar.foresee.evaluating import Evaluated, Recipe, evaluate_tasks
from exemplar.foresee.predictor import GeneralizationPredictor
from exemplar.foresee.studies.points import _load, drop_bank, keep_bank
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.runs import Run

N_SPLITS, N_ASKED = 20, 384
LEVEL = 0.9
SIZES = {"n_tasks": 384, "n_groups": 6, "n_held_out": 96}  # half of the default: there are many splits
ASKED = (TaskConfig(5, 5, 30, "semi"),)


@dataclass(frozen=True)
class SplitJob:
    """n_calibrated: of the bank's classes, at random; the others are asked about."""

    path: str
    fingerprint: str
    task: TaskConfig
    n_calibrated: int
    n_asked: int
    number: int
    seed: int


def fit_for(bank: FeatureBank, task: TaskConfig, seed: int) -> GeneralizationPredictor:
    return GeneralizationPredictor.fit(
        bank, ways=task.ways, shots=task.shots, queries=task.queries, setting=task.setting, seed=seed, **SIZES
    )


def ask_tasks(
    predictor: GeneralizationPredictor, bank: FeatureBank, task: TaskConfig, n: int, seed: int
) -> dict[str, Any]:
    """Mean absolute error, coverage and width of intervals, and the share of tasks it calls unlike its own."""
    model: Calibrated = predictor.models["one shot" if task.shots == 1 else "several shots"]
    found: Evaluated = evaluate_tasks(bank, task, n, Recipe(measures=model.design.measures), seed=seed)
    base = model.design.of(found)
    lo, hi = model.interval(base, found.n_scored, LEVEL)
    predicted, y = model.ridge.predict(base), found.performance
    return {
        "error": float(np.abs(predicted - y).mean()),
        "naive": float(np.abs(y - model.ridge.mean).mean()),
        "noise": float(np.sqrt(2 / np.pi) * np.sqrt(y * (1 - y) / found.n_scored).mean()),
        "coverage": float(((y >= lo) & (y <= hi)).mean()),
        "width": float((hi - lo).mean()),
        "unlike": float((model.ridge.distance(base) > model.farthest).mean()),
    }


def do_split(job: SplitJob) -> dict[str, Any]:
    bank = _load(job.path, job.fingerprint)
    rng = seeds.rng("foresee splits", job.seed, job.number)
    order = rng.permutation(bank.n_classes)
    known, new = bank.only(order[: job.n_calibrated]), bank.only(order[job.n_calibrated :])
    predictor = fit_for(known, job.task, job.number)
    found = ask_tasks(predictor, new, job.task, job.n_asked, job.number)
    # the best constant interval: the narrowest that holds 90 % of accuracies on the calibration classes
    seen = np.sort(evaluate_tasks(known, job.task, job.n_asked, Recipe(), seed=job.number + 1).performance)
    n_in = int(np.ceil(LEVEL * len(seen)))
    return found | {"constant": float((seen[n_in - 1 :] - seen[: len(seen) - n_in + 1]).min())}


def compute_predictions(
    run: Run,
    bank: FeatureBank,
    tasks: Sequence[TaskConfig],
    seed: int,
    *,
    n_splits: int = N_SPLITS,
    n_asked: int = N_ASKED,
) -> list[Score]:
    """Scores over random splits of the bank's classes, four ninths of them calibrated on."""
    path, n_known = keep_bank(run, bank), max(10, round(bank.n_classes * 4 / 9))
    jobs = [
        SplitJob(path, bank.fingerprint, task, n_known, n_asked, k, seed) for task in tasks for k in range(n_splits)
    ]
    done = run.map(do_split, jobs, label="splits")
    drop_bank(run)
    scores = []
    for place, task in enumerate(tasks):
        scores += split_scores(done[place * n_splits : (place + 1) * n_splits], task)
    return scores


def describe(task: TaskConfig) -> str:
    return f"{task.setting}, {task.ways}-way {task.shots}-shot {task.queries}-query"


def split_scores(found: Sequence[dict[str, Any]], task: TaskConfig) -> list[Score]:
    columns = {name: np.array([one[name] for one in found]) for name in found[0]}
    about = describe(task)
    named = {
        "absolute_error": ("predictor", columns["error"]),
        "absolute_error_of_the_mean": ("always the mean", columns["naive"]),
        "times_smaller_error": ("predictor", columns["naive"] / columns["error"]),
        "explained_share": (
            "predictor",
            (columns["naive"] - columns["error"]) / np.maximum(columns["naive"] - columns["noise"], 1e-9),
        ),
        "coverage_90": ("predictor", columns["coverage"]),
        "width_90": ("predictor", columns["width"]),
        "width_90_constant": ("best constant interval", columns["constant"]),
        "called_unlike": ("predictor", columns["unlike"]),
    }
    scores = [Score.of(name, stats.mean(values), agent=who, concept=about) for name, (who, values) in named.items()]
    worst = float(np.quantile(columns["coverage"], 0.1))
    return [*scores, Score("coverage_90_worst_tenth", worst, (np.nan, np.nan), 1, agent="predictor", concept=about)]
