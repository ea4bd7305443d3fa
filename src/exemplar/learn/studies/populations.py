"""Simulated participants: populations whose encoder, rule, lapse rate and number are known, to see what the scores find out.

Nobody here is a person. A simulated participant learns as a model does and, on a share of the trials, answers with a guess
(which teaches nothing). Whichever model has the lowest MSE_n is the one found; the null test should reject the model that is
true in 5 % of populations, and the others in as many as possible.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.measures.mse import Moments, fit_lapse, mse_n, null_distribution
from exemplar.learn.studies.encoders import network_of, unpack
from exemplar.records import Score

LEVEL = 0.05  # of the null test
SIMULATED = "simulated participants"  # never to be taken for people


@dataclass(frozen=True)
class Population:
    """encoder, rule: how they learn; lapse: share of trials on which they guess, in [0, 1); n_sessions: in each subtask."""

    encoder: str
    rule: str
    lapse: float = 0.1
    n_sessions: int = 50

    def __post_init__(self) -> None:
        if not 0 <= self.lapse < 1:
            raise UserError(f"simulated participants cannot lapse on {self.lapse} of the trials: give 0 to below 1")
        if self.n_sessions < 2:
            raise UserError(f"{self.n_sessions} sessions per subtask give no variance: give at least 2")


@dataclass(frozen=True, eq=False)
class PopulationsJob:
    """Populations of one encoder. bits: (rules, subtasks, bytes) right trials of `n_drawn` participants, who do not lapse
    yet; population k learns with rule number rules[k] and takes its first sessions of them. n_model: sessions of a model.
    """

    populations: tuple[Population, ...]
    rules: tuple[int, ...]
    bits: np.ndarray
    n_drawn: int
    n_trials: int
    n_model: int
    n_replicates: int
    seed: int


@dataclass(frozen=True, eq=False)
class Recovered:
    """What became of populations, one row each.

    true, found: (populations,) number of the model (encoder · rules + rule) that is true, and that has the lowest MSE_n;
    p: (models, populations) of the null test; lapse: (populations,) fitted to the true model.
    """

    populations: tuple[Population, ...]
    encoders: tuple[str, ...]
    rules: tuple[str, ...]
    true: np.ndarray
    found: np.ndarray
    p: np.ndarray
    lapse: np.ndarray

    def of(self, rows: np.ndarray) -> Recovered:
        """Only these populations."""
        some = tuple(self.populations[row] for row in rows)
        return replace(
            self,
            populations=some,
            true=self.true[rows],
            found=self.found[rows],
            p=self.p[:, rows],
            lapse=self.lapse[rows],
        )

    def confusion(self) -> np.ndarray:
        """(encoders, encoders) how many populations of the encoder in the row were taken for that in the column."""
        counts = np.zeros((len(self.encoders), len(self.encoders)), int)
        np.add.at(counts, (self.true // len(self.rules), self.found // len(self.rules)), 1)
        return counts


def design_populations(
    encoders: Sequence[str], rules: Sequence[str], lapses: Sequence[float], n_sessions: Sequence[int]
) -> list[Population]:
    """Every encoder with every rule, at every number of sessions; lapse rates take turns, so that each meets every rule."""
    return [
        Population(encoder, rule, lapses[(i + j) % len(lapses)], n)
        for i, encoder in enumerate(encoders)
        for j, rule in enumerate(rules)
        for n in n_sessions
    ]


def add_lapses(correct: np.ndarray, lapse: float, *, rng: np.random.Generator) -> np.ndarray:
    """Right or wrong (..., trials) bool, with a guess between two in a share `lapse` of the trials."""
    drawn = rng.random(correct.shape)
    return np.where(drawn < lapse, drawn < lapse / 2, correct)


def as_behaviour(correct: np.ndarray, subtasks: tuple[str, ...] | None = None) -> Behaviour:
    """(subtasks, sessions, trials) bool as behaviour; every session is a participant of its own."""
    n_subtasks, n_sessions, n_trials = correct.shape
    names = subtasks or tuple(f"subtask{number:03d}" for number in range(n_subtasks))
    flat = correct.reshape(-1, n_trials)
    return Behaviour(flat, np.repeat(np.arange(n_subtasks), n_sessions), names, np.arange(len(flat)).astype(str))


def population_nulls(job: PopulationsJob) -> dict[str, Any]:
    """n_correct: (populations, subtasks, trials) of simulated participants; errors: (populations, replicates), sorted: the
    null distribution of MSE_n, from these participants alone; seconds: of CPU time.
    """
    start, counts, errors = time.process_time(), [], []
    for population, rule in zip(job.populations, job.rules, strict=True):
        name = ("population", job.seed, population.encoder, population.rule, population.n_sessions)
        correct = unpack(job.bits[rule], job.n_drawn, job.n_trials)[:, : population.n_sessions]
        people = as_behaviour(add_lapses(correct, population.lapse, rng=seeds.rng(*name, "lapses")))
        n_model = np.full(len(correct), job.n_model)
        null = null_distribution(people, n_model, n_replicates=job.n_replicates, rng=seeds.rng(*name, "null"))
        counts.append(people.curves().n_correct)
        errors.append(np.sort(null.errors))
    seconds = time.process_time() - start
    return {"n_correct": np.array(counts, np.uint16), "errors": np.array(errors), "seconds": seconds}


def recover(
    populations: Sequence[Population],
    encoders: tuple[str, ...],
    rules: tuple[str, ...],
    models: np.ndarray,
    n_model: int,
    n_correct: np.ndarray,
    errors: np.ndarray,
) -> Recovered:
    """Every model against every population.

    models: (encoders · rules, subtasks, trials) right of n_model sessions; n_correct, errors: of `population_nulls`.
    """
    n_people = np.array([population.n_sessions for population in populations])
    own, theirs = models / n_model, n_correct / n_people[:, None, None]
    a, b = (side.reshape(len(side), -1) - 0.5 for side in (own, theirs))
    n_cells = a.shape[1]
    noise = (own * (1 - own)).reshape(len(own), -1).mean(axis=1) / (n_model - 1)
    their_noise = (theirs * (1 - theirs)).reshape(len(theirs), -1).mean(axis=1) / (n_people - 1)
    moments = Moments(
        np.einsum("mc,mc->m", a, a)[:, None] / n_cells,
        a @ b.T / n_cells,
        np.einsum("pc,pc->p", b, b) / n_cells,
        noise[:, None],
        their_noise,
    )
    error, lapse = mse_n(moments), fit_lapse(moments)  # (models, populations)
    place = {(e, r): i * len(rules) + j for i, e in enumerate(encoders) for j, r in enumerate(rules)}
    true = np.array([place[population.encoder, population.rule] for population in populations])
    n_greater = np.stack(
        [errors.shape[1] - np.searchsorted(null, mine, "left") for null, mine in zip(errors, error.T, strict=True)], 1
    )
    p = (1 + n_greater) / (1 + errors.shape[1])
    columns = np.arange(len(true))
    return Recovered(tuple(populations), encoders, rules, true, error.argmin(axis=0), p, lapse[true, columns])


def score_recovery(recovered: Recovered, *, rng: np.random.Generator, agent: str = "") -> list[Score]:
    """How often the truth is found, and what the null test does; intervals draw whole encoders, whose populations belong
    together.

    What is called power is the share of wrong models rejected: it is worth its name only where the type 1 error is near 5 %.
    With few sessions it is not, since resampled people vary less than people do, by (n − 1) / n.
    """
    encoders, n_rules = recovered.encoders, len(recovered.rules)
    true, found = recovered.true, recovered.found
    encoder, rule = np.arange(len(encoders) * n_rules) // n_rules, np.arange(len(encoders) * n_rules) % n_rules
    network = np.unique([network_of(name) for name in encoders], return_inverse=True)[1]
    step = np.abs(encoder[:, None] - encoder[true])  # (models, populations); stages of a network come in its order
    same_network = network[encoder][:, None] == network[encoder[true]]
    same_rule = rule[:, None] == rule[true]
    rejected = recovered.p < LEVEL
    columns = np.arange(len(true))
    lapse = np.array([population.lapse for population in recovered.populations])
    values: dict[str, np.ndarray] = {
        "encoder_found": step[found, columns] == 0,
        "encoder_found_within_one_stage": (step[found, columns] <= 1) & same_network[found, columns],
        "network_found": same_network[found, columns],
        "rule_found": rule[found] == rule[true],
        "type_1_error": rejected[true, columns],
        "lapse_rate_bias": recovered.lapse - lapse,
    }
    wrong = {
        "power_other_encoder": step > 0,
        "power_next_stage": (step == 1) & same_network & same_rule,
        "power_other_rule": (step == 0) & ~same_rule,
    }
    group = encoder[true]
    several = {name: (value.astype(float), group) for name, value in values.items()}
    for name, chosen in wrong.items():
        n = chosen.sum(axis=0)
        some = n > 0  # pixels, for one, have no next stage
        if len(np.unique(group[some])) > 1:
            several[name] = ((rejected & chosen).sum(axis=0)[some] / n[some], group[some])
    scores = []
    for name, (value, groups) in several.items():
        if name == "type_1_error":  # populations are independent, and a bootstrap of no rejection has no width
            around = stats.proportion(int(value.sum()), len(value))
        else:
            around = stats.bootstrap(value, groups=groups, rng=rng)
        scores.append(Score.of(name, around, n=len(value), agent=agent))
    return scores
