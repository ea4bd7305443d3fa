"""All models of a study in all subtasks: what is asked of whom, and which trials each got right."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.images.objects import N_OBJECTS
from exemplar.learn.agents import PUBLISHED_RULES, list_rules
from exemplar.learn.studies.encoders import (
    LEARNING,
    ONE_SHOT,
    LearningJob,
    WarmUpJob,
    depths,
    fit_balls,
    learn_subtasks,
    list_encoders,
    network_of,
    split_of,
)
from exemplar.learn.studies.populations import Population
from exemplar.learn.tasks import ObjectLearning, OneShot
from exemplar.runs import Run

LEAST_ONE_SHOT = 150  # sessions of Experiment 2; of fewer, many resamples show one of its 36 tests less than twice
N_ENCODERS = 5  # of fewer, too many resamples draw one encoder alone, in which nothing varies


@dataclass(frozen=True)
class StudyConfig:
    """encoders: pixels and stages; rules: names; n_subtasks, n_one_shot: of Experiments 1 and 2; n_trials: of a session of
    Experiment 1; n_sessions: of each model in a subtask; truth: the simulated participants that stand in for people;
    lapses, n_participants: of the populations whose encoder is to be found; n_warm_up: images that set the features' scale;
    n_block: subtasks per job.
    """

    encoders: tuple[str, ...] = field(default_factory=list_encoders)
    rules: tuple[str, ...] = PUBLISHED_RULES
    n_subtasks: int = 64
    n_one_shot: int = 32
    n_trials: int = 100
    n_sessions: int = 500
    truth: Population = field(default_factory=lambda: Population("efficientnet-lite1/head", "square"))
    lapses: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    n_participants: tuple[int, ...] = (10, 50)
    n_warm_up: int = 400
    n_replicates: int = 1000
    n_block: int = 2

    def __post_init__(self) -> None:
        depths(self.encoders)
        for rule in self.rules:
            if rule not in list_rules():
                raise unknown("rule", rule, list_rules())
        if len(set(self.encoders)) < N_ENCODERS or len(set(self.rules)) < 2:
            raise UserError(f"a study compares at least {N_ENCODERS} encoders and 2 rules: name more")
        if self.truth.encoder not in self.encoders or self.truth.rule not in self.rules:
            raise UserError(
                f"the simulated participants learn from {self.truth.encoder} by {self.truth.rule}: "
                "both must be in the study, or choose another truth"
            )
        if self.n_subtasks < 4 or self.n_one_shot < 2 or self.n_trials < 10:
            raise UserError(
                f"{self.n_subtasks} and {self.n_one_shot} subtasks of {self.n_trials} trials are too few for the scores: "
                "give at least 4, 2 and 10"
            )
        for split, n in ((LEARNING, self.n_subtasks), (ONE_SHOT, self.n_one_shot)):
            if n > N_OBJECTS[split] // 2:
                raise UserError(
                    f"there are {N_OBJECTS[split] // 2} pairs of {split} objects, not {n}: give at most as many"
                )
        if self.n_sessions < 2 or self.n_block < 1 or self.n_warm_up < 2 or not (self.lapses and self.n_participants):
            raise UserError(
                "a study needs 2 sessions, 2 warm-up images, 1 subtask per job, a lapse rate and a number of "
                "participants: give as many"
            )

        fewest = min(self.n_sessions, self.truth.n_sessions)
        if self.n_one_shot * fewest < LEAST_ONE_SHOT:
            who = "of each model" if fewest == self.n_sessions else "of simulated participants"
            raise UserError(
                f"{self.n_one_shot} subtasks of Experiment 2 with {fewest} sessions {who} show some of its 36 tests too seldom "
                f"for intervals: raise --one-shot{' or --sessions' * (fewest == self.n_sessions)}, until the two multiply to "
                f"{LEAST_ONE_SHOT}"
            )

    @property
    def tasks(self) -> tuple[ObjectLearning, OneShot]:
        return ObjectLearning(n_trials=self.n_trials, n_images=self.n_trials), OneShot()

    @property
    def experiments(self) -> tuple[tuple[ObjectLearning | OneShot, int], ...]:
        """Each task, and in how many subtasks."""
        return (self.tasks[0], self.n_subtasks), (self.tasks[1], self.n_one_shot)

    @property
    def n_drawn(self) -> int:
        """Simulated participants of each model in a subtask; populations take the first of them."""
        return max(*self.n_participants, self.truth.n_sessions)


@dataclass(frozen=True, eq=False)
class Learned:
    """Which trials were right, as bits. models, participants: split → encoder → (rules, subtasks, bytes); seconds: CPU time
    of each part of the work.
    """

    models: dict[str, dict[str, np.ndarray]]
    participants: dict[str, dict[str, np.ndarray]]
    seconds: dict[str, float]


def learn_all(run: Run, config: StudyConfig, seed: int, *, one_shot: bool = True) -> Learned:
    """Every encoder and rule in every subtask; a job is a few subtasks, whose images are drawn once for all encoders."""
    networks = [
        tuple(name for name in config.encoders if network_of(name) == network)
        for network in dict.fromkeys(map(network_of, config.encoders))
    ]
    fitted = run.map(fit_balls, [WarmUpJob(names, config.n_warm_up) for names in networks], label="warm-up images")
    balls = {name: (ball[0], ball[1]) for found in fitted for name, ball in found["balls"].items()}
    jobs = []
    for task, n in config.experiments[: 1 + one_shot]:
        for first in range(0, n, config.n_block):
            some = (first, min(first + config.n_block, n))
            jobs.append(LearningJob(task, some, config.n_sessions, config.n_drawn, config.rules, balls, seed))
    blocks = run.map(learn_subtasks, jobs, label="subtasks")
    seconds = {"warm-up": sum(found["seconds"] for found in fitted)}
    for block in blocks:
        seconds |= {part: seconds.get(part, 0.0) + spent for part, spent in block["seconds"].items()}
    splits = dict.fromkeys(split_of(job.task) for job in jobs)

    def whole(who: str) -> dict[str, dict[str, np.ndarray]]:
        parts = {
            split: [found["encoders"] for job, found in zip(jobs, blocks, strict=True) if split_of(job.task) == split]
            for split in splits
        }
        return {
            split: {name: np.concatenate([part[name][who] for part in some], axis=1) for name in config.encoders}
            for split, some in parts.items()
        }

    return Learned(whole("models"), whole("participants"), seconds)
