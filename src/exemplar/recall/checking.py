"""The room's contract, run on any learner: what is wrong with it, one sentence per finding; the verb `check_agent`.

The room's own agents pass the very same checks (tests/recall). The tasks are easy: classes lie far apart.
"""

from __future__ import annotations

import random  # noqa: TID251
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from exemplar import seeds
from exemplar.answers import Answer
from exemplar.errors import UserError
from exemplar.files import first_line
from exemplar.recall.agents.registry import AGENTS, find_entry
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.inputs import SPACES, check_trained
from exemplar.recall.states import same_states
from exemplar.recall.stream import Streamed, TaskImages, check_names, copies_of, is_transductive, stream_task
from exemplar.recall.strict import LearnerFailed, StrictHost
from exemplar.user_code import is_named, name_of

SHAPE = (1, 28, 28)
N_TASKS, NSS, WAYS, TARGETS = 3, 3, 3, 4
N_FEATURES = 64


@dataclass(frozen=True)
class Finding:
    """sentence: what is wrong, and what to do; failure: False for a remark, which breaks nothing."""

    sentence: str
    failure: bool = True


def answer_check(given: Any) -> Answer:
    """The findings, as an answer that is not ok where the contract is broken."""
    agent, features = find_source(given)
    findings = check_contract(agent, features=features)
    failures, remarks = ([f.sentence for f in findings if f.failure is kind] for kind in (True, False))
    head = f"{agent.name}: it {'breaks' if failures else 'keeps'} the contract."
    text = "\n".join([head, *(f"broken: {one}" for one in failures), *(f"remark: {one}" for one in remarks)])
    values = {"agent": agent.name, "passes": not failures, "broken": failures, "remarks": remarks}
    return Answer(values=values, text=text, ok=not failures)


def find_source(given: Any) -> tuple[AgentSource, bool]:
    """Where the agent comes from, and whether it takes features."""
    if isinstance(given, str) and not is_named(given):
        entry = find_entry(given)
        if entry.takes == "images" and entry.space and entry.space not in SPACES["omniglot"]:
            raise UserError(
                f"{given} has no network for drawings, which learners are checked with, only for cifar-fs: check maml-plus, "
                "which is the same learner on another network"
            )
        space = SPACES["omniglot"][entry.space] if entry.takes == "images" and entry.space else ""
        check_trained(given, space)
        return AgentSource(given, space, SHAPE), entry.takes == "features"
    if isinstance(given, str):
        return AgentSource(given, "", SHAPE), False
    return AgentSource(name_of(given if isinstance(given, type) else type(given)), "", SHAPE, given), False


def make_task(number: int, *, features: bool, overwrite: bool = False) -> TaskImages:
    """Three support sets of three classes, two samples of each: a bright block of its own place, or a direction of its own."""
    rng = seeds.rng("recall", "check agent", number)
    places = rng.permutation(49)[: NSS * WAYS]
    n_labels = WAYS if overwrite else NSS * WAYS

    def draw(n_each: int) -> np.ndarray:
        images = 0.1 * rng.random((NSS, WAYS, n_each, 28, 28), dtype=np.float32)
        for k, place in enumerate(places):
            row, column = divmod(int(place), 7)
            images[k // WAYS, k % WAYS, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] += 0.9
        return images.reshape(NSS, WAYS * n_each, 1, 28, 28)

    support, target = draw(2), draw(TARGETS)
    if features:
        view = seeds.rng("recall", "check agent", "view").standard_normal((784, N_FEATURES)).astype(np.float32) / 28
        support, target = (part.reshape(*part.shape[:2], -1) @ view for part in (support, target))
    labels = np.arange(NSS)[:, None] * (0 if overwrite else WAYS) + np.arange(WAYS)
    return TaskImages(support, np.repeat(labels, 2, axis=1), target, n_labels, number)


def right_labels(task: TaskImages) -> np.ndarray:
    return np.repeat(task.support_label[:, ::2], TARGETS, axis=1)


def check_contract(agent: AgentSource, *, features: bool) -> list[Finding]:
    findings: list[Finding] = []
    try:
        findings.extend(_check(agent, features))
    except UserError as problem:
        findings.append(Finding(str(problem)))
    except LearnerFailed as problem:
        findings.append(Finding(f"{agent.name} failed: {problem}"))
    except Exception as problem:
        findings.append(Finding(f"{agent.name} failed ({type(problem).__name__}: {first_line(problem)}): fix it"))
    return findings


def _check(agent: AgentSource, features: bool) -> Iterator[Finding]:
    tasks = [make_task(k, features=features) for k in range(N_TASKS)]
    before = _global_states()
    done = [_stream(agent, task) for task in tasks]
    used = [name for name, state in _global_states().items() if state != before[name]]
    if used:
        yield Finding(
            f"{agent.name} uses the global random generator of {' and '.join(used)}: draw from the rng that reset gets"
        )
        return
    again = [_stream(agent, task) for task in reversed(tasks)][::-1]
    if not all(_same(a, b) for a, b in zip(done, again, strict=True)):
        yield Finding(
            f"{agent.name} predicted otherwise when the same tasks came in another order: forget everything in reset, and take "
            "all randomness from the rng that reset gets"
        )
    for one in done:
        check_names(done[0].states, one.states, agent.name)
    _stream(agent, make_task(0, features=features, overwrite=True))
    if agent.given is None:
        yield from _check_strict(agent, tasks, done)
    else:
        yield Finding(
            "it came from Python, so it was not checked in processes of its own: give file.py:Class", failure=False
        )
    host = copies_of(agent.make(), agent.name)
    if is_transductive(host, tasks[0], done[0].states[-1]):
        yield Finding(
            f"{agent.name} is transductive: a target's prediction depends on the targets beside it", failure=False
        )
    right = np.mean(
        [(one.log_p.argmax(axis=2) == right_labels(task)).mean() for one, task in zip(done, tasks, strict=True)]
    )
    if right < 2 / tasks[0].n_labels and agent.agent not in AGENTS:
        yield Finding(
            f"{agent.name} named {right:.0%} of the targets of easy tasks, chance is {1 / tasks[0].n_labels:.0%}",
            failure=False,
        )


def _check_strict(agent: AgentSource, tasks: list[TaskImages], done: list[Streamed]) -> Iterator[Finding]:
    with StrictHost(agent.plain(), agent.name) as host:
        for task, one in zip(tasks, done, strict=True):
            alone = stream_task(host, task)
            if not all(same_states(a, b) for a, b in zip(alone.states, one.states, strict=True)):
                yield Finding(
                    f"{agent.name} keeps something between support sets besides its state, in its class, module or a closure: "
                    "in processes of its own it learned otherwise; put all that must last into state()"
                )
                return
            if not _same(alone, one):
                yield Finding(
                    f"{agent.name} predicts otherwise in a process of its own: put all that must last into state()"
                )
                return


def _stream(agent: AgentSource, task: TaskImages) -> Streamed:
    return stream_task(copies_of(agent.make(), agent.name), task)


def _same(one: Streamed, other: Streamed) -> bool:
    return np.allclose(np.exp(one.log_p), np.exp(other.log_p), atol=1e-5)


def _global_states() -> dict[str, object]:
    """Module → the state of the random generator that all its users share."""
    kind, key, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return {"random": random.getstate(), "numpy.random": (kind, np.asarray(key).tobytes(), rest),
            "torch": torch.get_rng_state().numpy().tobytes()}  # fmt: skip
