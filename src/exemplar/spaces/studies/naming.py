"""Naming a new drawing after one drawing of each class, by the nearest in a space: accuracy in closed form and by episodes.

A drawing is given to the class whose support (the one drawing that stands for it) is nearest. Where it can be, accuracy is what
sampling episodes without end would give (`protonet.chance_of_nearest`), over all classes and all drawings but the support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from exemplar import seeds, stats
from exemplar.images.catalogue import load
from exemplar.records import Score, Scores
from exemplar.runs import Run
from exemplar.spaces.cards import check_unseen
from exemplar.spaces.loading import find_space
from exemplar.spaces.objectives.protonet import chance_of_nearest
from exemplar.spaces.space import NetworkSpace

WAYS = 20
TEST = ("omniglot", "weak-test")
EXEMPLARS = "simclr-omniglot-released-s0"  # whose class centres are the exemplars
PROTONETS = tuple(f"protonet-omniglot-released-s{seed}" for seed in range(3))
ANY_SUPPORT = tuple(f"protonet-omniglot-any-s{seed}" for seed in range(3))  # trained with any drawing as support


@dataclass(frozen=True)
class EncodingJob:
    """A data set's split, to be encoded in a space; layer: as in `load_space`."""

    space: str
    data: tuple[str, str]
    layer: str | None = None


def encode_set(job: EncodingJob) -> np.ndarray:
    """(n, d) float32. A space that was trained on some of the concepts is refused."""
    data, space = load(*job.data), find_space(job.space, job.layer)
    if isinstance(space, NetworkSpace) and space.card is not None:
        check_unseen(space.card, data.concepts, data.name)
    return space.encode(data, device="cpu")


def distances(features: np.ndarray) -> np.ndarray:
    """(n, d) → (n, n) float32, Euclidean, without the rounding of the expanded square."""
    there = torch.from_numpy(features)
    return torch.cdist(there, there, compute_mode="donot_use_mm_for_euclid_dist").numpy()


def class_accuracies(distance: np.ndarray, label: np.ndarray, support: np.ndarray, ways: int) -> np.ndarray:
    """(k,) float64: for each class the expected share of its drawings, the support left out, that are nearest to their own
    class's support among `ways` classes at random.

    distance: (n, n); label: (n,) from 0 to k − 1; support: (k,) rows. A tie counts as lost.
    """
    to_support = distance[:, support]
    own = np.take_along_axis(to_support, label[:, None].astype(np.intp), axis=1)
    n_nearer = (to_support <= own).sum(axis=1) - 1
    chance = chance_of_nearest(torch.from_numpy(n_nearer), len(support), ways).numpy()
    query = np.ones(len(label))
    query[support] = 0
    return np.bincount(label, chance * query, len(support)) / np.bincount(label, query, len(support))


def random_supports(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n_each, k) rows: as many choices of a support as the rarest class has drawings, none chosen twice."""
    order = rng.permutation(len(label))
    rows = [order[label[order] == k] for k in range(label.max() + 1)]
    n_each = min(map(len, rows))
    return np.stack([mine[:n_each] for mine in rows], axis=1)


def accuracy_with_random_supports(
    distance: np.ndarray, label: np.ndarray, ways: int, rng: np.random.Generator
) -> np.ndarray:
    """(k,) as `class_accuracies`, the mean over supports such that every drawing is one once."""
    return np.mean([class_accuracies(distance, label, s, ways) for s in random_supports(label, rng)], axis=0)


def episode_accuracies(
    distance: np.ndarray, label: np.ndarray, support: np.ndarray, ways: int, n: int, rng: np.random.Generator
) -> np.ndarray:
    """(n,) share of right answers in n sampled episodes: `ways` classes, one drawing of each to be named."""
    classes = rng.random((n, len(support))).argpartition(ways, axis=1)[:, :ways]
    rest = np.stack([np.setdiff1d(np.flatnonzero(label == k), support) for k in range(len(support))])  # (k, each − 1)
    query = rest[classes, rng.integers(0, rest.shape[1], classes.shape)]
    near = distance[query[:, :, None], support[classes][:, None, :]]  # (n, queries, candidates)
    own = np.diagonal(near, axis1=1, axis2=2)
    return ((near <= own[:, :, None]).sum(axis=2) == 1).mean(axis=1)


def mean_score(name: str, values: np.ndarray, seed_name: str, agent: str, *, space: str = "") -> Score:
    """values: one per class, run or episode, over which the interval is; seed_name: decides which are drawn again, and stays
    when agent, the label, is reworded."""
    found = stats.bootstrap(values, rng=seeds.rng("interval", name, seed_name, space))
    return Score.of(name, found, agent=agent, space=space)


def save_scores(run: Run, scores: Sequence[Score]) -> Scores:
    table = Scores.collect(scores)
    run.save(table)
    return table
