"""Can easy tasks be told from hard ones (Figure 6), by a threshold that is chosen on some classes and used on others? And is
confidence itself a prediction of accuracy (Section 5.7)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exemplar import seeds, stats
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.evaluating import Evaluated, Recipe
from exemplar.foresee.indicators import MEASURES
from exemplar.foresee.scores import over_classes
from exemplar.foresee.studies.points import Point, drop_bank, evaluate_points
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.runs import Run
from exemplar.stats import weighted

HARD = 0.8  # accuracy (adjusted Rand index where nothing is labelled) below which a task is hard
SENSITIVITY = 0.81
N_HALVES, MOST_HALVES = 10, 20  # halves that are judged, and that are tried to find as many
SMALL_SHIFT = 0.1
JUDGED = {"supervised": ("lr_loss", 50), "unsupervised": ("davies_bouldin", 30), "semi": ("confidence", 30)}


@dataclass(frozen=True)
class Rates:
    """false_alarms: share of easy tasks that are called hard (1 − specificity); sensitivity: of hard ones."""

    false_alarms: float
    sensitivity: float


def hardness(found: Evaluated, measure: str) -> np.ndarray:
    """(tasks,): the larger, the harder the measure calls a task."""
    return -MEASURES[measure].better * found.measures[measure]


def find_threshold(hard: np.ndarray, called: np.ndarray) -> float:
    """The first, from the hardest down, above which at least 81 % of the hard tasks lie. hard: (tasks,) bool."""
    ordered = np.sort(called[hard])[::-1]
    return float(ordered[int(np.ceil(SENSITIVITY * len(ordered))) - 1])


def rates_at(threshold: float, hard: np.ndarray, called: np.ndarray) -> Rates:
    above = called >= threshold
    return Rates(float(above[~hard].mean()), float(above[hard].mean()))


def area_under_roc(hard: np.ndarray, called: np.ndarray) -> float:
    """The chance that a hard task is called harder than an easy one; ties count half."""
    order = np.argsort(called, kind="stable")
    values = called[order]
    first, last = np.searchsorted(values, called, "left"), np.searchsorted(values, called, "right")
    rank = (first + last + 1) / 2
    n, m = int(hard.sum()), int((~hard).sum())
    return float((rank[hard].sum() - n * (n + 1) / 2) / (n * m))


def compute_thresholds(
    run: Run, bank: FeatureBank, n_tasks: int, seed: int
) -> tuple[list[Score], dict[str, np.ndarray]]:
    """Rates where the threshold was chosen and on the other classes, over random halves of the classes; and the rates of every
    half, measure → (halves, 2, 2)."""
    rng = seeds.rng("foresee halves", seed)
    orders = [rng.permutation(bank.n_classes) for _ in range(MOST_HALVES)]
    found, scores = dict[str, np.ndarray](), list[Score]()
    for setting, (measure, queries) in JUDGED.items():
        point = Point(0, TaskConfig(5, 5, queries, setting), Recipe(measures=(measure,)))
        pairs, n_tried = _usable_halves(run, bank, point, measure, orders, n_tasks, seed)
        rates = [_transfer(chosen, other, measure) for chosen, other in pairs]
        found[measure] = np.array(rates).reshape(-1, 2, 2)
        scores.append(Score("halves_left_out", n_tried - len(pairs), (np.nan, np.nan), 1, agent=measure))
        if len(pairs) > 1:
            area = [area_under_roc(other.performance < HARD, hardness(other, measure)) for _, other in pairs]
            scores += _rate_scores(found[measure], np.array(area), measure)
            scores += _oracle_scores(pairs) if measure == "confidence" else []
    semi = evaluate_points(run, bank, [point], n_tasks, seed + 1)[0]  # the last setting
    drop_bank(run)
    return [*scores, *predicted_accuracy(semi)], found


def _usable_halves(
    run: Run, bank: FeatureBank, point: Point, measure: str, orders: Sequence[np.ndarray], n_tasks: int, seed: int
) -> tuple[list[tuple[Evaluated, Evaluated]], int]:
    """Tasks of both sides of the first ten halves that have hard and easy tasks on each side, and how many were tried."""
    pairs, n_tried, half = list[tuple[Evaluated, Evaluated]](), 0, bank.n_classes // 2
    while len(pairs) < N_HALVES and n_tried < len(orders):
        some = orders[n_tried : n_tried + N_HALVES - len(pairs)]
        n_tried += len(some)
        sides = [tuple(int(c) for c in np.sort(part)) for order in some for part in (order[:half], order[half:])]
        done = evaluate_points(run, bank, [point], n_tasks, seed, classes=sides)
        found = zip(done[::2], done[1::2], strict=True)
        pairs += [pair for pair in found if _transfer(*pair, measure) is not None]
    return pairs, n_tried


def _oracle_scores(pairs: Sequence[tuple[Evaluated, Evaluated]]) -> list[Score]:
    """Does a threshold on confidence fail because confidence is off by another amount for other classes?"""
    moved = [_without_bias(pair, "confidence") for pair in pairs]
    rates = [_transfer(chosen, other, "confidence") for chosen, other in moved]
    kept = np.array([one for one in rates if one is not None]).reshape(-1, 2, 2)
    bias = np.array([[(side.measures["confidence"] - side.performance).mean() for side in pair] for pair in pairs])
    change = Score.of("change_of_bias", stats.mean(np.abs(bias[:, 1] - bias[:, 0])), agent="confidence")
    return [change, *(_shift_scores(kept, "confidence, made right on average on each side") if len(kept) > 1 else [])]


def _transfer(chosen: Evaluated, other: Evaluated, measure: str) -> list[list[float]] | None:
    """[[false alarms, sensitivity] where it was chosen, likewise on the others]; None where a side has no hard or easy task."""
    hard = [side.performance < HARD for side in (chosen, other)]
    if any(h.all() or not h.any() for h in hard):
        return None
    threshold = find_threshold(hard[0], hardness(chosen, measure))
    rates = [rates_at(threshold, h, hardness(side, measure)) for h, side in zip(hard, (chosen, other), strict=True)]
    return [[r.false_alarms, r.sensitivity] for r in rates]


def _without_bias(sides: Sequence[Evaluated], measure: str) -> list[Evaluated]:
    """Each half with its measure moved so that, as a predicted accuracy, it is right on average, which takes labels to know."""
    moved = []
    for side in sides:
        values = side.measures[measure] + (side.performance - side.measures[measure]).mean()
        moved.append(replace(side, measures={measure: values}))
    return moved


def _rate_scores(rates: np.ndarray, area: np.ndarray, measure: str) -> list[Score]:
    names = ("false_alarms", "sensitivity")
    scores = [
        Score.of(f"{name}{where}", stats.mean(rates[:, side, column]), agent=measure)
        for side, where in enumerate(("_where_chosen", "_on_other_classes"))
        for column, name in enumerate(names)
    ]
    scores += _shift_scores(rates, measure)
    return [*scores, Score.of("area_under_roc_on_other_classes", stats.mean(area), agent=measure)]


def _shift_scores(rates: np.ndarray, agent: str) -> list[Score]:
    """How far both rates move from the classes a threshold was chosen on to others; and in which share of the halves neither
    moves by a tenth or more, which a single half cannot tell."""
    shift = np.abs(rates[:, 1] - rates[:, 0])
    scores = [
        Score.of(f"shift_of_{name}", stats.mean(shift[:, column]), agent=agent)
        for column, name in enumerate(("false_alarms", "sensitivity"))
    ]
    stays = (shift.max(axis=1) < SMALL_SHIFT).astype(float)
    return [
        *scores,
        Score.of("share_of_halves_where_it_transfers", stats.proportion(stays.sum(), len(stays)), agent=agent),
    ]


def predicted_accuracy(found: Evaluated) -> list[Score]:
    """Mean absolute error of confidence as a predicted accuracy, and of always predicting the mean."""
    error = np.abs(found.measures["confidence"] - found.performance)
    naive = np.abs(found.performance - found.performance.mean())
    bias = found.measures["confidence"] - found.performance
    return [
        Score.of(name, over_classes(weighted.mean(values), found.classes)[0], n=len(values), agent=agent)
        for name, agent, values in (
            ("absolute_error", "confidence as predicted accuracy", error),
            ("absolute_error", "always the mean", naive),
            ("bias", "confidence as predicted accuracy", bias),
        )
    ]
