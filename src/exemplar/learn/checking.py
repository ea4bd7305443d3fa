"""The room's contract, run on any agent: what is wrong with it, one sentence per finding; the verb `check_agent`.

The room's own agents pass the very same checks (tests/learn). They play an easy task: sessions of a few objects, each in a
direction of its own of the feature space, so that whoever learns anything learns this.
"""

from __future__ import annotations

import copy
import inspect
import random  # noqa: TID251
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from exemplar import seeds
from exemplar.answers import Answer
from exemplar.errors import UserError, unknown
from exemplar.learn.agents import AGENTS, make_agent
from exemplar.learn.user_agents import METHODS, AgentSource, UserAgent, find_agent, missing_methods
from exemplar.user_code import guarded

CHOICES = (2, 4)  # for agents that are told how many there are
N_SESSIONS, N_TRIALS, N_FEATURES = 12, 40, 12
NOISE = 0.2  # length of what varies between views of an object, whose own part has length 0.8
CLEARLY = 3.0  # standard errors above guessing
BY_LUCK = 3e-4  # less likely than this, so many right answers are no luck


@dataclass(frozen=True)
class Finding:
    """sentence: what is wrong, and what to do; failure: False for a remark, which breaks nothing."""

    sentence: str
    failure: bool = True


@dataclass(frozen=True)
class Checked:
    """name: of the agent; choices: with how many it was checked; findings: what was found, in order."""

    name: str
    choices: tuple[int, ...]
    findings: tuple[Finding, ...]

    @property
    def passes(self) -> bool:
        return not any(finding.failure for finding in self.findings)


@dataclass(frozen=True, eq=False)
class EasyTask:
    """x: (sessions, trials, d) in the ball of radius 1; answer: (sessions, trials) the choice that is right."""

    n_choices: int
    x: np.ndarray
    answer: np.ndarray


def answer_check(given: Any) -> Answer:
    """The findings, as an answer that is not ok where the contract is broken."""
    checked = check_contract(given)
    failures = [finding.sentence for finding in checked.findings if finding.failure]
    remarks = [finding.sentence for finding in checked.findings if not finding.failure]
    choices = " and ".join(map(str, checked.choices))
    head = f"{checked.name}, checked with {choices} choices: " if checked.choices else f"{checked.name}: "
    head += "it keeps the contract." if checked.passes else "it breaks the contract."
    lines = [head, *(f"broken: {sentence}" for sentence in failures), *(f"remark: {sentence}" for sentence in remarks)]
    values = {"agent": checked.name, "passes": checked.passes, "choices": list(checked.choices)}
    values |= {"findings": failures, "remarks": remarks}
    return Answer(values=values, text="\n".join(lines), ok=checked.passes)


def check_contract(given: Any) -> Checked:
    """given: a name in `agents.AGENTS`, "file.py:Class" or "module:Class", a class, or an object.

    It is made without arguments, or with n_choices if its constructor takes that: such an agent claims to work with any number.
    """
    if isinstance(given, str) and given in AGENTS:
        return _check(given, lambda n: make_agent(given, n_choices=n), CHOICES)
    if isinstance(given, str) and ":" not in given:
        raise unknown("agent", given, AGENTS)
    source = find_agent(given)
    try:
        first = source.construct(CHOICES[0])
    except UserError as problem:
        return Checked(source.name, (), (Finding(str(problem)),))
    own = getattr(first, "n_choices", None)
    choices = CHOICES if source.takes_n_choices else (own if isinstance(own, int) and own > 1 else CHOICES[0],)
    return _check(source.name, _fresh(source), choices)


def _fresh(source: AgentSource) -> Callable[[int], Any]:
    """Another agent at each call, as if it had never played."""
    if source.given is None:
        return source.construct

    def copied(n_choices: int) -> Any:
        with guarded(f"{source.name} cannot be copied, which a check from the start needs"):
            return copy.deepcopy(source.given)

    return copied


def _check(name: str, make: Callable[[int], Any], choices: Sequence[int]) -> Checked:
    findings: list[Finding] = []
    for place, n in enumerate(choices):
        try:
            found = list(_check_methods(name, make(n))) or list(_check_play(name, make, make_task(n)))
        except UserError as problem:
            found = [Finding(str(problem))]
        with_more = f"With {n} choices: " if place else ""
        findings += [Finding(f"{with_more}{finding.sentence}", finding.failure) for finding in found]
        if any(finding.failure for finding in found):  # with more choices the same would be found again
            return Checked(name, tuple(choices[: place + 1]), tuple(findings))
    return Checked(name, tuple(choices), tuple(findings))


def make_task(n_choices: int) -> EasyTask:
    """Objects in directions of their own; in each session the keys are dealt again."""
    rng = seeds.rng("check agent", n_choices)
    shown = rng.integers(0, n_choices, (N_SESSIONS, N_TRIALS))
    keys = np.stack([rng.permutation(n_choices) for _ in range(N_SESSIONS)])
    noise = rng.standard_normal((*shown.shape, N_FEATURES))
    x = NOISE * noise / np.linalg.norm(noise, axis=-1, keepdims=True)
    x += 0.8 * np.eye(N_FEATURES)[shown]
    return EasyTask(n_choices, x, np.take_along_axis(keys, shown, axis=1))


