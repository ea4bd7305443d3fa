"""How often the intervals of the room hold the truth, and how often its paired test rejects: SIMULATED learners."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from exemplar import engine, seeds, stats
from exemplar.records import Score, Scores
from exemplar.runs import Run

N_TASKS = (10, 30, 100, 600)
MEANS = (
    (0.5, 0.5),
    (0.5, 0.45),
    (0.9, 0.85),
    (0.99, 0.99),
    (0.99, 0.97),
    (0.999, 0.99),
)  # true accuracies of two learners
N_TARGETS = 75  # of a task, as in new-classes at NSS 3
SPREAD, SHARED = 0.8, 0.7  # of a learner's logits over tasks, and their correlation between learners
FEW, MANY = 500, 2000  # experiments of a cell: with 600 tasks, and with fewer
TESTED = 5  # of so many experiments, one is tested too
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


@dataclass(frozen=True)
class CoverageJob:
    """n tasks of two learners whose true accuracies are means."""

    n: int
    means: tuple[float, float]
    n_experiments: int
    seed: int


def coverage_result(run: Run, seed: int) -> Scores:
    jobs = [CoverageJob(n, means, FEW if n > 100 else MANY, seed) for means, n in product(MEANS, N_TASKS)]
    return simulate_coverage(run, jobs)


def simulate_coverage(run: Run, jobs: list[CoverageJob]) -> Scores:
    found = run.map(cover, jobs, label="experiments")
    table = Scores.collect(
        Score.of(name, stats.proportion(*counts), concept=f"{job.n} tasks", agent=" and ".join(map(str, job.means)))
        for job, one in zip(jobs, found, strict=True)
        for name, counts in one.items()
    )
    run.save(table)
    return table


def cover(job: CoverageJob) -> dict[str, tuple[int, int]]:
    """name → (how often, of how many): intervals that hold the truth, and tests that reject at 5 %."""
    rng = seeds.rng("coverage of recall", job.seed, job.n, *map(str, job.means))
    first, second = draw_accuracies(job.means, (job.n, job.n_experiments), rng)
    with engine.one_thread():
        accuracy, difference = stats.mean_share(first), stats.mean(first - second)
        tested = range(0, job.n_experiments, TESTED)
        p = [stats.paired_test(first[:, k], second[:, k], n_permutations=2000, rng=rng).p for k in tested]
    held = (_holds(accuracy, job.means[0]), _holds(difference, job.means[0] - job.means[1]))
    rejects = "level" if job.means[0] == job.means[1] else "power"
    return {
        "coverage_of_accuracy": (held[0], job.n_experiments),
        "coverage_of_difference": (held[1], job.n_experiments),
        rejects: (int(np.sum(np.array(p) < 0.05)), len(p)),
    }


def draw_accuracies(means: tuple[float, float], shape: tuple[int, int], rng: np.random.Generator) -> list[np.ndarray]:
    """Two arrays (tasks, experiments) of shares of N_TARGETS: tasks are hard for both learners, or for one."""
    task = rng.normal(size=shape)
    own = [SHARED**0.5 * task + (1 - SHARED) ** 0.5 * rng.normal(size=shape) for _ in means]
    return [
        rng.binomial(N_TARGETS, expit(logit_of(mean) + SPREAD * z)) / N_TARGETS
        for mean, z in zip(means, own, strict=True)
    ]


def logit_of(mean: float) -> float:
    """The logit around which accuracies have this mean."""
    return float(brentq(lambda logit: WEIGHTS @ expit(logit + SPREAD * NODES) / WEIGHTS.sum() - mean, -15, 15))


def _holds(found: stats.Estimate, truth: float) -> int:
    return int(((np.asarray(found.lo) <= truth + 1e-12) & (np.asarray(found.hi) >= truth - 1e-12)).sum())
