"""Correlations over shots, ways, queries, imbalance and neighbours: Figures 2, 4, 5, 8, 9, A1 and A2 of the paper.

Each study is a row of panels; each panel varies one number and keeps the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.evaluating import Evaluated, Recipe
from exemplar.foresee.indicators import PAPER, chosen_measures
from exemplar.foresee.scores import Correlations, over_classes, score_leads, score_measures
from exemplar.foresee.studies.points import Point, drop_bank, evaluate_points, with_neighbours
from exemplar.foresee.tasks import TaskConfig
from exemplar.foresee.views import PAPER_GRAPH
from exemplar.records import Score
from exemplar.runs import Run
from exemplar.stats import Statistic, weighted

SHOTS, WAYS, QUERIES = (1, 5, 10, 20), (5, 10, 15), (5, 15, 30)
PROPORTIONS, NEIGHBOURS = (0.1, 0.3, 0.5, 0.7, 0.9), (5, 10, 15, 25, 50)
BEYOND = ("margin", "agreement", "loo_ridge", "logme")  # shown beside the paper's, where they exist
LEADING = {"supervised": "lr_loss", "semi": "confidence", "unsupervised": "davies_bouldin"}  # the best, says the paper
PUBLISHED = ("lr_loss", "similarity", "confidence", "davies_bouldin", "egv")


@dataclass(frozen=True)
class Panel:
    """title, axis: in words; points: along the axis."""

    title: str
    axis: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class CurveStudy:
    """panels: made when they are asked for; figure: the paper's."""

    name: str
    title: str
    text: str
    figure: str
    panels: Callable[[], Sequence[Panel]]


@dataclass(frozen=True, eq=False)
class Curve:
    """A panel and what was found at its points. more: at each point, the spread of performance, leads of the measure that the
    paper calls best, and which eigenvalue is best, where they were kept."""

    panel: Panel
    found: tuple[Correlations, ...]
    more: tuple[tuple[Score, ...], ...]


def make_point(x: float, task: TaskConfig, neighbours: int = PAPER_GRAPH.neighbours, kept: int = 0) -> Point:
    names = chosen_measures(("paper",), task.setting, task.shots)
    more = [name for name in BEYOND if name not in PAPER]
    there = chosen_measures(("all",), task.setting, task.shots)
    graph = with_neighbours(neighbours)
    return Point(x, task, Recipe(measures=(*names, *(name for name in more if name in there)), graph=graph, kept=kept))


def describe_task(task: TaskConfig) -> str:
    """`5-way 5-shot 30-query`."""
    share = "" if task.proportion is None else f", p = {task.proportion:g}"
    if task.setting == "unsupervised":
        return f"{task.ways}-way {task.shots + task.queries} samples{share}"
    return f"{task.ways}-way {task.shots}-shot {task.queries}-query{share}"


def compute_curves(study: CurveStudy, run: Run, bank: FeatureBank, n_tasks: int, seed: int) -> list[Curve]:
    """Every panel; the same point in two panels is computed once. What the bank has too few classes for is left out."""
    panels = [_possible(panel, bank) for panel in study.panels()]
    points = list(dict.fromkeys(point for panel in panels for point in panel.points))
    unique = list({(point.task, point.recipe): point for point in points}.values())
    done = evaluate_points(run, bank, unique, n_tasks, seed)
    drop_bank(run)
    scored = {
        (point.task, point.recipe): (_score(one, point), _more_scores(one, point))
        for point, one in zip(unique, done, strict=True)
    }
    curves = []
    for panel in panels:
        pairs = [scored[point.task, point.recipe] for point in panel.points]
        curves.append(Curve(panel, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)))
    return curves


def _possible(panel: Panel, bank: FeatureBank) -> Panel:
    kept = tuple(p for p in panel.points if (bank.counts >= p.task.n_needed).sum() >= p.task.ways)
    return Panel(panel.title, panel.axis, kept)


def describe_point(point: Point) -> dict[str, str]:
    """The labels of its scores."""
    k = point.recipe.graph.neighbours
    variant = "" if k == PAPER_GRAPH.neighbours else f"{k} neighbours"
    return {"agent": point.task.setting, "concept": describe_task(point.task), "variant": variant}


def _score(found: Evaluated, point: Point) -> Correlations:
    return score_measures(found, **describe_point(point))


def _more_scores(found: Evaluated, point: Point) -> tuple[Score, ...]:
    labels, no_interval = describe_point(point), (np.nan, np.nan)
    spread = Score(f"spread_of_{found.what}", float(found.performance.std()), no_interval, 1, **labels)
    leads = score_leads(found, LEADING[found.config.setting], PUBLISHED, **labels)
    return (spread, *leads, *(_best_eigenvalue(found, labels) if found.eigenvalues.shape[1] else ()))


