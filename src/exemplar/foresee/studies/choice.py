"""Which measures should the predictor take, and how much should its ridge shrink them? Chosen on validation classes alone.

The classes are split in two at random, again and again: a ridge of each candidate is fitted to tasks of one side and asked
about tasks of the other. What is chosen here is what `measure_sets.CHOSEN` has; test classes take no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import engine, seeds, stats
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.calibration import Design, Ridge
from exemplar.foresee.evaluating import Evaluated
from exemplar.foresee.measure_sets import CHOSEN, measure_sets
from exemplar.foresee.predictor_config import PredictorConfig
from exemplar.foresee.predictor_fitting import evaluate_configs
from exemplar.foresee.studies.points import _load, drop_bank, keep_bank
from exemplar.records import Score
from exemplar.runs import Run

PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)
N_SPLITS, N_CONFIGS, N_INSIDE, N_OUTSIDE = 8, 16, 192, 128
RANGES: dict[str, Any] = {"ways": (2, 6), "shots": (1, 20), "queries": (5, 40)}


@dataclass(frozen=True)
class ChoiceJob:
    path: str
    fingerprint: str
    setting: str
    regime: str
    number: int
    seed: int


def do_split(job: ChoiceJob) -> dict[str, Any]:
    """`candidate|penalty` → mean absolute error on the side it was not fitted to; and `naive`, that of predicting the mean."""
    bank = _load(job.path, job.fingerprint)
    rng = seeds.rng("foresee choice", job.seed, job.setting, job.regime, job.number)
    config = PredictorConfig(**RANGES, setting=job.setting)
    sets = measure_sets(job.setting, 1 if job.regime == "one shot" else 2)
    names = tuple(dict.fromkeys(m for wanted in sets.values() for m in wanted))
    order, start = rng.permutation(bank.n_classes), int(rng.integers(2**31))
    half = bank.n_classes // 2
    with engine.one_thread():
        inside, outside = (
            evaluate_configs(bank.only(part), config.draw(N_CONFIGS, job.regime, rng), n, names, start + k)
            for k, (part, n) in enumerate(((order[:half], N_INSIDE), (order[half:], N_OUTSIDE)))
        )
    varying = tuple(name for name in config.varying if not (job.regime == "one shot" and name == "shots"))
    truth = np.concatenate([one.performance for one in outside])
    mean = np.concatenate([one.performance for one in inside]).mean()
    found = {"naive": float(np.abs(truth - mean).mean())}
    for label, wanted in sets.items():
        found |= {
            f"{label}|{penalty}": error for penalty, error in _errors(Design(wanted, varying), inside, outside, truth)
        }
    return found


def _errors(
    design: Design, inside: Sequence[Evaluated], outside: Sequence[Evaluated], truth: np.ndarray
) -> Iterable[tuple[float, float]]:
    base, asked = (np.concatenate([design.of(one) for one in part]) for part in (inside, outside))
    accuracy = np.concatenate([one.performance for one in inside])
    for penalty in PENALTIES:
        ridge = Ridge.fit(base, accuracy, len(design.measures), penalty)
        yield penalty, float(np.abs(ridge.predict(asked) - truth).mean())


def compute_choice(run: Run, bank: FeatureBank, seed: int, *, n_splits: int = N_SPLITS, space: str = "") -> list[Score]:
    """Error of each candidate over that of always predicting the mean, over splits. space: the encoder's name."""
    path = keep_bank(run, bank)
    cells = [(setting, regime) for setting in CHOSEN for regime in PredictorConfig(**RANGES).regimes]
    jobs = [
        ChoiceJob(path, bank.fingerprint, setting, regime, k, seed)
        for setting, regime in cells
        for k in range(n_splits)
    ]
    done = run.map(do_split, jobs, label="splits")
    drop_bank(run)
    scores = []
    for place, (setting, regime) in enumerate(cells):
        part = done[place * n_splits : (place + 1) * n_splits]
        naive = np.array([one["naive"] for one in part])
        for key in (key for key in part[0] if key != "naive"):
            label, penalty = key.split("|")
            ratio = np.array([one[key] for one in part]) / naive
            labels: dict[str, Any] = {
                "agent": f"{label}, penalty {penalty}",
                "concept": f"{setting}, {regime}",
                "space": space,
            }
            scores.append(Score.of("share_of_error_left", stats.mean(ratio), **labels))
    return scores


def best_choices(scores: Iterable[Score]) -> dict[str, tuple[str, float]]:
    """Setting → the candidate and penalty that leave least error on average over encoders, one shot and several."""
    left: dict[str, dict[str, list[float]]] = {}
    for score in scores:
        if score.name == "share_of_error_left":
            left.setdefault(score.concept.split(",")[0], {}).setdefault(score.agent, []).append(score.value)
    found = {}
    for setting, by_agent in left.items():
        best = min(by_agent, key=lambda agent: float(np.mean(by_agent[agent])))
        label, penalty = best.split(", penalty ")
        found[setting] = (label, float(penalty))
    return found
