"""Points of a study: tasks of one kind, many of them, shared out among workers and resumed where a run was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine
from exemplar.files import read_npz, write_npz
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.evaluating import BLOCK, Evaluated, Recipe, evaluate_tasks, join_evaluated
from exemplar.foresee.graphs import GraphConfig
from exemplar.foresee.tasks import TaskConfig
from exemplar.runs import Run

PER_JOB = 16  # blocks of tasks
BANK = "bank"


@dataclass(frozen=True)
class Point:
    """One kind of tasks. x: where it lies on its figure's axis."""

    x: float
    task: TaskConfig
    recipe: Recipe


@dataclass(frozen=True)
class PointJob:
    """Some blocks of a point's tasks. path, fingerprint: of the bank; classes: of it, all if empty."""

    path: str
    fingerprint: str
    task: TaskConfig
    recipe: Recipe
    n_tasks: int
    first: int
    last: int
    seed: int
    classes: tuple[int, ...] = ()


@lru_cache(maxsize=2)
def _load(path: str, fingerprint: str) -> FeatureBank:
    at = read_npz(Path(path), rows=("f", 2), counts=("iu", 1))
    bank = FeatureBank(at["rows"], at["counts"], tuple(map(str, range(len(at["counts"])))))
    assert bank.fingerprint == fingerprint
    return bank


def do_job(job: PointJob) -> dict[str, Any]:
    bank = _load(job.path, job.fingerprint)
    if job.classes:
        bank = bank.only(job.classes)
    with engine.one_thread():
        done = evaluate_tasks(bank, job.task, job.n_tasks, job.recipe, seed=job.seed, blocks=range(job.first, job.last))
    classes = np.asarray(job.classes)[done.classes] if job.classes else done.classes
    found = {"classes": classes, "performance": done.performance, "eigenvalues": done.eigenvalues}
    return found | {"measures": done.measures, "n_scored": done.n_scored}


def keep_bank(run: Run, bank: FeatureBank) -> str:
    """Where workers find it."""
    path = run.folder / f"{BANK}-{bank.fingerprint[:16]}.npz"
    if not path.is_file():
        write_npz(path, {"rows": bank.rows, "counts": bank.counts}, compressed=False)
    return str(path)


def evaluate_points(
    run: Run,
    bank: FeatureBank,
    points: Sequence[Point],
    n_tasks: int,
    seed: int,
    *,
    classes: Sequence[tuple[int, ...]] = ((),),
) -> list[Evaluated]:
    """Every point for every choice of classes, points fastest."""
    path = keep_bank(run, bank)
    n_blocks = -(-n_tasks // BLOCK)
    cells = [(chosen, point) for chosen in classes for point in points]
    jobs = [
        PointJob(
            path,
            bank.fingerprint,
            point.task,
            point.recipe,
            n_tasks,
            first,
            min(first + PER_JOB, n_blocks),
            seed,
            chosen,
        )
        for chosen, point in cells
        for first in range(0, n_blocks, PER_JOB)
    ]
    done = run.map(do_job, jobs, label="tasks")
    per_cell = -(-n_blocks // PER_JOB)
    return [
        join_evaluated([_evaluated(point.task, part) for part in done[k * per_cell : (k + 1) * per_cell]])
        for k, (_, point) in enumerate(cells)
    ]


def drop_bank(run: Run) -> None:
    """The features go when all is computed: they can be large, and were somebody's own."""
    for path in run.folder.glob(f"{BANK}-*.npz"):
        path.unlink()


def _evaluated(config: TaskConfig, part: dict[str, Any]) -> Evaluated:
    return Evaluated(
        config, part["classes"], part["performance"], part["measures"], part["n_scored"], part["eigenvalues"]
    )


def with_neighbours(k: int) -> GraphConfig:
    return GraphConfig(neighbours=k)
