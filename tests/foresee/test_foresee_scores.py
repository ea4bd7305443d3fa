"""Correlations and their intervals over classes: hand-computed, simulated coverage, what is left out; thresholds; statements."""

from __future__ import annotations

import numpy as np
import pytest

from exemplar.errors import UserError
from exemplar.foresee.evaluating import Evaluated
from exemplar.foresee.scores import noise_ceiling, over_classes, score_measures
from exemplar.foresee.studies.more_statements import LABELLING_STATEMENTS, explains, tells_unlike
from exemplar.foresee.studies.statements import CURVE_STATEMENTS, judge
from exemplar.foresee.studies.thresholds import area_under_roc, find_threshold, rates_at
from exemplar.foresee.studies.verdicts import Found, rises
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.stats import weighted


def evaluated(n_classes: int = 12, n_tasks: int = 400, seed: int = 0, noise: float = 0.3) -> Evaluated:
    """Simulated: a class is easy or not; accuracy is the mean of its classes', a measure that with noise."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=(2, n_classes))  # what accuracy and measure share, and what only the measure has
    classes = np.argsort(rng.random((n_tasks, n_classes)), axis=1)[:, :3]
    accuracy = 0.7 + 0.1 * ease[0][classes].mean(axis=1) + 0.03 * rng.normal(size=n_tasks)
    measure = ease[0][classes].mean(axis=1) + noise * ease[1][classes].mean(axis=1) + 0.3 * rng.normal(size=n_tasks)
    measures = {"confidence": measure, "lr_loss": -measure}
    return Evaluated(TaskConfig(3, 5, 30), classes, np.clip(accuracy, 0, 1), measures, 90, np.empty((n_tasks, 0)))


def test_correlations_keep_their_sign_and_a_monotone_change_leaves_ranks_alone():
    found = evaluated()
    scored = score_measures(found)
    assert scored.pearson["confidence"].value == pytest.approx(
        np.corrcoef(found.measures["confidence"], found.performance)[0, 1]
    )
    assert scored.pearson["lr_loss"].value == pytest.approx(-scored.pearson["confidence"].value)
    assert scored.best in ("confidence", "lr_loss") and scored.over == "classes"
    bent = Evaluated(
        found.config,
        found.classes,
        found.performance,
        {"confidence": np.exp(found.measures["confidence"])},
        90,
        found.eigenvalues,
    )
    assert score_measures(bent).spearman["confidence"].value == pytest.approx(scored.spearman["confidence"].value)


def test_the_interval_of_a_mean_over_classes_is_wider_than_over_tasks():
    found = evaluated(n_tasks=2000)
    around, over = over_classes(weighted.mean(found.performance), found.classes)
    naive = 1.96 * found.performance.std() / np.sqrt(2000)
    assert over == "classes" and around.hi - around.lo > 6 * naive


@pytest.mark.parametrize("n_tasks", [100, 1000])
def test_intervals_cover_the_mean_of_classes_drawn_again(n_tasks):
    """The truth is 0.7, over all classes there could be."""
    covered = 0
    for seed in range(150):
        found = evaluated(n_classes=15, n_tasks=n_tasks, seed=seed)
        around, _ = over_classes(weighted.mean(found.performance), found.classes)
        covered += around.lo <= 0.7 <= around.hi
    assert 0.88 <= covered / 150 <= 0.995


def test_too_few_classes_make_intervals_over_tasks():
    found = evaluated(n_classes=3)
    assert score_measures(found).over == "tasks"


def test_measures_without_a_correlation_are_left_out_with_the_reason():
    found = evaluated()
    constant, gap = np.zeros(400), found.measures["confidence"].copy()
    gap[3] = np.nan
    odd = Evaluated(
        found.config, found.classes, found.performance, {"egv": constant, "margin": gap}, 90, found.eigenvalues
    )
    assert score_measures(odd).left_out == {
        "egv": "it is 0 in every task",
        "margin": "it has no value in 1 of 400 tasks",
    }
    with pytest.raises(UserError, match="at least 10 tasks"):
        score_measures(found.take(np.arange(5)))


def test_the_noise_ceiling_by_hand():
    """Accuracies .4 and .6 with 100 samples: variance .01, noise .24 / 100."""
    assert noise_ceiling(np.array([0.4, 0.6]), 100) == pytest.approx(np.sqrt(1 - 0.0024 / 0.01))
    assert noise_ceiling(np.array([0.5, 0.5]), 100) == 0 and noise_ceiling(np.array([0.49, 0.51]), 10) == 0


def test_the_noise_ceiling_is_what_a_perfect_measure_reaches():
    rng = np.random.default_rng(0)
    truth = rng.beta(8, 3, 4000)
    seen = rng.binomial(50, truth) / 50
    assert np.corrcoef(truth, seen)[0, 1] == pytest.approx(noise_ceiling(seen, 50), abs=0.02)


def test_a_threshold_by_hand():
    hard = np.array([True] * 10 + [False] * 10)
    called = np.concatenate([np.arange(10, 20), np.arange(1, 11)]).astype(float)
    threshold = find_threshold(hard, called)  # 9 of 10 hard tasks are the first share above .81
    assert threshold == 11
    rates = rates_at(threshold, hard, called)
    assert (rates.false_alarms, rates.sensitivity) == (0.0, 0.9)
    assert area_under_roc(hard, called) == pytest.approx(0.995)  # one tie in a hundred pairs


def test_statements_are_judged_by_the_direction_a_measure_was_meant_to_have():
    tasks = [f"5-way {k}-shot 50-query" for k in (1, 5, 10, 20)]

    def scores(values: list[float]) -> list[Score]:
        return [
            Score("pearson_lr_loss", v, (np.nan, np.nan), 1, "supervised", t)
            for v, t in zip(values, tasks, strict=True)
        ]

    def verdict(values: list[float]) -> float:
        (found,) = [
            s for s in judge(CURVE_STATEMENTS, scores(values)) if "with more shots" in s.agent and "LR loss" in s.agent
        ]
        return found.value

    assert verdict([-0.4, -0.7, -0.8, -0.9]) == 1 and verdict([-0.4, -0.7, -0.6, -0.9]) == 0
    assert verdict([0.4, 0.7, 0.8, 0.9]) == 0  # the same absolute values, and no use to anyone
    assert rises([1, 2, 3]) and not rises([1, 1, 2])


def test_labelling_statements_need_a_crossover():
    def gains(few: float, many: float) -> list[Score]:
        return [
            Score("gain_remaining", g, (np.nan, np.nan), 1, "least-confident", f"{n} labels")
            for n, g in ((10, few), (200, many))
        ]

    assert [
        judge(LABELLING_STATEMENTS[:1], gains(*pair))[0].value for pair in ((-0.1, 0.1), (0.1, 0.2), (-0.1, -0.05))
    ] == [1, 0, 0]


def test_a_predictor_that_calls_new_classes_unlike_or_drawings_like_is_not_said_to_tell():
    def verdict(new: float, drawings: float) -> bool:
        rows = (("new classes: cifar-fs", new), ("drawings: omniglot", drawings))
        return tells_unlike(Found(Score("called_unlike", v, (0, 1), 9, "shipped for wrn", what) for what, v in rows))[0]

    assert [verdict(0.02, 0.95), verdict(0.2, 0.95), verdict(0.02, 0.5)] == [True, False, False]


def test_a_share_that_may_be_none_explains_nothing():
    def verdict(low: float, tasks: str) -> bool:
        return explains(Found([Score("explained_share", 0.4, (low, 0.8), 9, "predictor", tasks)]))[0]

    assert verdict(0.1, "semi, 5-way 5-shot 10-query") and not verdict(-0.1, "supervised, 5-way 5-shot 50-query")
    with pytest.raises(KeyError):
        verdict(0.1, "semi, 5-way 5-shot 30-query")
