"""What one task costs a learner, measured on one task of the suite: MACs per support set and for the targets, peak memory; and
what one step of the training cost that made the network it stands on."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.meters.macs import count_operations
from exemplar.recall.meters.memory import peak_memory
from exemplar.recall.stream import TaskImages, ask, begin, show_set
from exemplar.spaces.loading import find_space
from exemplar.spaces.recipes import find_recipe
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.training.images import TrainingImages
from exemplar.user_code import seeded_globals

LARGE = 1_000_000  # weights of a network whose training step is too much to run only to count it


@dataclass(frozen=True)
class Costs:
    """macs_per_set: adaptation, one number per support set, encoding included; macs_targets: inference on all targets;
    elementwise: other arithmetic, in elements written; unknown: operators without a formula; peak_bytes: the most memory at
    once in one inference cycle; declared_atm: what the learner says of itself, if it does."""

    macs_per_set: tuple[int, ...]
    macs_targets: int
    elementwise: int
    unknown: tuple[str, ...]
    peak_bytes: int
    declared_atm: float | None = None
    uses_torch: bool = True

    @property
    def macs_task(self) -> int:
        return sum(self.macs_per_set) + self.macs_targets

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "macs_task": self.macs_task}


@dataclass(frozen=True)
class TrainingCosts:
    """One step of the training of a space, backward included: macs, and peak_bytes, the most memory at once in that cycle."""

    macs: int
    peak_bytes: int
    unknown: tuple[str, ...]


def measure_costs(agent: AgentSource, task: TaskImages) -> Costs:
    """One task, in this process, on copies as the stream makes them. task: what the learner is handed."""
    per_set, unknown, elementwise, calls = [], Counter[str](), 0, 0
    encoder = _encoder_macs(agent)
    if encoder is None:
        unknown["the encoder of the frozen features"] += 1
    state, who = None, agent.name
    peak = 0
    for place, (images, labels) in enumerate(zip(task.support, task.support_label, strict=True)):
        learner = begin(agent.make(), task.n_labels, (0, task.number, place), state)
        with count_operations() as done:
            state = show_set(learner, who, images, labels)
        per_set.append(done.macs + len(images) * (encoder or 0))
        unknown += done.unknown
        elementwise, calls = elementwise + done.elementwise, calls + done.n_calls
    flat = task.target.reshape(-1, *task.target.shape[2:])
    learner = begin(agent.make(), task.n_labels, (0, task.number, "targets"), state)
    with count_operations() as done:
        ask(learner, who, flat, task.n_labels)
    learner = begin(agent.make(), task.n_labels, (0, task.number, 0), None)
    with peak_memory() as seen:
        for images, labels in zip(task.support, task.support_label, strict=True):
            show_set(learner, who, images, labels)
        ask(learner, who, flat, task.n_labels)
    peak = seen.peak
    declared = getattr(learner, "atm", None)
    return Costs(
        tuple(per_set), done.macs + len(flat) * (encoder or 0), elementwise + done.elementwise,
        tuple(sorted(unknown + done.unknown)), peak, None if declared is None else float(declared),
        calls + done.n_calls > 0,
    )  # fmt: skip


def _encoder_macs(agent: AgentSource) -> int | None:
    """MACs of encoding one image in the frozen space; 0 where the learner is handed images, None where it is unknown."""
    return _space_macs(agent.space) if agent.takes_features and agent.space else 0


@lru_cache(maxsize=16)
def _space_macs(name: str) -> int | None:
    space = find_space(name, None, None)
    if not isinstance(space, NetworkSpace):
        return None
    blank = torch.zeros(1, space.input.channels, *space.input.size)
    with torch.no_grad(), count_operations() as done:
        space.network.eval()(blank)
    return done.macs


@lru_cache(maxsize=16)
def measure_training(space: str) -> TrainingCosts | None:
    """One step of the recipe that made a space, on random pixels; None where there is no recipe, or its network is large."""
    try:
        recipe, _ = find_recipe(space)
    except UserError:
        return None
    rng = seeds.rng("recall", "training step")
    n_classes = max(getattr(recipe.objective, "ways", 20), 20)
    each = max(8, getattr(recipe.objective, "shots", 1) + getattr(recipe.objective, "queries", 1))
    each = max(each, -(-getattr(recipe.objective, "batch", 1) // n_classes))
    shape = (n_classes * each, recipe.size, recipe.size, *((3,) if recipe.threshold is None else ()))
    pixels = rng.integers(0, 256, shape, dtype=np.uint8)
    data = TrainingImages.of(pixels, np.repeat(np.arange(n_classes), each), [str(k) for k in range(n_classes)])
    with seeded_globals(0):
        network = recipe.objective.build(data)
    if sum(weight.numel() for weight in network.parameters()) > LARGE:
        return None
    generator = torch.Generator().manual_seed(0)
    with count_operations() as done:
        recipe.objective.loss(network, data, generator, 0)[0].backward()
    network.zero_grad(set_to_none=True)
    with peak_memory() as seen:
        recipe.objective.loss(network, data, generator, 0)[0].backward()
    return TrainingCosts(done.macs, seen.peak, tuple(sorted(done.unknown)))
