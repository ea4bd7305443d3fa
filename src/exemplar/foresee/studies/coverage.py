"""Do the intervals over classes cover? Simulated tasks of classes that are drawn again and again, with the truth known.

A class is easy or hard, accuracy is the mean ease of a task's classes with noise, and a measure sees that ease beside something
of its own: everything is normal, so that correlations are known in closed form. They depend on how many classes tasks are drawn
from: of 15 out of 20 classes, two tasks share so many that a quarter of what classes add to the variance is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.foresee.evaluating import Evaluated
from exemplar.foresee.scores import over_classes, score_leads, score_measures
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.runs import Run
from exemplar.stats import weighted

N_REPLICATES = 200
CLASSES = ((8, 3), (12, 5), (20, 5), (20, 10), (20, 15), (60, 5))  # classes to draw from, and ways
N_TASKS = (200, 2_000)
STRENGTHS = {"none": 0.0, "middling": 0.6, "strong": 1.0}  # how much of a class's ease the measure sees
LEVEL, SPREAD = 0.7, 0.1  # of accuracy
TASK_NOISE, MEASURE_NOISE, OWN = 0.03, 0.1, 0.3  # OWN: of a class in the measure, beside its ease


@dataclass(frozen=True)
class CoverageJob:
    n_classes: int
    ways: int
    n_tasks: int
    strength: str
    n_replicates: int
    seed: int


def true_correlation(ways: int, n_classes: int, strength: float) -> float:
    """Over tasks of `ways` out of so many classes, for all classes there could be."""
    share = (1 - ways / n_classes) / ways  # of the variance of classes, in the mean of those of a task
    accuracy = SPREAD**2 * share + TASK_NOISE**2
    measure = (strength**2 + OWN**2) * share + MEASURE_NOISE**2
    return float(SPREAD * strength * share / np.sqrt(accuracy * measure))


def true_spearman(r: float) -> float:
    """Of two normal variables with this correlation."""
    return float(6 / np.pi * np.arcsin(r / 2))


def simulate_tasks(job: CoverageJob, rng: np.random.Generator) -> Evaluated:
    """Two measures that are equally good, and differ in what they see beside the ease of classes."""
    ease, *own = rng.normal(size=(3, job.n_classes))
    classes = np.argsort(rng.random((job.n_tasks, job.n_classes)), axis=1)[:, : job.ways]
    noise = rng.normal(size=(3, job.n_tasks))
    accuracy = LEVEL + SPREAD * ease[classes].mean(axis=1) + TASK_NOISE * noise[0]
    seen = [
        (STRENGTHS[job.strength] * ease + OWN * other)[classes].mean(axis=1) + MEASURE_NOISE * more
        for other, more in zip(own, noise[1:], strict=True)
    ]
    measures = {"confidence": seen[0], "margin": seen[1]}
    config = TaskConfig(job.ways, 5, 30)
    return Evaluated(config, classes, accuracy, measures, 30 * job.ways, np.empty((job.n_tasks, 0)))


def do_cell(job: CoverageJob) -> dict[str, Any]:
    """How often each interval covered: statistic → number of replicates."""
    r = true_correlation(job.ways, job.n_classes, STRENGTHS[job.strength])
    covered = {"mean": 0, "pearson": 0, "spearman": 0, "difference of two correlations": 0}
    for k in range(job.n_replicates):
        found = simulate_tasks(job, seeds.rng("foresee coverage", job.seed, *vars(job).values(), k))
        scored = score_measures(found)
        around, _ = over_classes(weighted.mean(found.performance), found.classes)
        (lead,) = score_leads(found, "confidence", ("margin",))
        covered["mean"] += bool(around.lo <= LEVEL <= around.hi)
        covered["pearson"] += _holds(scored.pearson["confidence"], r)
        covered["spearman"] += _holds(scored.spearman["confidence"], true_spearman(r))
        covered["difference of two correlations"] += _holds(lead, 0.0)
    return covered


def _holds(score: Score, truth: float) -> bool:
    return bool(score.ci95[0] <= truth <= score.ci95[1])


def compute_coverage(
    run: Run, seed: int, *, n_replicates: int = N_REPLICATES, classes: Sequence[tuple[int, int]] = CLASSES,
    sizes: Sequence[int] = N_TASKS,
) -> list[Score]:  # fmt: skip
    jobs = [
        CoverageJob(n_classes, ways, n_tasks, strength, n_replicates, seed)
        for n_classes, ways in classes
        for n_tasks in sizes
        for strength in STRENGTHS
    ]
    scores = []
    for job, covered in zip(jobs, run.map(do_cell, jobs, label="cells"), strict=True):
        concept = f"{job.ways} of {job.n_classes} classes, {job.n_tasks:,} tasks, correlation {job.strength}"
        for name, count in covered.items():
            share = stats.proportion(count, job.n_replicates)
            scores.append(Score.of("coverage_95", share, agent=name, concept=concept))
    return scores
