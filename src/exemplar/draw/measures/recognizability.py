"""Whether a drawing is taken for what it was meant to be: nearest exemplar among some concepts, chosen at random or all.

drawings: (k, n, d) and exemplars: (k, d), in the space of a one-shot classifier. In closed form where that is possible, which
is what sampling episodes without end would give; sampled episodes are there to be compared with it.
"""

from __future__ import annotations

import numpy as np
import torch

from exemplar.draw.measures.neighbours import distances
from exemplar.errors import UserError
from exemplar.spaces.objectives.protonet import chance_of_nearest


def count_nearer(drawings: np.ndarray, exemplars: np.ndarray, *, groups: np.ndarray | None = None) -> np.ndarray:
    """(k, n) whole numbers: how many other concepts' exemplars are as near to a drawing as its own, or nearer.

    groups: (k,) labels; only exemplars of the concept's own group count. A tie counts as lost: who tells nothing apart is
    never right.
    """
    found = np.empty(drawings.shape[:2], np.int64)
    for place, concept in enumerate(drawings):
        distance = distances(concept, exemplars)
        near = distance <= distance[:, place, None]
        found[place] = (near if groups is None else near[:, groups == groups[place]]).sum(axis=1) - 1
    return found


def recognised(n_nearer: np.ndarray, ways: int = 0, *, groups: np.ndarray | None = None) -> np.ndarray:
    """(k, n) in [0, 1]: the chance that a drawing is named right among `ways` concepts, its own and others at random.

    n_nearer: (k, n) from `count_nearer`, with the same groups. ways: 0 for all concepts (of its group); where a group has
    fewer, all of it. C(K − 1 − c, w − 1) / C(K − 1, w − 1), where c of K − 1 others are nearer.
    """
    k = len(n_nearer)
    if ways < 0 or ways == 1 or (groups is None and ways > k):
        raise UserError(f"a choice among {ways} of {k} concepts cannot be: give 2 to {k} ways, or 0 for all")
    size = np.full(k, k) if groups is None else (groups == groups[:, None]).sum(axis=1)
    found = np.empty(n_nearer.shape)
    for n_classes in np.unique(size):
        mine = size == n_classes
        among = int(min(ways, n_classes)) if ways else int(n_classes)
        found[mine] = chance_of_nearest(torch.from_numpy(n_nearer[mine]), int(n_classes), among).numpy()
    return found


def sample_classes(n_concepts: int, ways: int, episodes: int, rng: np.random.Generator) -> np.ndarray:
    """(episodes, ways) concepts, none twice in an episode."""
    if not 2 <= ways <= n_concepts:
        raise UserError(
            f"episodes of {ways} ways need as many concepts, there are {n_concepts}: give 2 to {n_concepts}"
        )
    lot = rng.random((episodes, n_concepts))
    return np.argpartition(lot, ways - 1, axis=1)[:, :ways]


def sample_episodes(
    drawings: np.ndarray, exemplars: np.ndarray, ways: int, episodes: int, *, rng: np.random.Generator
) -> np.ndarray:
    """(episodes,) share of right answers: `ways` random concepts, one random drawing of each to be named."""
    k, n = drawings.shape[:2]
    classes = sample_classes(k, ways, episodes, rng)
    chosen = rng.integers(0, n, classes.shape)
    right = np.empty(episodes)
    for start in range(0, episodes, 256):  # 256 episodes of 20 ways in 128 dimensions take 100 MB
        part = slice(start, start + 256)
        query, support = drawings[classes[part], chosen[part]], exemplars[classes[part]]
        distance = torch.cdist(
            torch.from_numpy(query), torch.from_numpy(support), compute_mode="donot_use_mm_for_euclid_dist"
        ).numpy()
        own = np.diagonal(distance, axis1=1, axis2=2)
        right[part] = ((distance <= own[:, :, None]).sum(axis=2) == 1).mean(axis=1)
    return right
