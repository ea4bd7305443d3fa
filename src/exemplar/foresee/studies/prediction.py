"""How good is the predictor on classes it has not seen? It is calibrated on some and asked about others, over random splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from exemplar import engine, seeds, stats
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.calibration import Calibrated
from exemplar.foresee.evaluating import BLOCK, Evaluated, Recipe, evaluate_tasks
from exemplar.foresee.familiarity import Familiar, find_familiar, seen_samples
from exemplar.foresee.predictor_config import PredictorConfig
from exemplar.foresee.predictor_fitting import calibrate_regime
from exemplar.foresee.studies.points import _load, drop_bank, keep_bank
from exemplar.foresee.tasks import TaskConfig, sample_tasks
from exemplar.records import Score
from exemplar.runs import Run
from exemplar.stats import Estimate

N_SPLITS, N_ASKED = 20, 384
LEVEL = 0.9
SIZES = {"n_tasks": 384, "n_groups": 6, "n_held_out": 96}  # half of the default: there are many splits
ASKED = (TaskConfig(5, 5, 30, "semi"),)
KEPT_TASKS = (*ASKED, TaskConfig(5, 1, 30, "semi"), TaskConfig(5, 5, 10, "semi"), TaskConfig(5, 5, 50, "supervised"))


@dataclass(frozen=True)
class SplitJob:
    """n_calibrated: of the bank's classes, at random; asked about: those of the others whose number is at least first_asked."""

    path: str
    fingerprint: str
    task: TaskConfig
    n_calibrated: int
    first_asked: int
    n_asked: int
    number: int
    seed: int


def regime_of(task: TaskConfig) -> str:
    return "one shot" if task.shots == 1 else "several shots"


def called_unlike(familiar: Familiar, bank: FeatureBank, task: TaskConfig, n: int, seed: int) -> np.ndarray:
    """(n,) bool: of the tasks that `evaluate_tasks` draws by this seed; all, where features are of another number."""
    if len(familiar.centre) != bank.rows.shape[1]:
        return np.ones(n, dtype=bool)
    said = []
    for block, start in enumerate(range(0, n, BLOCK)):
        rng = seeds.rng("foresee tasks", seed, block)
        tasks = sample_tasks(bank.counts, task, min(BLOCK, n - start), rng=rng)
        said.append(familiar.unlike(seen_samples(bank, tasks), task.ways))
    return np.concatenate(said)


def ask_tasks(
    model: Calibrated, familiar: Familiar, bank: FeatureBank, task: TaskConfig, n: int, seed: int
) -> dict[str, Any]:
    """Mean absolute error, coverage and width of intervals, and the share of tasks it calls unlike its own."""
    found: Evaluated = evaluate_tasks(bank, task, n, Recipe(measures=model.design.measures), seed=seed)
    base = model.design.of(found)
    lo, hi = model.interval(base, found.n_scored, LEVEL)
    predicted, y = model.ridge.predict(base), found.performance
    inside, unlike = (y >= lo) & (y <= hi), called_unlike(familiar, bank, task, n, seed)
    unlike = unlike | (model.ridge.distance(base) > model.farthest)
    return {
        "error": float(np.abs(predicted - y).mean()),
        "naive": float(np.abs(y - model.ridge.mean).mean()),
        "noise": float(np.sqrt(2 / np.pi) * np.sqrt(y * (1 - y) / found.n_scored).mean()),
        "coverage": float(inside.mean()),
        "width": float((hi - lo).mean()),
        "unlike": float(unlike.mean()),
        "coverage_familiar": float(inside[~unlike].mean()) if not unlike.all() else float("nan"),
    }


