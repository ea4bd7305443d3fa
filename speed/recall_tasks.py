"""Continual few-shot tasks made per CPU-second, as indices and with images, beside the published figures of other samplers and
a plain loop in the same run; and prototypical networks over 600 tasks of frozen features.

Run: python speed/recall_tasks.py
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a waiting thread would count as CPU time

import numpy as np
import torch

import exemplar as ex
from exemplar.recall.suites import class_rows, make_suite
from exemplar.recall.tasks import TaskShape, sample_indices
from exemplar.spaces.readouts import ClassSums
from record import rated, record, timed

SHAPE = TaskShape(nss=10, ways=5, shots=1, targets=5)  # 300 images of 28 × 28, as in the figures of others
AUTHORS = 126  # tasks a CPU-second, the authors' sampler with images in memory (facts on samplers)
N_INDICES, N_IMAGES, N_LOOP, N_EVALUATED = 20_000, 2_000, 300, 600


def loop(rows: np.ndarray, n: int) -> None:
    """Tasks one by one, as samplers usually make them: a choice of classes, then of samples of each."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        for place in rng.choice(len(rows), SHAPE.n_classes, replace=False):
            rng.choice(rows[place], SHAPE.n_samples, replace=False)


def cpu_seconds(work: object) -> float:
    assert callable(work)
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    data = ex.load("glyphs", "weak-train").resized(28, binarise=0.5)
    rows, counts = class_rows(data, SHAPE)
    images = (data.images[:, None] / np.float32(255)).astype(np.float32)
    numbers = np.arange(N_INDICES)
    indices = N_INDICES / cpu_seconds(lambda: sample_indices(SHAPE, rows, counts, numbers, 0))
    by_loop = N_LOOP / cpu_seconds(lambda: loop(rows, N_LOOP))

    def with_images() -> None:
        drawn = sample_indices(SHAPE, rows, counts, numbers[:N_IMAGES], 0)
        for support, target in zip(drawn.support, drawn.target, strict=True):
            images[support], images[target]

    pictures = N_IMAGES / cpu_seconds(with_images)
    suite, _ = make_suite(data, TaskShape(), N_EVALUATED, 0)
    features = np.random.default_rng(0).standard_normal((len(data), 64)).astype(np.float32)

    def protonets() -> None:
        """All tasks at once: running sums over the support sets, then the nearest mean of every target."""
        n_labels = suite.shape.n_labels
        sums = ClassSums.of(features[suite.support[:, 0]], suite.support_label[:, 0], n_labels)
        for place in range(1, suite.shape.nss):
            sums = sums + ClassSums.of(features[suite.support[:, place]], suite.support_label[:, place], n_labels)
        sums.readout().predict(features[suite.target.reshape(N_EVALUATED, -1)])

    evaluated = cpu_seconds(protonets)
    unit = "tasks per CPU-second"
    result = [
        rated("tasks as indices, NSS 10, 300 images each", indices, unit, "a loop over tasks and classes", by_loop),
        rated("the same with their images", pictures, unit, "the authors' sampler (published figure)", AUTHORS),
        timed(f"prototypical networks on frozen features, {N_EVALUATED} tasks at once", 1000 * evaluated, "CPU ms"),
    ]
    seen = (
        f"{indices:,.0f} tasks per CPU-second as indices, {pictures:,.0f} with images ({pictures / AUTHORS:.0f} × 126)"
    )
    record(
        __file__, "making continual few-shot tasks", result, seen=seen,
        notes=["126 is the authors' sampler as measured on another occasion, not in this run; easyfsl is not installed here."],
    )  # fmt: skip


if __name__ == "__main__":
    main()
