"""Few-shot tasks with the paper's measures, batched, against a plain loop over tasks; CPU time of one thread.

The loop is written as the paper describes it: torch for logistic regression, scikit-learn for N-means and its scores, NumPy for
graphs. Run: python speed/foresee.py

With a GPU, the wall time of 10,000 tasks of each setting on it instead, after a warm-up; from a bare checkout (PYTHONPATH=src),
torch and NumPy are enough. --device and --tasks do the same elsewhere, to compare the means, and keep nothing.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import numpy as np
import torch

from exemplar import seeds
from exemplar.foresee import FeatureBank, Recipe, TaskConfig, evaluate_tasks, sample_tasks
from exemplar.foresee.indicators import chosen_measures
from record import record, timed

WAYS, SHOTS, D = 5, 5, 640
SETTINGS = {"supervised": 50, "semi": 30, "unsupervised": 30}  # queries per class
FLOORS = {"supervised": 40, "semi": 20, "unsupervised": 7}
N_TASKS, N_SLOW, N_ON_GPU = 256, 8, 10_000
APART = 0.35  # on a GPU: not every task is perfect, so that means of accuracy can be compared


def make_bank(apart: float = 1.0) -> FeatureBank:
    """Non-negative features, as a backbone that ends in a ReLU gives. apart: how far class centres lie from each other."""
    rng = seeds.rng("speed", "foresee")
    centre = apart * rng.normal(size=(20, 1, D))
    return FeatureBank.of(np.maximum(centre + 2 * rng.normal(size=(20, 100, D)), 0))


def neighbours(x: np.ndarray, k: int = 15) -> np.ndarray:
    length = np.linalg.norm(x, axis=1)
    cosine = x @ x.T / np.outer(length, length)
    np.fill_diagonal(cosine, 0)
    smallest = np.sort(cosine, axis=1)[:, -min(k, len(x) - 1)][:, None]
    return np.where(cosine >= smallest, cosine, 0)


def diffuse(x: np.ndarray) -> np.ndarray:
    graph = neighbours(x)
    degree = np.diag(1 / np.sqrt(graph.sum(axis=1)))
    return (0.75 * np.eye(len(x)) + degree @ graph @ degree) @ x


def train(x: np.ndarray, y: np.ndarray) -> torch.nn.Linear:
    samples, labels = torch.from_numpy(x), torch.from_numpy(y)
    layer = torch.nn.Linear(x.shape[1], WAYS)
    adam = torch.optim.Adam(layer.parameters(), lr=0.01, weight_decay=5e-6)
    for _ in range(50):
        for rows in torch.randperm(len(samples)).split(5):
            if len(rows) == 5:
                adam.zero_grad()
                torch.nn.functional.cross_entropy(layer(samples[rows]), labels[rows]).backward()
                adam.step()
    return layer


def plain_task(
    support: np.ndarray, labels: np.ndarray, queries: np.ndarray, truth: np.ndarray, setting: str
) -> dict[str, float]:
    """One task, done and measured."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, davies_bouldin_score

    everything = np.concatenate([support, queries])
    if setting != "supervised":
        everything = diffuse(everything).astype(np.float32)
        support, queries = everything[: len(labels)], everything[len(labels) :]
    pool = support if setting == "supervised" else everything
    cluster = KMeans(WAYS, n_init=10).fit(pool).labels_
    graph = neighbours(pool)
    graph = (graph + graph.T) / 2
    found = {"davies_bouldin": davies_bouldin_score(pool, cluster)}
    found["egv"] = np.linalg.eigvalsh(np.diag(graph.sum(axis=1)) - graph)[WAYS - 1]
    if setting == "unsupervised":
        return found | {"performance": adjusted_rand_score(np.concatenate([labels, truth]), cluster)}
    layer = train(support, labels)
    with torch.no_grad():
        x, y = torch.from_numpy(support), torch.from_numpy(labels)
        found["lr_loss"] = float(torch.nn.functional.cross_entropy(layer(x), y))
        p = torch.softmax(layer(torch.from_numpy(queries)), dim=1).numpy()
    found["confidence"] = float(p.max(axis=1).mean())
    cosine = support @ support.T / np.outer(np.linalg.norm(support, axis=1), np.linalg.norm(support, axis=1))
    blocks = cosine.reshape(WAYS, SHOTS, WAYS, SHOTS).sum(axis=(1, 3))
    within = (np.diag(blocks) - SHOTS) / (SHOTS * (SHOTS - 1))
    between = (blocks / SHOTS**2 - 2 * np.eye(WAYS)).max(axis=1)
    found["similarity"] = float((within - between).mean())
    return found | {"performance": float((p.argmax(axis=1) == truth).mean())}


