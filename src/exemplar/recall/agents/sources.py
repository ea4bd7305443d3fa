"""Where learners come from: the room's own by name, with the space they stand on, or a class of the user's; as plain values,
so that another process can make the same one."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.recall.agents.registry import AGENTS, make_agent
from exemplar.recall.stream import Learner, missing_methods
from exemplar.user_code import guarded, is_named, load_named


@dataclass(frozen=True)
class AgentSource:
    """agent: a name in AGENTS, or "file.py:Class"; space: the name of its space, "" where it needs none; shape: (channels, h,
    w) of the images handed over; given: the class or object that was given from Python, which no other process can make."""

    agent: str
    space: str = ""
    shape: tuple[int, int, int] = (1, 28, 28)
    given: Any = field(default=None, compare=False)

    @property
    def is_own(self) -> bool:
        """Whether it is the user's."""
        return self.given is not None or is_named(self.agent)

    @property
    def name(self) -> str:
        """What it is called in records."""
        return self.agent.rpartition(":")[2]

    @property
    def takes_features(self) -> bool:
        return not self.is_own and AGENTS[self.agent].takes == "features"

    @property
    def is_joint(self) -> bool:
        return not self.is_own and AGENTS[self.agent].joint

    def plain(self) -> dict[str, Any]:
        """For another process."""
        if self.given is not None:
            raise UserError(
                "an object or class from Python cannot be made again in a process of its own: give file.py:Class"
            )
        place, colon, name = self.agent.rpartition(":")
        agent = f"{Path(place).expanduser().resolve()}{colon}{name}" if place.endswith(".py") else self.agent
        return {"agent": agent, "space": self.space, "shape": list(self.shape)}

    def make(self) -> Learner:
        if self.given is None:
            return make_from_source(self.plain())
        return _checked(self.given() if isinstance(self.given, type) else self.given, self.name)

    def fingerprint(self) -> str:
        """Of the source of the user's own class, "" where there is none."""
        if not self.is_own:
            return ""
        place = self.agent.rpartition(":")[0]
        try:
            if self.given is not None:
                file = inspect.getsourcefile(self.given if isinstance(self.given, type) else type(self.given))
            elif place.endswith(".py"):
                file = str(Path(place).expanduser())
            else:
                found = importlib.util.find_spec(place)  # not run here, but in processes of its own
                file = None if found is None else found.origin
            return "" if file is None else seeds.digest("learner", Path(file).read_bytes())
        except (OSError, TypeError, ImportError, ValueError):
            return ""


def make_from_source(plain: dict[str, Any]) -> Learner:
    """A new learner, which has done nothing yet."""
    agent = str(plain["agent"])
    if is_named(agent):
        kind = load_named(agent, "class")
        with guarded(f"{agent} cannot be made without arguments"):
            made = kind()
        return _checked(made, agent)
    return make_agent(agent, str(plain["space"]), tuple(plain["shape"]))


def _checked(made: Any, who: str) -> Learner:
    for sentence in missing_methods(made, who):
        raise UserError(sentence)
    learner: Learner = made
    return learner
