"""One learner through one experiment: features into the ball, sessions drawn, choices made (the fast way if there is one)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from exemplar import engine, seeds
from exemplar.dense_trials import DenseTrials
from exemplar.errors import UserError, unknown
from exemplar.learn.agents import Agent, LinearLearner, Prototype, RandomGuesser, list_rules, make_agent
from exemplar.learn.features import Features
from exemplar.learn.measures.curves import Repeated, repeat
from exemplar.learn.measures.reading import behaviour_of
from exemplar.learn.outcomes import Outcome, outcome_of
from exemplar.learn.scores import score_accuracy, score_speed, score_tests
from exemplar.learn.simulation import gram_matrices, run_agent, simulate
from exemplar.learn.tasks import VARIANTS, ObjectLearning, OneShot, Sessions
from exemplar.learn.trials import dense_trials
from exemplar.learn.user_agents import AgentSource, UserAgent, find_agent
from exemplar.records import Score

FAST = (LinearLearner, Prototype, RandomGuesser)  # what `simulate` can do


@dataclass(frozen=True)
class RunConfig:
    """experiment: 1 or 2; rule: a name in `agents.AGENTS`; agent: instead, what the user's own is called, "file.py:Class" or a
    class; n_sessions: of each subtask; n_trials: of a session of Experiment 1; variant: of rules, features' radius and trial
    sequences.
    """

    experiment: int = 1
    rule: str = "square"
    agent: str | None = None
    rate: float = 1.0
    n_sessions: int = 500
    n_trials: int = 100
    variant: str = "paper"

    def __post_init__(self) -> None:
        if self.experiment not in (1, 2):
            raise UserError(f"there is no Experiment {self.experiment}: choose 1 (ever new views) or 2 (one view)")
        if self.variant not in VARIANTS:
            raise unknown("variant", self.variant, VARIANTS)
        if self.agent is None:
            make_agent(self.rule, rate=self.rate, variant=self.variant)  # refuses what is wrong before hours of work
        if self.rate != 1 and (self.agent is not None or self.rule not in list_rules()):
            who = self.agent if self.agent is not None else self.rule
            raise UserError(f"{who} takes no learning rate, only plasticity rules do: leave --rate out")
        if self.n_sessions < 2:
            raise UserError(f"{self.n_sessions} sessions of a subtask give no variance: simulate at least 2")

    @property
    def name(self) -> str:
        """What the agent is called in records: the rule (with its rate, unless 1), or the class."""
        if self.agent is not None:
            return self.agent.rpartition(":")[2]
        return self.rule if self.rate == 1 else f"{self.rule} at rate {self.rate:g}"


@dataclass(frozen=True, eq=False)
class LearnerRun:
    """What a learner did. record: every trial; repeated: Experiment 1's curves with replicates; seconds: of simulation, and of
    simulation and scoring, CPU time after compilation; placed: the features in the ball.
    """

    outcome: Outcome
    record: DenseTrials
    scores: dict[str, Score]
    scaled_by: str
    repeated: Repeated | None
    seconds: tuple[float, float]
    placed: np.ndarray


def run_learner(config: RunConfig, features: Features, *, source: AgentSource | None = None, seed: int) -> LearnerRun:
    """Let the agent of a configuration learn every subtask, and score what it did by itself.

    source: where the user's own agent comes from, if its code is loaded already.
    """
    n_subtasks, n_objects, n_images = features.shape
    agent: Agent
    if config.agent is not None:
        agent = (source or find_agent(config.agent)).make(n_objects)
    else:
        agent = make_agent(config.rule, n_choices=n_objects, rate=config.rate, variant=config.variant)
    task = make_task(config, n_images, n_objects)
    if config.experiment == 2:
        _check_tests(features)
    with engine.one_thread(), _enough_memory(n_subtasks, config.n_sessions):
        placed, scaled_by = features.in_ball(config.variant)
        _compile(agent, placed, task)
        start = time.process_time()
        shown = task.sample(n_subtasks, config.n_sessions, rng=seeds.rng("learn run", seed))
        choice = _choices(agent, placed, shown)
        simulated = time.process_time() - start
        record = dense_trials(choice, shown, features, agent=config.name, with_tests=config.experiment == 2)
        outcome = outcome_of(record)
        rng, repeated = seeds.rng("learn run", "repeat", seed), None
        if config.experiment == 1:
            repeated = repeat(outcome.learning(), rng=rng)
            scores = {**score_accuracy(repeated, agent=config.name), **score_speed(repeated, agent=config.name)}
        else:
            scores = score_tests(outcome.tested(), agent=config.name, rng=rng)
        seconds = time.process_time() - start
    return LearnerRun(outcome, record, scores, scaled_by, repeated, (simulated, seconds), placed)


def make_task(config: RunConfig, n_images: int, n_objects: int) -> ObjectLearning | OneShot:
    """The experiment's task with as many images of each object as there are."""
    if config.experiment == 1:
        return ObjectLearning(config.n_trials, n_images, n_objects, config.variant)
    n_training = 5 * n_objects  # then ten tests, of which the fifth and the last are catch trials
    return OneShot(n_images, n_training, 10, n_objects, (n_training + 4, n_training + 9), config.variant)


@contextmanager
def _enough_memory(n_subtasks: int, n_sessions: int) -> Iterator[None]:
    try:
        yield
    except MemoryError as problem:
        raise UserError(
            f"{n_sessions:,} sessions of {n_subtasks} subtasks do not fit into memory: give fewer --sessions"
        ) from problem


def _choices(agent: Agent, placed: np.ndarray, shown: Sessions) -> np.ndarray:
    if isinstance(agent, UserAgent):
        with agent.guard():
            inner = agent.agent
            fast = type(inner) in FAST  # not a class derived from one, which may choose in its own way
            return simulate(inner, gram_matrices(placed), shown) if fast else run_agent(agent, placed, shown)
    return simulate(agent, gram_matrices(placed), shown) if isinstance(agent, FAST) else run_agent(agent, placed, shown)


def _compile(agent: Agent, placed: np.ndarray, task: ObjectLearning | OneShot) -> None:
    """Compile what is timed, on two sessions of one subtask."""
    few = task.sample(1, 2, rng=seeds.rng("compile"))
    if isinstance(agent, FAST):
        simulate(agent, gram_matrices(placed[:1]), few)
    repeat(behaviour_of(few.answer, few), n_replicates=2, rng=seeds.rng("compile"))


def _check_tests(features: Features) -> None:
    """Experiment 2 needs to know which test each image belongs to."""
    if features.test is None:
        raise UserError(
            "Experiment 2 needs the array `test` (subtasks, objects, images), which test each image belongs to: "
            "`exemplar learn objects --experiment 2` writes it beside the images"
        )
    if (features.test[:, :, 0] != "").any():
        raise UserError("the first image of each object must be the one that is trained on, in no test: reorder them")
    if not (features.test != "").any():
        raise UserError("no image belongs to a test: name tests in the array `test`, such as 'scale | 0.5'")