def _check_methods(name: str, agent: Any) -> Iterator[Finding]:
    """They are there, and take what they are given."""
    for sentence in missing_methods(agent, name):
        yield Finding(sentence)
    for method, argument in METHODS.items():
        with suppress(ValueError, AttributeError, TypeError):  # made in C, or missing
            signature = inspect.signature(getattr(agent, method))
            try:
                signature.bind(None)
            except TypeError:
                yield Finding(
                    f"{name}.{method} must take one argument, {argument}, and it takes {signature}: change it"
                )


def _check_play(name: str, make: Callable[[int], Any], task: EasyTask) -> Iterator[Finding]:
    """What it does in the task; a UserError is raised where it cannot continue."""
    before, order = _global_states(), range(N_SESSIONS)
    choice = play(UserAgent(make(task.n_choices), name), task, order)
    used = [module for module, state in _global_states().items() if state != before.get(module, state)]
    if used:
        yield Finding(
            f"{name} uses the global random generator of {' and '.join(used)}, so that nobody can repeat what it does: draw "
            "from the rng that reset gets"
        )
        return
    if (play(UserAgent(make(task.n_choices), name), task, order) != choice).any():
        yield Finding(
            f"{name} chose differently when it was made again and got the same rng and images: take all randomness from the "
            "rng that reset gets, and share nothing between agents"
        )
        return
    if (play(UserAgent(make(task.n_choices), name), task, order[::-1]) != choice).any():
        yield Finding(
            f"{name} remembers earlier sessions, for its choices depend on them: forget everything that was learned in reset"
        )
    if (play(UserAgent(make(task.n_choices), name), task, order, overwrite=True) != choice).any():
        yield Finding(
            f"{name} keeps x itself after feedback, so that its choices change when the array is used again: keep a copy, "
            "x.copy()"
        )
    unused = sorted(set(range(task.n_choices)) - set(choice.ravel().tolist()))
    if unused and task.n_choices > CHOICES[0]:
        yield Finding(
            f"{name} never chose {', '.join(map(str, unused))}: use all n_choices that its constructor is given"
        )
    yield from _check_learning(name, choice, task)


def knows_too_early(first: np.ndarray, chance: float) -> str:
    """What to say if first trials, on which nobody can know, were right far more often than guesses are; else "".

    first: (n,) whether each first trial of a session was right."""
    if binom.sf(int(first.sum()) - 1, first.size, chance) > BY_LUCK:
        return ""
    return (
        f"{first.mean():.0%} of {first.size:,} first trials were right, where nobody can know and guessing gives {chance:.0%}: "
        "the answers are seen, or were learned before"
    )


def _check_learning(name: str, choice: np.ndarray, task: EasyTask) -> Iterator[Finding]:
    if said := knows_too_early((choice == task.answer)[:, 0], 1 / task.n_choices):
        yield Finding(f"{name} knows too early: {said}")
    late = (choice == task.answer)[:, N_TRIALS // 2 :]
    chance = 1 / task.n_choices
    error = float(np.sqrt(chance * (1 - chance) / late.size))
    if late.mean() < chance + CLEARLY * error:
        yield Finding(
            f"{name} learned an easy task no better than guessing: {late.mean():.0%} of the last {late.shape[1]} trials were "
            f"right, and guessing gives {chance:.0%}",
            failure=False,
        )


def play(agent: UserAgent, task: EasyTask, order: Sequence[int], *, overwrite: bool = False) -> np.ndarray:
    """Choices (sessions, trials) of sessions in some order, each with its own rng; a UserError says what breaks the contract.

    overwrite: whether each array x is used for something else after feedback.
    """
    choice = np.empty(task.answer.shape, np.int64)
    with agent.guard():
        for session in order:
            agent.reset(seeds.rng("check agent", "session", session))
            for trial, right in enumerate(task.answer[session]):
                x = task.x[session, trial].copy()
                made = agent.choose(x)
                _unchanged(agent, x, task.x[session, trial])
                if not 0 <= made < task.n_choices:
                    raise UserError(
                        f"{agent.name} chose {made} of {task.n_choices} choices: a choice is 0 to {task.n_choices - 1}"
                    )
                agent.feedback(1.0 if made == right else -1.0)
                _unchanged(agent, x, task.x[session, trial])
                choice[session, trial] = made
                if overwrite:
                    x[:] = -1.0
    return choice


def _unchanged(agent: UserAgent, x: np.ndarray, given: np.ndarray) -> None:
    if not np.array_equal(x, given):
        raise UserError(f"{agent.name} changed x in place in {agent.method}: change a copy, x.copy()")


def _global_states() -> dict[str, object]:
    """Module → the state of the random generator that all its users share."""
    kind, key, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    found: dict[str, object] = {"random": random.getstate(), "numpy.random": (kind, np.asarray(key).tobytes(), rest)}
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes()
    return found
