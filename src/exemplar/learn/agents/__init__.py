"""Who learns: anything with reset, choose and feedback. Seven plasticity rules for a linear learner, a prototype, a guesser.

agent.reset(rng)            # a new session: whatever is random in it comes from rng
key = agent.choose(x)       # x: (d,) features of the image shown; key: 0 … n_choices − 1
agent.feedback(reward)      # 1 where the key was right, else −1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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


# name → the rule, given its rate and whether it follows hobj where that differs from the paper
RULES: dict[str, Callable[[float, bool], Rule | PolicyRule]] = {
    "perceptron": lambda rate, hobj: Perceptron(rate),
    "hinge": lambda rate, hobj: Hinge(rate, at_margin=hobj),
    "mae": lambda rate, hobj: MeanAbsoluteError(rate, rest_when_right=hobj),
    "square": lambda rate, hobj: Square(rate),
    "exponential": lambda rate, hobj: Exponential(rate, together=hobj),
    "cross-entropy": lambda rate, hobj: CrossEntropy(rate),
    "reinforce": lambda rate, hobj: Reinforce(rate),
}
OTHERS = ("prototype", "random-guesser")
AGENTS = (*RULES, *OTHERS)


def make_agent(name: str, *, n_choices: int = 2, rate: float = 1.0, variant: str = "paper") -> Agent:
    """An agent by name: one of RULES (a linear learner), "prototype" or "random-guesser", which have no rate.

    rate: learning rate > 0; variant: "paper" or "hobj".
    """
    if name not in AGENTS:
        raise unknown("agent", name, AGENTS)
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    if n_choices < 2:
        raise UserError(f"an agent needs at least 2 choices, there is {n_choices}: give more")
    if not (np.isfinite(rate) and rate > 0):
        raise UserError(f"the learning rate {rate} must be a number above 0: 1 is the default")
    if name == "prototype":
        return Prototype(n_choices)
    if name == "random-guesser":
        return RandomGuesser(n_choices)
    return LinearLearner(RULES[name](rate, variant == "hobj"), n_choices)


__all__ = [
    "AGENTS",
    "RULES",
    "Agent",
    "CrossEntropy",
    "Exponential",
    "Hinge",
    "LinearLearner",
    "MeanAbsoluteError",
    "Perceptron",
    "Prototype",
    "RandomGuesser",
    "Reinforce",
    "Square",
    "make_agent",
]
