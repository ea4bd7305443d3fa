"""A critic that adapts to each task before it answers (MAML): it must run, so it is no pure score of features."""

from __future__ import annotations

import numpy as np
import torch

from exemplar.draw.measures.recognizability import sample_classes
from exemplar.errors import UserError
from exemplar.spaces.objectives.maml import adapt, logits
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.zoo import Card


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
        raise UserError(f"{space.name} does not adapt to tasks: give a MAML space, such as maml-omniglot-released-s0")
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
