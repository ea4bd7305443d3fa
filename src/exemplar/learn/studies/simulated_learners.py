"""Learners whose truth is known, many of them and quickly: sessions drawn from large pools, with lapses and participants.

64 subtasks of two clouds of features, from hardly apart to far apart, learned for 100 trials by the square rule and by the
perceptron. The sessions of a pool are the whole population: drawing from them with replacement is an experiment whose true
curves are known exactly. Nobody here is a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from exemplar import seeds
from exemplar.learn.agents import make_agent
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.simulation import gram_matrices, simulate
from exemplar.learn.tasks import ObjectLearning

N_SUBTASKS, N_TRIALS, N_POOL, N_FEATURES = 64, 100, 2000, 32
NAMES = tuple(f"subtask{number:02d}" for number in range(N_SUBTASKS))
CHANCE = 0.5
NEAR = 1.0  # a model that is nearly true learns by the perceptron in all its sessions, where people learn by the square rule


@dataclass(frozen=True)
class Population:
    """n: sessions of each subtask; lapse: share of trials on which they guess, on average; kind: "sessions", each by someone
    else; "participants", who did every subtask and whose lapse rates are spread evenly between 0 and twice the mean; "half",
    the same, of whom each did a random half of the subtasks; "two kinds", the first, half of whom learn by the perceptron.
    """

    n: int
    lapse: float
    kind: str
    share: float = 0.0  # of sessions that are learned by the perceptron; of "two kinds", half

    def sample(self, rng: np.random.Generator, places: Sequence[int] = range(N_SUBTASKS)) -> Behaviour:
        """What such people did in one experiment. places: of the subtasks they did."""
        k = len(places)
        if self.kind == "sessions":
            right = draw_sessions(self.share, self.n, rng, places)
            return as_behaviour(guess(right, self.lapse, rng), np.arange(k * self.n), places)
        n_people = 2 * self.n if self.kind == "half" else self.n
        who = np.stack([rng.permutation(n_people)[: self.n] for _ in range(k)])
        lapse = rng.uniform(0, 2 * self.lapse, n_people)[who]
        if self.kind == "two kinds":
            second = rng.random(n_people) < 0.5
            kinds = [draw_sessions(share, self.n, rng, places) for share in (1.0, 0.0)]
            right = np.where(second[who][:, :, None], *kinds)
        else:
            right = draw_sessions(self.share, self.n, rng, places)
        return as_behaviour(guess(right, lapse[:, :, None], rng), who.ravel(), places)

    def true_share(self) -> float:
        """The share of perceptrons among those who learn as these people do."""
        return 0.5 if self.kind == "two kinds" else self.share


@cache
def pool(rule: str) -> np.ndarray:
    """(subtasks, sessions, trials) bool: which trials were right."""
    rng, apart = seeds.rng("simulated learners"), np.linspace(0.15, 0.8, N_SUBTASKS)[:, None, None, None]
    place = rng.standard_normal((N_SUBTASKS, 2, 1, N_FEATURES))
    x = rng.standard_normal((N_SUBTASKS, 2, N_TRIALS, N_FEATURES)) / np.sqrt(N_FEATURES)
    x += apart * place / np.linalg.norm(place, axis=-1, keepdims=True)
    x /= np.quantile(np.linalg.norm(x, axis=-1), 0.99)
    x /= np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1)
    task = ObjectLearning(N_TRIALS, N_TRIALS)
    shown = task.sample(N_SUBTASKS, N_POOL, rng=seeds.rng("simulated learners", rule))
    right: np.ndarray = simulate(make_agent(rule), gram_matrices(x), shown) == shown.answer
    return right


def draw_sessions(
    share: float, n: int, rng: np.random.Generator, places: Sequence[int] = range(N_SUBTASKS)
) -> np.ndarray:
    """(subtasks, n, trials) bool, sessions of a model that learns by the perceptron in a share of its sessions. places: of the
    subtasks."""
    rows = np.asarray(places)[:, None]
    number = rng.integers(0, N_POOL, (len(rows), n))
    if share == 0:
        return pool("square")[rows, number]
    if share == 1:
        return pool("perceptron")[rows, number]
    other = rng.random((len(rows), n, 1)) < share
    return np.where(other, pool("perceptron")[rows, number], pool("square")[rows, number])


@cache
def true_curves(share: float) -> np.ndarray:
    """(subtasks, trials) accuracy of such a model, exactly."""
    square, perceptron = (pool(rule).mean(axis=1) for rule in ("square", "perceptron"))
    mixed: np.ndarray = (1 - share) * square + share * perceptron
    return mixed


def true_excess(share: float, people: Population, shift: int = 0) -> float:
    """MSE_n above the noise floor of a model beside such people, if both were simulated for ever. shift: the model learns each
    subtask as people learn the one so many places before it."""
    a = np.roll(true_curves(share), shift, axis=0) - CHANCE
    b = (1 - people.lapse) * (true_curves(people.true_share()) - CHANCE)
    keep = np.clip((a * b).sum() / (a * a).sum(), 0, 1)
    return float(np.square(b - keep * a).mean())


def guess(right: np.ndarray, lapse: float | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """With a guess between two in a share `lapse` of the trials."""
    drawn = rng.random(right.shape, dtype=np.float32)
    return np.where(drawn < lapse, drawn < lapse / 2, right)


def as_behaviour(right: np.ndarray, who: np.ndarray, places: Sequence[int] = range(N_SUBTASKS)) -> Behaviour:
    """right: (subtasks, sessions, trials); who: (subtasks · sessions,) numbers of participants; places: of the subtasks."""
    n, names = right.shape[1], tuple(NAMES[place] for place in places)
    return Behaviour(right.reshape(-1, N_TRIALS), np.repeat(np.arange(len(names)), n), names, who.astype(str))
