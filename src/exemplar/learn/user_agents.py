"""An agent of the user's own: a class in a file, or a class or object from Python, as this room makes, names and runs it."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.user_code import guarded, load_named, name_of

METHODS = {"reset": "rng", "choose": "x", "feedback": "reward"}  # each with its only argument
FORM = "an agent has reset(rng), choose(x) and feedback(reward)"


class UserAgent:
    """The agent as it runs. name: in sentences about it; method: which of its methods is running, or ran last."""

    def __init__(self, agent: Any, name: str) -> None:
        self.agent, self.name, self.method = agent, name, "reset"

    def reset(self, rng: np.random.Generator) -> None:
        self.method = "reset"
        self.agent.reset(rng)

    def choose(self, x: np.ndarray) -> int:
        self.method = "choose"
        made = self.agent.choose(x)
        if not is_whole(made):
            raise UserError(f"{self.name} chose {say(made)}: choose must give a whole number, 0 for the first key")
        return int(made)

    def feedback(self, reward: float) -> None:
        self.method = "feedback"
        self.agent.feedback(reward)

    def guard(self) -> AbstractContextManager[None]:
        """Its methods run inside; one guard for a whole run, since entering it costs as much as a trial."""
        return guarded(lambda: f"{self.name} failed in {self.method}")


@dataclass(frozen=True, eq=False)
class AgentSource:
    """Where agents come from. name: what was given, for sentences; kind: the class; given: the object, where one was given."""

    name: str
    kind: type
    given: Any = None

    @property
    def takes_n_choices(self) -> bool:
        """Whether it is told how many choices there are: by an argument of its constructor."""
        try:
            return self.given is None and "n_choices" in inspect.signature(self.kind).parameters
        except ValueError:  # a class made in C
            return False

    def construct(self, n_choices: int) -> Any:
        """The agent's own object: a new one, or the one that was given."""
        if self.given is not None:
            return self.given
        with guarded(f"{self.name} cannot be made without arguments"):
            return self.kind(n_choices=n_choices) if self.takes_n_choices else self.kind()

    def make(self, n_choices: int) -> UserAgent:
        """An agent whose methods are there."""
        made = self.construct(n_choices)
        for sentence in missing_methods(made, self.name):
            raise UserError(sentence)
        return UserAgent(made, self.name)

    @property
    def fingerprint(self) -> str:
        """Of its source, so that a folder with a run of other code is not taken for this one's; "" where there is none."""
        try:
            file = inspect.getsourcefile(self.kind)
            return "" if file is None else seeds.digest("agent", Path(file).read_bytes())
        except (OSError, TypeError):
            return ""


def find_agent(given: Any) -> AgentSource:
    """given: "file.py:Class" or "module:Class", whose code is run once; a class; or an object."""
    if isinstance(given, str):
        return AgentSource(given, load_named(given, "class"))
    if isinstance(given, type):
        return AgentSource(name_of(given), given)
    return AgentSource(name_of(type(given)), type(given), given)


def missing_methods(agent: Any, name: str) -> list[str]:
    """A sentence for each."""
    missing = [method for method in METHODS if not callable(getattr(agent, method, None))]
    return [f"{name} has no method {method}: {FORM}" for method in missing]


def is_whole(made: Any) -> bool:
    """Whether a choice is a whole number; True and False are not."""
    return isinstance(made, int | np.integer) and not isinstance(made, bool)


def say(made: Any) -> str:
    """What an agent chose, in a sentence."""
    return repr(made) if isinstance(made, float | str | bool | None) else f"something of {type(made)}"