def asked(setting: str) -> tuple[TaskConfig, Recipe]:
    measures = chosen_measures(["paper"], setting, SHOTS)
    return TaskConfig(WAYS, SHOTS, SETTINGS[setting], setting), Recipe(measures=measures)


def main() -> None:
    wanted = argparse.ArgumentParser(description="Few-shot tasks with the paper's measures.")
    wanted.add_argument("--device", help="do as on a GPU, on this device (cpu, cuda)")
    wanted.add_argument("--tasks", type=int, default=N_ON_GPU, help="how many of each setting, on that device")
    given = wanted.parse_args()
    if given.device or torch.cuda.is_available():
        measure_on(given.device or "cuda", given.tasks)
    else:
        measure_on_one_core()


def measure_on(device: str, n_tasks: int) -> None:
    """Means of accuracy and measures are printed, too: on the same tasks a processor's are the same up to rounding."""
    bank, rows = make_bank(apart=APART), []
    for setting in SETTINGS:
        config, recipe = asked(setting)
        begun = time.perf_counter()
        evaluate_tasks(bank, config, 128, recipe, seed=1, device=device)
        print(f"{setting:<14}{time.perf_counter() - begun:>8.2f} s to warm up", flush=True)
        begun = time.perf_counter()
        found = evaluate_tasks(bank, config, n_tasks, recipe, seed=0, device=device)
        took = time.perf_counter() - begun
        rows.append(timed(setting, took, f"s for {n_tasks:,} tasks"))
        means = {found.what: found.performance, **found.measures}
        print(
            f"{setting:<14}{took:>8.2f} s   " + ", ".join(f"{key} {value.mean():.5f}" for key, value in means.items()),
            flush=True,
        )
    if device != "cuda" or n_tasks != N_ON_GPU:
        return
    record(
        __file__,
        f"{N_ON_GPU:,} few-shot tasks with the paper's measures on a GPU ({WAYS}-way {SHOTS}-shot, d = {D})",
        rows,
        seen=", ".join(f"{row.what} {row.value:.1f} s" for row in rows), clock="wall time", variant="gpu",
        device=torch.cuda.get_device_name(),
    )  # fmt: skip


def measure_on_one_core() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    bank, rows, ratios = make_bank(), [], {}
    print(f"{WAYS}-way {SHOTS}-shot, d = {D}; CPU milliseconds per task with the paper's measures")
    for setting in SETTINGS:
        config, recipe = asked(setting)
        evaluate_tasks(bank, config, 8, recipe, seed=1)  # compiles
        start = time.process_time()
        evaluate_tasks(bank, config, N_TASKS, recipe, seed=0)
        ours = (time.process_time() - start) / N_TASKS
        tasks = sample_tasks(bank.counts, config, N_SLOW + 1, rng=seeds.rng("speed", "foresee tasks"))
        one = [
            (bank.rows[tasks.support[k]], tasks.labels[k], bank.rows[tasks.queries[k]], tasks.truth[k])
            for k in range(N_SLOW + 1)
        ]
        plain_task(*one[-1], setting)
        start = time.process_time()
        for task in one[:-1]:
            plain_task(*task, setting)
        theirs = (time.process_time() - start) / N_SLOW
        ratios[setting] = theirs / ours
        rows.append(
            timed(setting, 1e3 * ours, "CPU ms per task", "loop over tasks, torch and scikit-learn", 1e3 * theirs)
        )
        print(
            f"{setting:<14}{1e3 * ours:>8.2f}{1e3 * theirs:>9.1f}{ratios[setting]:>7.1f} ×   (floor {FLOORS[setting]} ×)"
        )
    record(
        __file__,
        f"few-shot tasks with the paper's measures ({WAYS}-way {SHOTS}-shot, d = {D}) next to a loop over tasks",
        rows,
        seen=", ".join(f"{setting} {ratio:.0f} ×" for setting, ratio in ratios.items()) + " as fast as a loop",
    )


if __name__ == "__main__":
    main()
