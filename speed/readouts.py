"""Readouts fitted to all tasks at once against a loop over tasks (scikit-learn; torch for Adam); CPU time on one thread.

Run: python speed/readouts.py
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import numpy as np
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import NearestCentroid

from exemplar import seeds
from exemplar.spaces.readouts import (
    PAPER,
    Readout,
    fit_lda,
    fit_logistic,
    fit_logistic_adam,
    fit_nearest_mean,
    fit_ridge,
    ridge_left_out,
)
from record import record, timed

N_TASKS, N_WAYS, N_SHOTS, N_QUERIES, D = 300, 5, 5, 50, 640  # as in predicting few-shot generalization
N_SLOW = 20  # tasks of the slow loops; the time per task is what is compared

Task = tuple[np.ndarray, np.ndarray, np.ndarray]


def cpu_seconds(call: Callable[[], object], repeats: int) -> float:
    """The least CPU time of a few calls, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def tasks() -> Task:
    """Non-negative features of norm 1, as a backbone that ends in a ReLU gives: support, labels, queries."""
    rng = seeds.rng("speed", "readouts")
    centre = rng.normal(size=(N_TASKS, N_WAYS, D))
    labels = np.tile(np.repeat(np.arange(N_WAYS), N_SHOTS), (N_TASKS, 1))
    wanted = np.tile(np.arange(N_QUERIES) % N_WAYS, (N_TASKS, 1))

    def around(label: np.ndarray) -> np.ndarray:
        noise = rng.normal(size=(*label.shape, D))
        x = np.maximum(np.take_along_axis(centre, label[..., None], axis=1) + 2 * noise, 0)
        return (x / np.linalg.norm(x, axis=2, keepdims=True)).astype(np.float32)

    return around(labels), labels, around(wanted)


def torch_loop(support: np.ndarray, labels: np.ndarray, queries: np.ndarray) -> torch.Tensor:
    """The paper's recipe as one writes it: a linear layer, batches, Adam."""
    x, y = torch.from_numpy(support), torch.from_numpy(labels)
    layer = torch.nn.Linear(D, N_WAYS)
    adam = torch.optim.Adam(layer.parameters(), lr=PAPER.rate, weight_decay=PAPER.penalty)
    for _ in range(PAPER.epochs):
        order = torch.randperm(len(x))
        for rows in order.split(PAPER.batch):
            adam.zero_grad()
            torch.nn.functional.cross_entropy(layer(x[rows]), y[rows]).backward()
            adam.step()
    return layer(torch.from_numpy(queries)).argmax(dim=1)


def left_out_loop(support: np.ndarray, labels: np.ndarray, _: np.ndarray) -> list[np.ndarray]:
    targets, rows = np.eye(N_WAYS)[labels], np.arange(len(labels))
    return [Ridge(1.0).fit(support[rows != i], targets[rows != i]).predict(support[i : i + 1]) for i in rows]


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # scikit-learn's about convergence: it stops where its tolerance says
    support, labels, queries = tasks()

    def ours(fit: Callable[..., Readout], **options: object) -> float:
        return cpu_seconds(lambda: fit(support, labels, N_WAYS, **options).predict(queries), 3) / N_TASKS

    def theirs(one: Callable[..., object], n: int) -> float:
        return cpu_seconds(lambda: [one(support[t], labels[t], queries[t]) for t in range(n)], 2) / n

    penalty = 1e-3  # of logistic regression; scikit-learn's C is 1 / (penalty · n)
    centroid, ridge = NearestCentroid(), RidgeClassifier(1.0)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    logistic = LogisticRegression(C=1 / (penalty * N_WAYS * N_SHOTS), tol=1e-6, max_iter=1000)
    table = {
        "nearest mean": (ours(fit_nearest_mean), theirs(lambda x, y, q: centroid.fit(x, y).predict(q), N_TASKS)),
        "ridge": (ours(fit_ridge), theirs(lambda x, y, q: ridge.fit(x, y).predict(q), N_TASKS)),
        "ridge, left one out": (
            cpu_seconds(lambda: ridge_left_out(support, labels, N_WAYS), 3) / N_TASKS,
            theirs(left_out_loop, N_SLOW),
        ),
        "LDA": (ours(fit_lda), theirs(lambda x, y, q: lda.fit(x, y).predict(q), N_SLOW)),
        "logistic, exact": (
            ours(fit_logistic, penalty=penalty),
            theirs(lambda x, y, q: logistic.fit(x, y).predict(q), N_SLOW),
        ),
        "logistic, Adam": (ours(fit_logistic_adam, rng=seeds.rng("speed", "adam")), theirs(torch_loop, N_SLOW)),
    }
    print(f"{N_WAYS}-way {N_SHOTS}-shot, {N_QUERIES} queries, d = {D}, {N_TASKS} tasks; CPU milliseconds per task")
    print(f"{'readout':<22}{'exemplar':>10}{'loop':>10}{'ratio':>9}")
    for name, (mine, peer) in table.items():
        print(f"{name:<22}{1e3 * mine:>10.3f}{1e3 * peer:>10.3f}{peer / mine:>8.1f}×")
    slow = "loop over tasks, scikit-learn"
    peers = {name: "loop over tasks, torch" if name == "logistic, Adam" else slow for name in table}
    ratios = [peer / mine for mine, peer in table.values()]
    record(
        __file__,
        f"readouts batched over {N_TASKS} tasks ({N_WAYS}-way {N_SHOTS}-shot, {N_QUERIES} queries, d = {D}) next to a loop",
        [timed(name, 1e3 * mine, "CPU ms per task", peers[name], 1e3 * peer) for name, (mine, peer) in table.items()],
        seen=f"{min(ratios):.1f} to {max(ratios):.0f} × as fast as a loop",
    )


if __name__ == "__main__":
    main()
