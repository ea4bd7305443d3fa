"""The room's contract, run on any agent: what is wrong with it, one sentence per finding; the verb `check_agent`."""

from __future__ import annotations

from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer
from exemplar.attend.agents import make_agent
from exemplar.attend.mapping import check_maps
from exemplar.attend.tasks import make_task
from exemplar.errors import UserError
from exemplar.user_code import guarded, seeded_globals

N_CONCEPTS, N_DRAWINGS = 3, 1
NEAR = 1e-4  # of the largest value of a map: float32 sums in another order


def answer_check(given: Any) -> Answer:
    """The findings, as an answer that is not ok where the contract is broken."""
    task = make_task("glyphs", n_concepts=N_CONCEPTS, n_drawings=N_DRAWINGS, size=48)
    name, agent = make_agent(given, task)
    broken = list(dict.fromkeys(find_faults(agent, task, name)))
    head = f"{name}: it {'breaks' if broken else 'keeps'} the contract."
    text = "\n".join([head, *(f"broken: {one}" for one in broken)])
    return Answer(values={"agent": name, "passes": not broken, "broken": broken}, text=text, ok=not broken)


def find_faults(agent: Any, task: Any, name: str) -> list[str]:
    """What is wrong with an agent (images, label, exemplars, rng) -> maps."""
    images, exemplars = (part.astype(np.float32) / 255 for part in (task.image, task.exemplar))
    label, faults = task.label, list[str]()

    def ask(rows: np.ndarray, key: str = "a", globals_: int = 0) -> Any:
        given = images[rows].copy(), label[rows].copy(), exemplars.copy()
        kept = tuple(part.copy() for part in given)
        with guarded(f"{name} failed to mark {len(rows)} drawings"), seeded_globals(globals_):
            found = agent(*given, seeds.rng("attend check", key))
        if not all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True)):
            faults.append("It changes what it is given: copy the drawings before you write into them.")
        if getattr(agent, "draws", False):
            own, found = found
            return check_maps(found, len(rows), np.shape(own)[1:], name)
        return check_maps(found, len(rows), images.shape[1:], name)

    every = np.arange(len(images))
    try:
        first = ask(every)
        if not _near(first, ask(every, globals_=1)):
            own = _near(first, ask(every))
            faults.append(
                "It uses global random generators: take all randomness from rng."
                if own
                else "It marks the same drawings differently with the same rng: take all randomness from rng."
            )
            return faults
        if getattr(agent, "draws", False) or not _near(first, ask(every, "b")):
            return faults  # it is random, so that a drawing's map may well depend on how many there are
        if not _near(first[:1], ask(every[:1])):
            faults.append("A drawing's map depends on the drawings beside it: mark each by itself.")
        elif not _near(first, ask(every[::-1])[::-1]):
            faults.append("A drawing's map depends on the order of the drawings: mark each by itself.")
    except UserError as problem:
        faults.append(str(problem))
    return faults


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(one - other).max() <= NEAR * np.abs(one).max())