def _best_eigenvalue(found: Evaluated, labels: dict[str, str]) -> tuple[Score, ...]:
    """Which eigenvalue has the largest correlation, whatever its sign, and how much larger than the N-th's it is. The best is
    chosen on the same tasks, so the gain is never below 0."""
    values, nth = found.eigenvalues.astype(np.float64), found.config.ways - 1
    vary = np.ptp(values, axis=0) > 1e-4  # the first is 0 but for rounding
    correlation = weighted.pearson(values[:, vary], found.performance[:, None])
    r = np.full(values.shape[1], np.nan)
    r[vary] = correlation(np.ones((1, len(values))))[0]
    best = int(np.nanargmax(np.abs(r)))
    pair = weighted.pearson(values[:, [best, nth]], found.performance[:, None])

    def gain(weights: np.ndarray) -> np.ndarray:
        size = np.abs(pair(weights))
        return size[:, 0] - size[:, 1]

    more, _ = over_classes(Statistic(len(values), gain), found.classes)
    return (
        Score("best_eigenvalue_index", best + 1.0, (np.nan, np.nan), 1, **labels),
        Score("pearson_best_eigenvalue", float(r[best]), (np.nan, np.nan), 1, **labels),
        Score.of("gain_of_best_eigenvalue", more, n=len(values), **labels),
    )


def curve_scores(curves: Sequence[Curve]) -> list[Score]:
    """Every point's performance and correlations, once, with the noise ceiling where there is one."""
    found: dict[tuple[str, ...], Score] = {}
    for curve in curves:
        for point, scored, more in zip(curve.panel.points, curve.found, curve.more, strict=True):
            ceilings = [] if scored.ceiling is None else [scored.ceiling]
            bound = [Score("noise_ceiling", value, (np.nan, np.nan), 1, **describe_point(point)) for value in ceilings]
            for score in (*scored.scores, *bound, *more):
                found.setdefault((score.name, score.agent, score.concept, score.variant), score)
    return list(found.values())


def _supervised() -> list[Panel]:
    def make(x: float, ways: int, shots: int) -> Point:
        return make_point(x, TaskConfig(ways, shots, 50, "supervised"))

    return [
        Panel("5-way", "shots", tuple(make(k, 5, k) for k in SHOTS)),
        Panel("5-shot", "ways", tuple(make(n, n, 5) for n in WAYS)),
    ]


def _semi() -> list[Panel]:
    def make(x: float, ways: int, shots: int, queries: int) -> Point:
        return make_point(x, TaskConfig(ways, shots, queries, "semi"), kept=2 * ways)

    return [
        Panel("5-way 5-shot", "queries per class", tuple(make(q, 5, 5, q) for q in QUERIES)),
        Panel("5-way 30-query", "shots", tuple(make(k, 5, k, 30) for k in SHOTS)),
        Panel("5-shot 30-query", "ways", tuple(make(n, n, 5, 30) for n in WAYS)),
    ]


def _unsupervised() -> list[Panel]:
    def make(x: float, ways: int, queries: int) -> Point:
        return make_point(x, TaskConfig(ways, 5, queries, "unsupervised"), kept=2 * ways)

    return [
        Panel("5-way", "samples per class", tuple(make(5 + q, 5, q) for q in QUERIES)),
        Panel("35 samples per class", "ways", tuple(make(n, n, 30) for n in WAYS)),
    ]


def _imbalance() -> list[Panel]:
    def make(p: float, ways: int) -> Point:
        return make_point(p, TaskConfig(ways, 5, 50, "semi", proportion=p))

    return [
        Panel("2-way 5-shot 50-query", "share of the first class", tuple(make(p, 2) for p in PROPORTIONS)),
        Panel(
            "5-way 5-shot 50-query",
            "share of the first class",
            tuple(make(p, 5) for p in (0.02, 0.2, *PROPORTIONS[2:])),
        ),
    ]


def _neighbours() -> list[Panel]:
    return [
        Panel(
            "semi-supervised", "neighbours", tuple(make_point(k, TaskConfig(5, 5, 30, "semi"), k) for k in NEIGHBOURS)
        ),
        Panel(
            "unsupervised",
            "neighbours",
            tuple(make_point(k, TaskConfig(5, 5, 30, "unsupervised"), k) for k in NEIGHBOURS),
        ),
    ]


CURVES = {
    study.name: study
    for study in (
        CurveStudy(
            "supervised", "Labelled samples alone",
            "Logistic regression on a few labelled samples, scored on 50 others per class. Measures see the labelled samples; "
            "margin and agreement also see the scored ones without their labels, which the paper's do not.",
            "Figures 2, 3 and A1", _supervised,
        ),
        CurveStudy(
            "semi", "Labelled and unlabelled samples",
            "Features are diffused through a graph of all samples, and logistic regression names the unlabelled ones. "
            "Confidence looks at the very samples that are scored, so the noise ceiling does not bound it.",
            "Figures 5, 9a and A1", _semi,
        ),
        CurveStudy(
            "unsupervised", "Unlabelled samples alone",
            "N-means of diffused features, scored by the adjusted Rand index with the true classes.",
            "Figures 4, 9b and A1", _unsupervised,
        ),
        CurveStudy(
            "imbalance", "Classes with unequally many unlabelled samples",
            "The share of one class among the unlabelled samples varies; labelled samples stay balanced.",
            "Figure 8", _imbalance,
        ),
        CurveStudy(
            "neighbours", "How many neighbours a sample has in the graph",
            "The same number in both graphs: that which features are diffused through, and that of the eigenvalue.",
            "Figure A2", _neighbours,
        ),
    )
}  # fmt: skip
