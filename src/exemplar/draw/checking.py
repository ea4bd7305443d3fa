"""The contract of a drawing agent, sample(exemplars, n, rng): the verb `check_agent` says what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, format_table
from exemplar.draw.agents import AGENTS, is_ready, make_agent
from exemplar.draw.diffusion.loading import WEIGHTS, count_of
from exemplar.draw.drawings import call_agent, sample_drawings, stack
from exemplar.draw.presets import PRESETS
from exemplar.draw.tasks import DrawingTask, make_task
from exemplar.errors import UserError
from exemplar.images.arrays import without_channel
from exemplar.images.catalogue import load
from exemplar.user_code import GLOBAL_GENERATORS

N = 4  # drawings asked of each exemplar


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CheckedAgent(Answer):
    """problems: what breaks the contract; remarks: what is allowed but may be a mistake. ok: there is no problem."""

    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def describe_agents() -> Answer:
    """Every agent, and every preset of those that are trained, with the number of its parameters."""
    rows: list[dict[str, Any]] = []
    for agent in AGENTS.values():
        row: dict[str, Any] = {
            "name": agent.name,
            "what": agent.what,
            "setting": agent.setting,
            "ready": is_ready(agent.name),
        }
        if agent.name in WEIGHTS:
            row |= {"parameters": count_of(agent.name), "weights": WEIGHTS[agent.name]}
        rows.append(row)
    presets = [
        {"name": name, "agent": preset.agent, "what": preset.what, "parameters": preset.parameters, "note": preset.note}
        for name, preset in PRESETS.items()
    ]
    lines = [
        (
            row["name"] + (f"@{row['setting'].split(',')[0].split(' ')[0]}" if row["setting"] else ""),
            row["what"] + ("" if row["ready"] else " (no weights ship with this version)"),
        )
        for row in rows
    ]
    trained = [(row["name"], f"{row['parameters']:,}", row["what"]) for row in presets]
    text = (
        format_table(("agent", "what it draws"), lines)
        + "\n\nYour own: any function sample(exemplars, n, rng), as file.py:function; exemplar draw check-agent checks it."
        + "\n\nTo train (exemplar draw train PRESET --data …; the result draws as FOLDER/NAME):\n\n"
        + format_table(("preset", "parameters", "what"), trained)
    )
    return Answer(values={"agents": rows, "presets": presets}, text=text)


def check_drawing_agent(agent: Any, data: str, n_concepts: int, seed: int) -> CheckedAgent:
    """agent: a function, or the name of one. Every check runs, unless the first call fails already."""
    concepts = load(data)
    few = concepts.only(concepts=concepts.concepts[: max(n_concepts, 2)]).in_memory()
    task = make_task(few, exemplar="random", n=N, rng=seeds.rng("check agent", seed))
    sample = make_agent(agent, task) if isinstance(agent, str) else agent
    name = agent if isinstance(agent, str) else str(getattr(agent, "__name__", type(agent).__name__))
    problems, remarks = check_contract(sample, task, name, seed)
    verdict = f"{name} keeps the contract." if not problems else f"{name} breaks the contract in {len(problems)} ways."
    if len(problems) == 1:
        verdict = f"{name} breaks the contract."
    lines = [verdict, *(f"problem: {sentence}" for sentence in problems), *(f"remark: {said}" for said in remarks)]
    values = {"agent": name, "data": task.data.name, "ok": not problems}
    values |= {"problems": list(problems), "remarks": list(remarks)}
    return CheckedAgent(
        values=values, text="\n".join(lines), ok=not problems, problems=tuple(problems), remarks=tuple(remarks)
    )


def check_contract(
    sample: Callable[..., Any], task: DrawingTask, name: str, seed: int = 0
) -> tuple[list[str], list[str]]:
    """Problems and remarks, a sentence each."""
    if not callable(sample):
        return [f"it is a {type(sample).__name__}, not something that can be called as sample(exemplars, n, rng)"], []
    try:
        first = stack(sample_drawings(sample, task, agent=name, seed=seed), task)
    except UserError as problem:
        return [str(problem)], []
    return list(_problems(sample, task, name, seed, first)), list(_remarks(sample, task, name, seed, first))


def _problems(sample: Callable[..., Any], task: DrawingTask, name: str, seed: int, first: np.ndarray) -> Iterator[str]:
    exemplars = task.exemplars.astype(np.float32) / 255
    before = exemplars.copy()
    call_agent(sample, exemplars, N, name, seed)
    if not np.array_equal(before, exemplars):
        yield "it changes the exemplars it is given: copy them first"
    again = stack(sample_drawings(sample, task, agent=name, seed=seed), task)
    if not np.array_equal(first, again):
        yield (
            "two calls with the same rng give other drawings, though the global generators are seeded, too: it keeps something "
            "from one call to the next, or depends on the time, the order of a set, or the GPU; take all randomness from rng"
        )
    for k, n in ((1, N), (len(exemplars), 1), (2, N + 3)):
        try:
            found = call_agent(sample, exemplars[:k].copy(), n, name, seed)
        except UserError as problem:
            yield f"it fails for {k} exemplars and n = {n}: {problem}"
            continue
        found = without_channel(found, 4)
        if found.ndim != 4 or found.shape[:2] not in ((k, n), (k * n, 1)):
            yield f"for {k} exemplars and n = {n} it returns shape {found.shape}, not ({k}, {n}, h, w)"
    if np.array_equal(first, again) and _follows(sample, task, name, seed) == "another":
        yield (
            "its drawings of one exemplar change when another one is replaced, and not when it is itself: the order is "
            "shifted, each must be drawn after its own"
        )


def _remarks(sample: Callable[..., Any], task: DrawingTask, name: str, seed: int, first: np.ndarray) -> Iterator[str]:
    other = stack(sample_drawings(sample, task, agent=name, seed=seed + 1), task)
    if np.array_equal(first, other):
        yield "another seed gives the same drawings: it draws without randomness"
    exemplars = task.exemplars.astype(np.float32) / 255
    one, again = (call_agent(sample, exemplars.copy(), N, name, seed) for _ in range(2))
    if np.array_equal(one, again):
        used = [
            said
            for which, said in GLOBAL_GENERATORS.items()
            if not np.array_equal(one, call_agent(sample, exemplars.copy(), N, name, seed, **{which: seed + 1}))
        ]
        if used:
            yield (
                f"it uses the global generator of {' and of '.join(used)}: the room seeds it, so that the same seed gives the "
                "same drawings here, but elsewhere they differ; take all randomness from rng"
            )
        match _follows(sample, task, name, seed):
            case "all":
                yield (
                    "its drawings of one exemplar change when another one is replaced: it uses its neighbours, so what it "
                    "draws depends on what else is shown"
                )
            case "none":
                yield "its drawings do not change with the exemplar: it does not look at what it is shown"
    flat = first.reshape(len(first), N, -1)
    if np.array_equal(flat.min(axis=1), flat.max(axis=1)):
        yield "its drawings of a concept are all the same: diversity is 0"
    if (flat.min(axis=2) == flat.max(axis=2)).any():
        yield "some drawings are blank"
    if first.shape[2:] != task.data.shape:
        own, shown = (" × ".join(map(str, shape)) for shape in (first.shape[2:], task.data.shape))
        yield f"its drawings are {own} px, the exemplars {shown}"


def _follows(sample: Callable[..., Any], task: DrawingTask, name: str, seed: int) -> str:
    """Whose drawings change when only the last exemplar is replaced: "own", its own; "another", others' but not its own; "all",
    both; "none", nobody's. The last one, since who draws one after the other has drawn the others by then."""
    exemplars = task.exemplars.astype(np.float32) / 255
    if len(exemplars) < 3:
        return "own"
    shown, replaced = exemplars[:-1].copy(), np.concatenate([exemplars[:-2], exemplars[-1:]])
    try:
        one, other = (call_agent(sample, some, N, name, seed) for some in (shown, replaced))
    except UserError:
        return "own"
    if one.shape != other.shape or one.shape[0] % len(shown):
        return "own"
    one, other = (found.reshape(len(shown), -1) for found in (one, other))
    changed = (one != other).any(axis=1)
    if changed[-1]:
        return "all" if changed[:-1].any() else "own"
    return "another" if changed.any() else "none"
