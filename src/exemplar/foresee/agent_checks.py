"""What is wrong with an agent: the contract of this room, tried on small tasks, one finding per line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from exemplar import seeds
from exemplar.answers import Answer
from exemplar.errors import UserError
from exemplar.foresee.agents import AGENTS
from exemplar.foresee.user_agents import ask, find_function
from exemplar.foresee.views import TaskView
from exemplar.user_code import guarded

N_FEATURES = 12
CHANCE = 0.6  # accuracy on classes that lie far apart below which it has learned nothing


def answer_check(agent: Any) -> Answer:
    """passes: whether it keeps the contract; findings: what breaks it; remarks: what does not, but may be a mistake."""
    if isinstance(agent, str) and agent in AGENTS:
        if AGENTS[agent].clusters:
            text = f"{agent} clusters samples and names no class: the contract does not apply to it."
            return Answer(values={"passes": True, "findings": [], "remarks": [text]}, text=text)
        function: Callable[..., Any] = as_function(agent)
        name = agent
    else:
        function, name = find_function(agent)
    findings, remarks = find_faults(function, name)
    told = [*findings, *(f"Remark: {remark}" for remark in remarks)]
    text = "\n".join(told) if told else f"{name} keeps the contract."
    return Answer(values={"passes": not findings, "findings": findings, "remarks": remarks}, text=text, ok=not findings)


def as_function(name: str) -> Callable[..., Any]:
    """An agent of this room as a function of one task."""

    def answer(support: np.ndarray, labels: np.ndarray, queries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n_ways = int(labels.max()) + 1
        x, y, q = (torch.from_numpy(part)[None] for part in (support, labels, queries))
        view = TaskView(x, y, q, n_ways, diffused=False, name=(int(rng.integers(2**31)),))
        return AGENTS[name].answer(view)[0].numpy()

    return answer


def find_faults(function: Callable[..., Any], name: str) -> tuple[list[str], list[str]]:
    support, labels, queries, truth = _task(3, 4, 5, "first")
    findings, remarks = list[str](), list[str]()

    def once(x: np.ndarray, y: np.ndarray, q: np.ndarray, n_ways: int, seed: int = 0) -> np.ndarray | None:
        try:
            return ask(function, name, x, y, q, n_ways, seeds.rng("check agent", seed))
        except UserError as problem:
            if str(problem) not in findings:
                findings.append(str(problem))
            return None

    first = once(support, labels, queries, 3)
    if first is None:
        return findings, remarks
    again = once(support, labels, queries, 3)
    if again is not None and not np.array_equal(first, again):
        findings.append(
            f"{name} answers differently with the same rng: take all randomness from rng, and keep nothing."
        )
    _check_untouched(function, name, (support, labels, queries), findings)
    other = _task(4, 1, 3, "second")
    once(*other[:3], 4)
    once(support[:0:-1], labels[:0:-1], queries[:1], 3)  # classes of different sizes, one query
    after = once(support, labels, queries, 3)
    if again is not None and after is not None and np.array_equal(first, again) and not np.array_equal(first, after):
        findings.append(f"{name} answers differently after another task: start afresh for each task.")
    turned = once(support, labels, queries[::-1], 3)
    if turned is not None and np.mean(turned[::-1] == first) < 0.9:
        findings.append(
            f"{name} answers differently when queries come in another order: an answer belongs to its query."
        )
    if np.mean(first == truth) < CHANCE:
        remarks.append(
            f"{name} names {100 * np.mean(first == truth):.0f} % of samples right whose classes lie far apart."
        )
    return findings, remarks


def _check_untouched(
    function: Callable[..., Any], name: str, task: tuple[np.ndarray, ...], findings: list[str]
) -> None:
    given = [part.copy() for part in task]
    try:
        with guarded(f"{name} failed"):
            function(*given, seeds.rng("check agent", 0))
    except UserError as problem:
        findings.append(str(problem))
    if any(not np.array_equal(a, b) for a, b in zip(given, task, strict=True)):
        findings.append(f"{name} changes the arrays it is given: copy them first.")


def _task(ways: int, shots: int, queries: int, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = seeds.rng("check agent", "task", what)
    labels, truth = np.repeat(np.arange(ways), shots), np.repeat(np.arange(ways), queries)

    def around(label: np.ndarray) -> np.ndarray:
        x = 3 * np.eye(N_FEATURES)[label] + rng.random((len(label), N_FEATURES))
        return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)

    return around(labels), labels, around(truth), truth
