"""Who learns: anything with reset, choose and feedback. Seven plasticity rules for a linear learner, a prototype, a guesser.

agent.reset(rng)            # a new session: whatever is random in it comes from rng
key = agent.choose(x)       # x: (d,) features of the image shown; key: 0 … n_choices − 1
agent.feedback(reward)      # 1 where the key was right, else −1

To add one: write its file in this folder and give it a name in AGENTS. `exemplar learn agents` says the first line of the file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.learn.agents.cross_entropy import CrossEntropy
from exemplar.learn.agents.exponential import Exponential
from exemplar.learn.agents.hinge import Hinge
from exemplar.learn.agents.linear import LinearLearner, PolicyRule, Rule
from exemplar.learn.agents.mae import MeanAbsoluteError
from exemplar.learn.agents.perceptron import Perceptron
from exemplar.learn.agents.prototype import Prototype
from exemplar.learn.agents.random_guesser import RandomGuesser
from exemplar.learn.agents.reinforce import Reinforce
from exemplar.learn.agents.square import Square
from exemplar.learn.tasks import VARIANTS


class Agent(Protocol):
    """Whoever does the task."""

    def reset(self, rng: np.random.Generator) -> None: ...

    def choose(self, x: np.ndarray) -> int: ...

    def feedback(self, reward: float) -> None: ...


# The only list. A class with `step` or `step_each` is a plasticity rule, made with a rate, for a LinearLearner; any other is an
# agent by itself, made with the number of choices.
AGENTS: dict[str, Any] = {
    "perceptron": Perceptron,
    "hinge": Hinge,
    "mae": MeanAbsoluteError,
    "square": Square,
    "exponential": Exponential,
    "cross-entropy": CrossEntropy,
    "reinforce": Reinforce,
    "prototype": Prototype,
    "random-guesser": RandomGuesser,
}
# The rules of Lee & DiCarlo (2023), which the published study compares: these stay, whatever is added above.
PUBLISHED_RULES = ("perceptron", "hinge", "mae", "square", "exponential", "cross-entropy", "reinforce")


def list_rules() -> tuple[str, ...]:
    """The names of those agents that are plasticity rules, in the order of the list."""
    return tuple(name for name, kind in AGENTS.items() if hasattr(kind, "step") or hasattr(kind, "step_each"))


def describe_agents() -> Mapping[str, str]:
    """Name → what it is, in one line: the first of its file."""
    return {name: (sys.modules[kind.__module__].__doc__ or "").partition("\n")[0] for name, kind in AGENTS.items()}


def make_rule(name: str, rate: float = 1.0, variant: str = "paper") -> Rule | PolicyRule:
    """A plasticity rule by name. rate: learning rate > 0; variant: "paper", or "hobj" where the authors' library differs."""
    if name not in list_rules():
        raise unknown("rule", name, list_rules())
    _check(rate, variant)
    kind = AGENTS[name]
    rule: Rule | PolicyRule = kind(rate, **(getattr(kind, "in_hobj", {}) if variant == "hobj" else {}))
    return rule


def make_agent(name: str, *, n_choices: int = 2, rate: float = 1.0, variant: str = "paper") -> Agent:
    """An agent by name: a linear learner with a plasticity rule, or one of the others, which have no rate.

    rate: learning rate > 0; variant: "paper" or "hobj".

    >>> make_agent("square", n_choices=4)
    LinearLearner(rule=Square(rate=1.0), n_choices=4)
    """
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    _check(rate, variant)
    if n_choices < 2:
        raise UserError(f"an agent needs at least 2 choices, there is {n_choices}: give more")
    if name in list_rules():
        return LinearLearner(make_rule(name, rate, variant), n_choices)
    agent: Agent = AGENTS[name](n_choices)
    return agent


def _check(rate: float, variant: str) -> None:
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    if not (np.isfinite(rate) and rate > 0):
        raise UserError(f"the learning rate {rate} must be a number above 0: 1 is the default")
