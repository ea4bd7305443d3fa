"""A linear learner: prefers the action whose weights match the image best, and changes them by a plasticity rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

# Preferences are compared in steps of 2⁻⁴⁰ (about 10⁻¹²). What is equal on paper (the weights x − x at any image, or x · x = 1)
# is then equal here however it was summed up: a tie is a tie with explicit weights, in Gram space, and on any machine. Only
# comparisons are rounded, between actions and in rules that compare (`compares`): weights change by the preference itself.
GRID, GRAIN = 2.0**40, 2.0**-40


class Rule(Protocol):
    """How the chosen action's weights change."""

    @property
    def rate(self) -> float: ...

    def step(self, preference: float, reward: float) -> float: ...


def compares(rule: object) -> bool:
    """Whether a rule asks which side of a number the preference is on, rather than how large it is: `compares = True`."""
    return bool(getattr(rule, "compares", False))


@runtime_checkable
class BoundedRule(Rule, Protocol):
    """A rule that projects weights back to the length `limit`: each action's, or all of them `together`."""

    @property
    def limit(self) -> float: ...

    @property
    def together(self) -> bool: ...


@runtime_checkable
class PolicyRule(Protocol):
    """How every action's weights change, from the probability with which a softmax would take it."""

    @property
    def rate(self) -> float: ...

    def step_each(self, probability: float, chosen: bool, reward: float) -> float: ...


@dataclass
class LinearLearner:
    """An agent with weights w for each choice, all 0 at first. rule: how they change; n_choices: C ≥ 2."""

    rule: Rule | PolicyRule
    n_choices: int = 2
    weights: np.ndarray = field(init=False, repr=False, compare=False)

    def reset(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.weights = np.zeros((self.n_choices, 0))

    def choose(self, x: np.ndarray) -> int:
        """The most preferred action; one of the most preferred at random where there are several."""
        if not self.weights.size:
            self.weights = np.zeros((self.n_choices, len(x)))
        self.x = np.asarray(x, dtype=np.float64)
        self.preferences = self.weights @ self.x
        self.compared = np.rint(self.preferences * GRID) * GRAIN
        best = np.flatnonzero(self.compared == self.compared.max())
        self.choice = int(best[int(self.rng.random() * len(best))] if len(best) > 1 else best[0])
        return self.choice

    def feedback(self, reward: float) -> None:
        if isinstance(self.rule, PolicyRule):
            odds = np.exp(self.preferences - self.preferences.max())
            for action, probability in enumerate(odds / odds.sum()):
                self.weights[action] += self.rule.step_each(probability, action == self.choice, reward) * self.x
            return
        preference = (self.compared if compares(self.rule) else self.preferences)[self.choice]
        self.weights[self.choice] += self.rule.step(preference, reward) * self.x
        if isinstance(self.rule, BoundedRule):
            bounded = self.weights if self.rule.together else self.weights[self.choice]
            bounded *= self.rule.limit / max(float(np.linalg.norm(bounded)), self.rule.limit)
