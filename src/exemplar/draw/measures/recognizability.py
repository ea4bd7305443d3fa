"""Whether a drawing is taken for what it was meant to be: nearest exemplar among some concepts, chosen at random or all.

drawings: (k, n, d) and exemplars: (k, d), in the space of a one-shot classifier. In closed form where that is possible, which
is what sampling episodes without end would give; sampled episodes are there to be compared with it.
"""

from __future__ import annotations

import numpy as np
import torch

from exemplar.draw.measures.neighbours import distances
from exemplar.errors import UserError
from exemplar.spaces.objectives.maml import adapt, logits
from exemplar.spaces.objectives.protonet import chance_of_nearest
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.zoo import Card


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


def sample_maml_episodes(
    drawings: np.ndarray,
    exemplars: np.ndarray,
    space: NetworkSpace,
    card: Card,
    episodes: int,
    *,
    rng: np.random.Generator,
) -> np.ndarray:
    """(episodes,) as `sample_episodes`, by a MAML network that first adapts to each episode's exemplars.

    drawings: (k, n, h, w) and exemplars: (k, h, w), images as uint8; space, card: the shipped network and its card, which
    says for how many ways and steps. It sees an episode's drawings together, as in training.
    """
    if card.architecture != "maml":
        raise UserError(f"{space.name} does not adapt to tasks: give a MAML space, such as maml-omniglot-s0")
    k, n = drawings.shape[:2]
    classes = sample_classes(k, int(card.config["ways"]), episodes, rng)
    chosen = rng.integers(0, n, classes.shape)
    label = torch.arange(classes.shape[1])[None]
    right = np.empty(episodes)
    for place, (mine, which) in enumerate(zip(classes, chosen, strict=True)):
        support, query = (
            torch.from_numpy(space.input.prepare(images))[None] for images in (exemplars[mine], drawings[mine, which])
        )
        with torch.no_grad():
            params = adapt(
                space.network, support, label, int(card.training["test_steps"]), float(card.training["inner_rate"])
            )
            answer = logits(space.network, params, query)[0].argmax(1)
        right[place] = float((answer == label[0]).float().mean())
    return right