def do_split(job: SplitJob) -> dict[str, Any]:
    bank, task = _load(job.path, job.fingerprint), job.task
    order = seeds.rng("foresee splits", job.seed, job.number).permutation(bank.n_classes)
    known, rest = order[: job.n_calibrated], order[job.n_calibrated :]
    ranges = {name: (n, n) for name, n in (("ways", task.ways), ("shots", task.shots), ("queries", task.queries))}
    options: dict[str, Any] = {**ranges, **SIZES, "setting": task.setting, "seed": job.number}
    config = PredictorConfig(**options)
    with engine.one_thread():
        model = calibrate_regime(bank.only(known), config, regime_of(task))
        asked, familiar = bank.only(rest[rest >= job.first_asked]), find_familiar(bank.only(known), config)
        found = ask_tasks(model, familiar, asked, task, job.n_asked, job.number)
        seen = evaluate_tasks(bank.only(known), task, job.n_asked, Recipe(), seed=job.number + 1).performance
    return found | {"constant": narrowest(seen)}


def narrowest(values: np.ndarray) -> float:
    """Width of the best constant interval: the narrowest that holds 90 % of the values."""
    ordered, n_in = np.sort(values), int(np.ceil(LEVEL * len(values)))
    return float((ordered[n_in - 1 :] - ordered[: len(ordered) - n_in + 1]).min())


def compute_predictions(
    run: Run,
    bank: FeatureBank,
    tasks: Sequence[TaskConfig],
    seed: int,
    *,
    n_splits: int = N_SPLITS,
    n_asked: int = N_ASKED,
    first_asked: int = 0,
) -> list[Score]:
    """Scores over random splits of the bank's classes, four ninths of them calibrated on. first_asked: only this and later
    classes are asked about."""
    path, n_known = keep_bank(run, bank), max(10, round(bank.n_classes * 4 / 9))
    jobs = [
        SplitJob(path, bank.fingerprint, task, n_known, first_asked, n_asked, k, seed)
        for task in tasks
        for k in range(n_splits)
    ]
    done = run.map(do_split, jobs, label="splits")
    drop_bank(run)
    scores = []
    for place, task in enumerate(tasks):
        scores += split_scores(done[place * n_splits : (place + 1) * n_splits], task)
    return scores


def describe(task: TaskConfig) -> str:
    return f"{task.setting}, {task.ways}-way {task.shots}-shot {task.queries}-query"


def ratio_of_means(above: np.ndarray, below: np.ndarray) -> Estimate:
    """Mean of one over mean of the other, with a jackknife over their common units."""
    n, value = len(above), above.mean() / below.mean()
    left = (above.sum() - above) / (below.sum() - below)
    reach = stdtrit(n - 1, 0.975) * np.sqrt((n - 1) / n * np.square(left - left.mean()).sum())
    return Estimate(value, value - reach, value + reach, n)


def split_scores(found: Sequence[dict[str, Any]], task: TaskConfig) -> list[Score]:
    columns = {name: np.array([one[name] for one in found]) for name in found[0]}
    explainable = np.maximum(columns["naive"] - columns["noise"], 1e-9)
    named = {
        "absolute_error": ("predictor", stats.mean(columns["error"])),
        "absolute_error_of_the_mean": ("always the mean", stats.mean(columns["naive"])),
        "times_smaller_error": ("predictor", ratio_of_means(columns["naive"], columns["error"])),
        "explained_share": ("predictor", ratio_of_means(columns["naive"] - columns["error"], explainable)),
        "coverage_90": ("predictor", stats.mean(columns["coverage"])),
        "width_90": ("predictor", stats.mean(columns["width"])),
        "width_90_constant": ("best constant interval", stats.mean(columns["constant"])),
        "called_unlike": ("predictor", stats.mean(columns["unlike"])),
    }
    for share in ("coverage_90", "called_unlike"):  # a t-interval of a share may leave its range
        who, mean = named[share]
        named[share] = who, Estimate(mean.value, max(float(mean.lo), 0.0), min(float(mean.hi), 1.0), mean.n)
    labels: dict[str, Any] = {"concept": describe(task)}
    scores = [Score.of(name, estimate, agent=who, **labels) for name, (who, estimate) in named.items()]
    worst = float(np.quantile(columns["coverage"], 0.1))
    return [*scores, Score("coverage_90_worst_tenth", worst, (np.nan, np.nan), 1, agent="predictor", **labels)]
