"""Predictors that ship, asked about new classes and about what they were not made for: coverage as it is, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np

from exemplar import engine, stats
from exemplar.foresee.banks import encode_bank
from exemplar.foresee.ready import load_ready
from exemplar.foresee.studies.prediction import N_ASKED, ask_tasks, describe, regime_of
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.runs import Run

WRN, LITE = "wrn28-4-cifar-fs", "efficientnet-lite0/head"
CIFAR, FEW_SAMPLES = (
    TaskConfig(5, 5, 30, "semi"),
    TaskConfig(5, 5, 15, "semi"),
)  # Omniglot has 20 drawings per character
ASKED: tuple[tuple[str, str, tuple[str, str, str], TaskConfig], ...] = (
    ("new classes", WRN, (WRN, "cifar-fs", "test"), CIFAR),
    ("new classes", LITE, (LITE, "cifar-fs", "test"), CIFAR),
    ("another encoder", WRN, (LITE, "cifar-fs", "test"), CIFAR),
    ("another encoder", LITE, (WRN, "cifar-fs", "test"), CIFAR),
    ("drawings", WRN, (WRN, "omniglot", "weak-test"), FEW_SAMPLES),
    ("drawings", LITE, (LITE, "omniglot", "weak-test"), FEW_SAMPLES),
    ("drawings in another encoder", WRN, ("protonet-omniglot-s0", "omniglot", "weak-test"), FEW_SAMPLES),
    ("drawings in another encoder", LITE, ("protonet-omniglot-s0", "omniglot", "weak-test"), FEW_SAMPLES),
)  # what is new, the predictor's encoder, whose features it is asked about, which tasks


def ask_shipped(place: int) -> dict[str, Any]:
    """One row of the table above."""
    _, space, which, task = ASKED[place]
    predictor = load_ready(space, task.setting)
    assert predictor is not None
    with engine.one_thread():
        model = predictor.models[regime_of(task)]
        return ask_tasks(model, predictor.familiar, encode_bank(*which), task, N_ASKED, 0)


def compute_other_domains(run: Run) -> list[Score]:
    """Error, coverage, and the share of tasks that the predictor calls unlike anything it was calibrated on."""
    scores: list[Score] = []
    for (what, space, which, task), found in zip(
        ASKED, run.map(ask_shipped, range(len(ASKED)), label="banks"), strict=True
    ):
        labels: dict[str, Any] = {
            "agent": f"shipped for {space}",
            "concept": f"{what}: {which[1]} in {which[0]}, {describe(task)}",
        }
        for name in ("coverage", "unlike"):
            share = stats.proportion(round(found[name] * N_ASKED), N_ASKED)
            scores.append(Score.of({"coverage": "coverage_90", "unlike": "called_unlike"}[name], share, **labels))
        plain = {"absolute_error": "error", "absolute_error_of_the_mean": "naive", "width_90": "width"}
        more = {name: found[key] for name, key in plain.items()} | {
            "coverage_90_if_familiar": found["coverage_familiar"]
        }
        scores += [
            Score(name, value, (np.nan, np.nan), 1, **labels) for name, value in more.items() if np.isfinite(value)
        ]
    return scores
