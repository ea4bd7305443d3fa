"""Tasks drawn from a bank, done by an agent, and measured: block by block, so that memory stays small and workers agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from exemplar import seeds
from exemplar.foresee.agents import DEFAULT, find_agent
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.clustering import adjusted_rand
from exemplar.foresee.graphs import GraphConfig
from exemplar.foresee.indicators import compute_measures
from exemplar.foresee.tasks import TaskConfig, Tasks, sample_tasks
from exemplar.foresee.views import PAPER_GRAPH, TaskView
from exemplar.spaces.devices import find_device

BLOCK = 64  # tasks that share a generator's name, and are computed at once

Answering = Callable[[TaskView], Tensor]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """classes: (tasks, ways) of the bank; performance: (tasks,) accuracy, or adjusted Rand index where nothing is labelled;
    measures: name → (tasks,); n_scored: samples behind each performance; eigenvalues: (tasks, kept)."""

    config: TaskConfig
    classes: np.ndarray
    performance: np.ndarray
    measures: dict[str, np.ndarray]
    n_scored: int
    eigenvalues: np.ndarray

    @property
    def is_accuracy(self) -> bool:
        return self.config.setting != "unsupervised"

    @property
    def what(self) -> str:
        return "accuracy" if self.is_accuracy else "adjusted_rand_index"

    def arrays(self) -> dict[str, np.ndarray]:
        """For an npz file."""
        found = {f"measure_{name}": values for name, values in self.measures.items()}
        return {"classes": self.classes, self.what: self.performance, **found}

    def take(self, rows: np.ndarray) -> Evaluated:
        """Some of the tasks."""
        measures = {name: values[rows] for name, values in self.measures.items()}
        return Evaluated(
            self.config, self.classes[rows], self.performance[rows], measures, self.n_scored, self.eigenvalues[rows]
        )


@dataclass(frozen=True)
class Recipe:
    """Who does tasks and how they are measured. agent: by name, the setting's own unless given; measures: names; kept: how many
    of the smallest eigenvalues to keep, none unless given."""

    agent: str = ""
    measures: tuple[str, ...] = ()
    graph: GraphConfig = PAPER_GRAPH
    kept: int = 0


def evaluate_tasks(
    bank: FeatureBank,
    config: TaskConfig,
    n_tasks: int,
    recipe: Recipe,
    *,
    seed: int,
    device: str = "cpu",
    answer: Answering | None = None,
    blocks: range | None = None,
) -> Evaluated:
    """n_tasks tasks. answer: instead of the recipe's agent; blocks: only these of them, where workers share the tasks."""
    place = find_device(device)
    rows = torch.from_numpy(bank.rows).to(place)
    found: list[Evaluated] = []
    for block in blocks if blocks is not None else range(-(-n_tasks // BLOCK)):
        n = min(BLOCK, n_tasks - block * BLOCK)
        tasks = sample_tasks(bank.counts, config, n, rng=seeds.rng("foresee tasks", seed, block))
        found.append(_evaluate_block(rows, tasks, recipe, (seed, block), answer))
    return join_evaluated(found)


def make_view(rows: Tensor, tasks: Tasks, graph: GraphConfig, name: tuple[Any, ...], kept: int = 0) -> TaskView:
    """What may be looked at: with unlabelled samples alone they count as queries, and labels are not there to be seen."""
    diffused, ways = tasks.config.setting != "supervised", tasks.config.ways
    labels = torch.from_numpy(tasks.labels).to(rows.device)
    options: dict[str, Any] = {"graph": graph, "name": name}
    if not diffused:
        support, queries = (_gather(rows, index) for index in (tasks.support, tasks.queries))
        return TaskView(support, labels, queries, ways, diffused=False, n_eigenvalues=max(kept, ways), **options)
    samples = _gather(
        rows, np.concatenate([tasks.support, tasks.queries], axis=1)
    )  # copied once: the parts are slices of it
    support, queries = samples.split([tasks.support.shape[1], tasks.queries.shape[1]], dim=1)
    view = TaskView(support, labels, queries, ways, diffused=True, n_eigenvalues=max(kept, ways), **options)
    view.samples = samples
    return view


def _gather(rows: Tensor, index: np.ndarray) -> Tensor:
    """(tasks, k, d). index: (tasks, k) rows."""
    flat = torch.from_numpy(index).to(rows.device).flatten()
    return rows.index_select(0, flat).view(*index.shape, -1)


def _evaluate_block(
    rows: Tensor, tasks: Tasks, recipe: Recipe, name: tuple[Any, ...], answer: Answering | None
) -> Evaluated:
    view = make_view(rows, tasks, recipe.graph, name, recipe.kept)
    config = tasks.config
    answering = answer or find_agent(recipe.agent or DEFAULT[config.setting], config.setting).answer
    given, truth = answering(view), torch.from_numpy(tasks.truth).to(rows.device)
    if config.setting == "unsupervised":
        truth = torch.cat([view.labels, truth], dim=1)
        performance = adjusted_rand(given, truth)
    else:
        performance = (given == truth).double().mean(dim=1)
    measures = {measure: values.numpy() for measure, values in compute_measures(view, recipe.measures).items()}
    kept = view.eigenvalues[:, : recipe.kept].cpu().numpy() if recipe.kept else np.empty((len(tasks), 0), np.float32)
    return Evaluated(config, tasks.classes, performance.cpu().numpy(), measures, truth.shape[1], kept)


def join_evaluated(parts: Sequence[Evaluated]) -> Evaluated:
    """Blocks of the same configuration as one."""
    first = parts[0]
    measures = {name: np.concatenate([part.measures[name] for part in parts]) for name in first.measures}
    return Evaluated(
        first.config,
        np.concatenate([part.classes for part in parts]),
        np.concatenate([part.performance for part in parts]),
        measures,
        first.n_scored,
        np.concatenate([part.eigenvalues for part in parts]),
    )
