"""Keeping every trial of a simulation: dense arrays beside a compressed npz and a parquet table, and all of them beside the
simulation.

Run: python speed/learn_records.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from exemplar import engine, seeds
from exemplar.dense_trials import FILE, DenseTrials
from exemplar.learn.agents import make_agent
from exemplar.learn.simulation import gram_matrices, simulate
from exemplar.learn.tasks import ObjectLearning
from record import record, timed

N_SUBTASKS, D = 64, 256
REPEATS = 5  # of the simulation, and of what is as short
SIZES = (50, 200, 500)  # sessions of each subtask, 500 as `learn run` makes: the cost grows with the work


def seconds(job: Callable[[], object], repeats: int = 1) -> float:
    """CPU time of one call, the least of a few."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def make(n_sessions: int) -> tuple[DenseTrials, float]:
    """A simulation of the square rule, and the CPU time it took."""
    features = seeds.rng("records").standard_normal((N_SUBTASKS, 2, 100, D)) / (2 * np.sqrt(D))
    task = ObjectLearning()
    shown = task.sample(N_SUBTASKS, n_sessions, rng=seeds.rng("records", "sessions"))
    grams, agent = gram_matrices(features), make_agent("square")
    few = task.sample(1, 2, rng=seeds.rng("compile"))
    simulate(agent, grams[:1], few)
    choice = simulate(agent, grams, shown)
    spent = seconds(lambda: simulate(agent, grams, shown), REPEATS)
    names = np.array([[f"s{s}-{i:03d}.png" for i in range(200)] for s in range(N_SUBTASKS)])
    subtasks = tuple(f"a{s},b{s}" for s in range(N_SUBTASKS))
    right = choice == shown.answer
    return DenseTrials("square", subtasks, names, shown.phase, shown.image, choice, right, 2), spent


def main() -> None:
    rows, said = [], ""
    with engine.one_thread(), tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for n in SIZES:
            dense, simulation = make(n)
            plain = seconds(lambda dense=dense: dense.save(folder), REPEATS)
            size = (folder / FILE).stat().st_size / 1e6
            arrays = {"shown": dense.shown, "choice": dense.choice, "right": np.packbits(dense.correct, axis=2)}
            pressed = seconds(lambda arrays=arrays: np.savez_compressed(folder / "pressed.npz", **arrays))
            table = seconds(lambda dense=dense: dense.table().save(folder))
            back = seconds(lambda: DenseTrials.load(folder), REPEATS)
            what = f"{n * N_SUBTASKS * 100 / 1e6:.2g} million trials"
            rows += [
                timed(
                    f"{what}: dense arrays, {size:.1f} MB",
                    1000 * plain,
                    "CPU ms",
                    "the simulation itself",
                    1000 * simulation,
                ),
                timed(f"{what}: dense arrays", 1000 * plain, "CPU ms", "compressed npz", 1000 * pressed),
                timed(f"{what}: dense arrays", 1000 * plain, "CPU ms", "parquet table", 1000 * table),
                timed(f"{what}: read again", 1000 * back, "CPU ms"),
            ]
            said = f"{100 * plain / simulation:.1f} % of a simulation; compressed {100 * pressed / simulation:.0f} %"
            print(
                what, f"simulation {simulation:.3f} s, dense {plain:.4f}, compressed {pressed:.3f}, parquet {table:.3f}"
            )
    record(__file__, "keeping every trial of a simulation", rows, seen=said)


if __name__ == "__main__":
    main()
