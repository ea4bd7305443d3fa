"""How a predictor is fitted to a bank: tasks of all classes for the ridge, and tasks of classes held out for its intervals."""

from __future__ import annotations

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.calibration import Calibrated, Design, Group, calibrate
from exemplar.foresee.evaluating import Evaluated, Recipe, evaluate_tasks
from exemplar.foresee.measure_sets import chosen_set
from exemplar.foresee.predictor_config import N_SCORED, PredictorConfig
from exemplar.foresee.tasks import TaskConfig


def group_size(bank: FeatureBank, config: PredictorConfig) -> int:
    return max(config.ways[1], round(bank.n_classes * 3 / 8))


def check_bank(bank: FeatureBank, config: PredictorConfig) -> None:
    most = config.ways[1]
    if bank.n_classes < 2 * most:
        raise UserError(
            f"Calibrating {most}-way tasks on classes held out needs {2 * most} classes, the bank has "
            f"{bank.n_classes}: give more, "
            "or lower --ways."
        )
    needed = config.shots[1] + (N_SCORED if config.setting == "supervised" else config.queries[1])
    if few := int((bank.counts < needed).sum()):
        raise UserError(
            f"{few} classes have fewer than the {needed} samples that tasks need: lower --shots or --queries, or "
            "leave them out."
        )


def evaluate_configs(
    bank: FeatureBank, configs: list[TaskConfig], n: int, measures: tuple[str, ...], seed: int
) -> list[Evaluated]:
    each = -(-n // len(configs))
    return [
        evaluate_tasks(bank, task, each, Recipe(measures=measures), seed=seed + k) for k, task in enumerate(configs)
    ]


def calibrate_regime(bank: FeatureBank, config: PredictorConfig, regime: str) -> Calibrated:
    rng = seeds.rng("foresee predictor", config.seed, regime)
    names, penalty = chosen_set(config.setting, 1 if regime == "one shot" else 2)
    varying = tuple(name for name in config.varying if not (regime == "one shot" and name == "shots"))
    design, start = Design(names, varying), int(rng.integers(2**31))
    n_configs = 48
    everything = evaluate_configs(bank, config.draw(n_configs, regime, rng), config.n_tasks, names, start)
    groups = []
    for number in range(config.n_groups):
        order = rng.permutation(bank.n_classes)
        size = group_size(bank, config)
        sides = bank.only(order[size:]), bank.only(order[:size])
        seed = start + 1000 * (number + 1)
        inside = evaluate_configs(sides[0], config.draw(n_configs // 2, regime, rng), config.n_tasks // 3, names, seed)
        outside = evaluate_configs(
            sides[1], config.draw(n_configs // 2, regime, rng), config.n_held_out, names, seed + 500
        )
        groups.append(Group(inside, outside))
    return calibrate(design, everything, groups, penalty)


def find_growth(bank: FeatureBank, config: PredictorConfig) -> float:
    """Change of the log odds of accuracy per change of the log of shots, in the middle of the ranges."""
    ways, shots, queries = (
        int(np.rint(np.sqrt(low * high))) for low, high in (config.ways, config.shots, config.queries)
    )
    scored = N_SCORED if config.setting == "supervised" else queries
    odds = []
    for k in (shots, 2 * shots):
        task = TaskConfig(ways, k, min(scored, int(bank.counts.min()) - k), config.setting)
        a = float(np.clip(evaluate_tasks(bank, task, 256, Recipe(), seed=config.seed).performance.mean(), 0.01, 0.99))
        odds.append(np.log(a / (1 - a)))
    return max(0.0, float((odds[1] - odds[0]) / np.log(2)))
