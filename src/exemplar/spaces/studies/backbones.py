"""What the backbones for photographs are worth: naming one of five new classes after one picture, or five, of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from exemplar import seeds, stats
from exemplar.images.catalogue import load
from exemplar.records import Score, Scores
from exemplar.runs import Run
from exemplar.spaces.objectives.pretraining import task_accuracies
from exemplar.spaces.training.images import Images
from exemplar.spaces.zoo import check_unseen, load_card, load_space

TESTED_ON = {"wrn28-4-cifar-fs": "cifar-fs", "conv4-64-cifar-fs": "cifar-fs", "densenet-fc100": "fc100"}
N_TASKS, BLOCK = 2_000, 500


@dataclass(frozen=True)
class BlockJob:
    """A part of a data set's test images, encoded by a backbone. start: its first row."""

    space: str
    data: str
    start: int


def encode_block(job: BlockJob) -> np.ndarray:
    """(BLOCK or fewer, d) float32. A backbone that was trained on some of the classes is refused."""
    data = load(job.data, "test")
    check_unseen(load_card(job.space), data.concepts, data.name)
    rows = np.arange(job.start, min(job.start + BLOCK, len(data)))
    return load_space(job.space).encode(data.take(rows), device="cpu")


def backbone_result(run: Run, seed: int) -> Scores:
    """5-way accuracy of the shipped backbones on their test classes: nearest means of features of length 1, 2,000 tasks."""
    scores = []
    for space, name in TESTED_ON.items():
        data = load(name, "test")
        jobs = [BlockJob(space, name, start) for start in range(0, len(data), BLOCK)]
        features = torch.from_numpy(np.concatenate(run.map(encode_block, jobs, label=space)))
        # the pictures themselves are not asked for again: labels are all that a task is drawn from
        labels = Images.of(np.zeros((len(data), 1, 1), np.uint8), data.concept.code, data.concepts)
        for shots in (1, 5):
            rng = seeds.torch_rng("few-shot tasks", seed, shots)
            mean = stats.mean(task_accuracies(features, labels, rng, shots=shots, n_tasks=N_TASKS).numpy())
            score, agent = f"accuracy_5_way_{shots}_shot", f"{space}, {data.name}"
            scores.append(Score(score, mean.value, (mean.lo, mean.hi), mean.n, agent=agent))
    table = Scores.collect(scores)
    run.save(table)
    return table
