"""Statements of the paper that do not hold here, each followed up by what could be the reason: other graphs, other encoders.

One check per question, each a few points with the same tasks: does the N-th eigenvalue need fewer neighbours than a class has
samples? Is it ever 0, as the paper supposes? Do Davies–Bouldin and the eigenvalue change places in another encoder? Does
confidence depend less on shots where features are diffused twice, as the authors' code does?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.evaluating import Evaluated, Recipe
from exemplar.foresee.graphs import VARIANTS, GraphConfig
from exemplar.foresee.scores import score_leads, score_measures
from exemplar.foresee.studies.curves import describe_task
from exemplar.foresee.studies.points import Point, drop_bank, evaluate_points
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.runs import Run

N_TASKS = 1_000
NULL = 1e-4  # an eigenvalue below this is 0 but for rounding


@dataclass(frozen=True)
class Check:
    """question: in words; points: what is computed; measures: whose correlations are told, the first against the others."""

    question: str
    points: tuple[Point, ...]
    measures: tuple[str, ...]


def _supervised(shots: int, k: int) -> Point:
    return Point(k, TaskConfig(5, shots, 50, "supervised"), Recipe(measures=("egv",), graph=GraphConfig(k)))


def _unsupervised(ways: int, queries: int, variant: str) -> Point:
    recipe = Recipe(measures=("davies_bouldin", "egv"), graph=VARIANTS[variant])
    return Point(ways, TaskConfig(ways, 5, queries, "unsupervised"), recipe)


def _semi(ways: int, shots: int, queries: int, variant: str) -> Point:
    return Point(
        shots, TaskConfig(ways, shots, queries, "semi"), Recipe(measures=("confidence",), graph=VARIANTS[variant])
    )


NEIGHBOURS = Check(
    "the eigenvalue by neighbours and shots",
    tuple(_supervised(shots, k) for k in (3, 5, 15) for shots in (5, 10, 20)),
    ("egv",),
)
DIFFUSED_TWICE = Check(
    "confidence where features are diffused twice",
    tuple(_semi(*task, "coded") for task in ((5, 5, 5), (5, 5, 15), (5, 5, 30), (5, 1, 30), (5, 20, 30), (10, 5, 30))),
    ("confidence",),
)
CLUSTERS = Check(
    "Davies–Bouldin and the eigenvalue",
    tuple(_unsupervised(ways, queries, "paper") for ways, queries in ((5, 5), (5, 15), (5, 30), (10, 30))),
    ("davies_bouldin", "egv"),
)
CLUSTERS_TWICE = Check(
    "Davies–Bouldin and the eigenvalue where features are diffused twice",
    tuple(_unsupervised(ways, queries, "coded") for ways, queries in ((5, 5), (5, 15), (5, 30), (10, 30))),
    ("davies_bouldin", "egv"),
)
FIRST, OTHERS = (NEIGHBOURS, DIFFUSED_TWICE, CLUSTERS, CLUSTERS_TWICE), (CLUSTERS,)


def compute_explanations(run: Run, banks: Mapping[str, FeatureBank], n_tasks: int, seed: int) -> list[Score]:
    """banks: encoder → features; all checks for the first of them, the comparison of encoders for all."""
    scores: list[Score] = []
    for place, (space, bank) in enumerate(banks.items()):
        for check in OTHERS if place else FIRST:
            done = evaluate_points(run, bank, check.points, n_tasks, seed)
            for point, found in zip(check.points, done, strict=True):
                scores += _point_scores(check, point, found, space)
        drop_bank(run)
    return scores


def _point_scores(check: Check, point: Point, found: Evaluated, space: str) -> Sequence[Score]:
    labels = {"agent": f"{point.task.setting}: {check.question}", "concept": describe_task(point.task)}
    labels["variant"] = f"{point.recipe.graph.neighbours} neighbours"
    scored = score_measures(found, **labels)
    scores = [scored.pearson[name] for name in check.measures if name in scored.pearson]
    scores += score_leads(found, check.measures[0], check.measures[1:], **labels)
    if check is NEIGHBOURS:
        null = float((found.measures["egv"] < NULL).mean())
        scores.append(Score("share_of_tasks_with_an_eigenvalue_of_0", null, (np.nan, np.nan), 1, **labels))
    return [Score(s.name, s.value, s.ci95, s.n, s.agent, s.concept, space, s.variant) for s in scores]
