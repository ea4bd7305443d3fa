"""Which samples to label (Figure 7): after a first training some unlabelled samples get their labels, and it trains again.

All labels at once, as in the paper; or in rounds, each chosen with the classifier that the labels so far have trained.

Scored on the samples that remain unlabelled, as in the paper, which rewards removing the hard ones; and on a fixed held-out set
of other samples, linked to the task's graph one way so that they change nothing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from exemplar import engine, seeds, stats
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.evaluating import BLOCK, make_view
from exemplar.foresee.graphs import GraphConfig, nearest_neighbours
from exemplar.foresee.labelling import POLICIES, Answered, labelling_order
from exemplar.foresee.studies.points import _load, drop_bank, keep_bank
from exemplar.foresee.tasks import TaskConfig, Tasks, sample_tasks
from exemplar.foresee.views import PAPER_GRAPH, TaskView
from exemplar.records import Score
from exemplar.runs import Run
from exemplar.spaces.readouts import Readout, fit_logistic_adam

SHARES = (0.04, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)  # of the unlabelled samples
N_HELD_OUT = 25  # per class
IN_ROUNDS = ", in rounds"
PROTOCOLS = (*POLICIES, *(policy + IN_ROUNDS for policy in POLICIES if policy != "random"))  # at random it is the same


@dataclass(frozen=True)
class LabellingJob:
    """A block of tasks. path, fingerprint: of the bank."""

    path: str
    fingerprint: str
    task: TaskConfig
    block: int
    n_tasks: int
    seed: int


def budgets(task: TaskConfig) -> tuple[int, ...]:
    return tuple(max(1, round(share * task.ways * task.queries)) for share in SHARES)


def do_block(job: LabellingJob) -> dict[str, Any]:
    """protocol → (tasks, budgets, 2): accuracy on what remains, and on the held-out set."""
    bank = _load(job.path, job.fingerprint)
    with engine.one_thread():
        drawn = TaskConfig(job.task.ways, job.task.shots, job.task.queries + N_HELD_OUT, "semi")
        tasks = sample_tasks(bank.counts, drawn, job.n_tasks, rng=seeds.rng("foresee labelling", job.seed, job.block))
        task, held_out, answers = _split(tasks, job.task)
        rows = torch.from_numpy(bank.rows)
        view = make_view(rows, task, PAPER_GRAPH, (job.seed, job.block))
        others = one_way_features(view, rows[torch.from_numpy(held_out)])
        scored = Scored(view, torch.from_numpy(task.truth), others, torch.from_numpy(answers))
        return {protocol: _follow(protocol, scored, budgets(job.task)) for protocol in PROTOCOLS}


@dataclass(frozen=True, eq=False)
class Scored:
    """truth: (tasks, q) of the unlabelled samples; held_out: (tasks, h, d) features of others, answers: their classes."""

    view: TaskView
    truth: Tensor
    held_out: Tensor
    answers: Tensor


def _follow(protocol: str, on: Scored, budgets: Sequence[int]) -> np.ndarray:
    """(tasks, budgets, 2) of a policy, at once or in rounds."""
    policy, in_rounds = protocol.removesuffix(IN_ROUNDS), protocol.endswith(IN_ROUNDS)
    view, rng = on.view, on.view.rng(protocol)
    chosen, answered, cells = torch.zeros((view.n_tasks, 0), dtype=torch.int64), None, list[np.ndarray]()
    for n in budgets if in_rounds else (budgets[-1],):
        chosen = torch.cat(
            [chosen, labelling_order(view, policy, n - chosen.shape[1], rng=rng, answered=answered)], dim=1
        )
        if in_rounds:
            fitted = _train(on, chosen)
            cells.append(_accuracies(on, chosen, fitted))
            answered = Answered(chosen, on.truth.gather(1, chosen), view.score_queries(fitted).log_softmax(dim=2))
    if not in_rounds:
        cells = [_accuracies(on, chosen[:, :n], _train(on, chosen[:, :n])) for n in budgets]
    return np.stack(cells, axis=1)


def _split(tasks: Tasks, config: TaskConfig) -> tuple[Tasks, np.ndarray, np.ndarray]:
    """The task proper, and rows and classes of its held-out samples: the last of each class."""
    shape = (len(tasks), config.ways, config.queries + N_HELD_OUT)
    parts = [np.split(part.reshape(shape), [config.queries], axis=2) for part in (tasks.queries, tasks.truth)]
    (queries, held_out), (truth, answers) = ([one.reshape(len(tasks), -1) for one in part] for part in parts)
    return Tasks(config, tasks.classes, tasks.support, tasks.labels, queries, truth), held_out, answers


def one_way_features(view: TaskView, held_out: Tensor) -> Tensor:
    """(tasks, h, d): held-out samples diffused through edges to their nearest neighbours in the task, whose own edges and
    degrees stay as they are; as Eqs. 7 and 8 with κ = 1."""
    graph: GraphConfig = view.graph
    cosine = held_out @ view.samples.mT
    value, place = cosine.topk(min(graph.neighbours, cosine.shape[2]), dim=2)
    edges = torch.zeros_like(cosine).scatter_(2, place, value.clamp(min=0))
    own = edges.sum(dim=2, keepdim=True).clamp(min=1e-30).rsqrt()
    degree = nearest_neighbours(view._raw_gram, graph.neighbours).sum(dim=2)[:, None].clamp(min=1e-30).rsqrt()
    return graph.weight * held_out + (edges * own * degree) @ view.samples


def _train(on: Scored, chosen: Tensor) -> Readout:
    """After the chosen queries got their labels."""
    view, wide = on.view, chosen[..., None].expand(-1, -1, on.view.n_features)
    support = torch.cat([view.support, view.queries.gather(1, wide)], dim=1)
    labels = torch.cat([view.labels, on.truth.gather(1, chosen)], dim=1)
    return fit_logistic_adam(support, labels, view.n_ways, rng=view.rng(f"labelled {chosen.shape[1]}"))


def _accuracies(on: Scored, chosen: Tensor, fitted: Readout) -> np.ndarray:
    """(tasks, 2): on the queries that remain, and on the held-out set."""
    right = (on.view.score_queries(fitted).argmax(dim=2) == on.truth).double()
    remains = torch.ones_like(right).scatter_(1, chosen, 0.0)
    on_rest = (right * remains).sum(dim=1) / remains.sum(dim=1)
    on_held_out = (fitted.predict(on.held_out) == on.answers).double().mean(dim=1)
    return torch.stack([on_rest, on_held_out], dim=1).numpy()


def compute_labelling(
    run: Run, bank: FeatureBank, n_tasks: int, seed: int
) -> tuple[list[Score], dict[str, np.ndarray]]:
    """Scores by protocol and budget, with paired differences from random; and protocol → (tasks, budgets, 2)."""
    task = TaskConfig(5, 1, 50, "semi")
    path = keep_bank(run, bank)
    sizes = [min(BLOCK, n_tasks - start) for start in range(0, n_tasks, BLOCK)]
    jobs = [LabellingJob(path, bank.fingerprint, task, block, n, seed) for block, n in enumerate(sizes)]
    done = run.map(do_block, jobs, label="tasks")
    drop_bank(run)
    found = {protocol: np.concatenate([part[protocol] for part in done]) for protocol in PROTOCOLS}
    return labelling_scores(found, budgets(task)), found


def labelling_scores(found: dict[str, np.ndarray], labels: Sequence[int]) -> list[Score]:
    scores = []
    for side, on in enumerate(("remaining", "held_out")):
        for place, n in enumerate(labels):
            concept = f"{n} labels"
            for policy, values in found.items():
                scores.append(
                    Score.of(f"accuracy_{on}", stats.mean(values[:, place, side]), agent=policy, concept=concept)
                )
                if policy != "random":
                    gain = values[:, place, side] - found["random"][:, place, side]
                    scores.append(Score.of(f"gain_{on}", stats.mean(gain), agent=policy, concept=concept))
    return scores
