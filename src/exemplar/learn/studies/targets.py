"""Models scored against one population of simulated participants, encoder by encoder, in both experiments."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.learn.measures.curves import Behaviour, repeat
from exemplar.learn.measures.mse import Null, null_distribution
from exemplar.learn.measures.oneshot import Generalization, count_tests, resampled_null, score_generalization
from exemplar.learn.scores import score_learner
from exemplar.learn.studies.encoders import LEARNING, load_subtasks, one_shot_tests, sample_sessions, unpack
from exemplar.learn.studies.models import Learned, StudyConfig
from exemplar.learn.studies.populations import SIMULATED, Population, add_lapses, as_behaviour
from exemplar.learn.tasks import CATCH, TEST, ObjectLearning, OneShot
from exemplar.learn.trials import trials_of
from exemplar.records import Trials


@dataclass(frozen=True, eq=False)
class Participants:
    """Simulated participants in both experiments, who do not lapse yet.

    population: what they are, and how many of the n_drawn in each subtask take part; learning, one_shot: (subtasks, bytes).
    """

    population: Population
    n_drawn: int
    learning: np.ndarray
    one_shot: np.ndarray


@dataclass(frozen=True, eq=False)
class ScoringJob:
    """One encoder with all rules. learning, one_shot: (rules, subtasks, bytes) right trials of n_sessions per subtask."""

    encoder: str
    rules: tuple[str, ...]
    tasks: tuple[ObjectLearning, OneShot]
    n_sessions: int
    learning: np.ndarray
    one_shot: np.ndarray
    participants: Participants
    n_replicates: int
    seed: int


def simulated_participants(
    who: Participants, tasks: tuple[ObjectLearning, OneShot], seed: int
) -> tuple[Behaviour, Generalization]:
    """What they did in Experiments 1 and 2, lapses and all."""
    population, n = who.population, who.population.n_sessions
    both = []
    for bits, n_trials in ((who.learning, tasks[0].n_trials), (who.one_shot, _n_trials(tasks[1]))):
        rng = seeds.rng("lapses of the truth", seed, n_trials)
        both.append(add_lapses(unpack(bits, who.n_drawn, n_trials)[:, :n], population.lapse, rng=rng))
    test, catch = tests_shown(tasks[1], len(who.one_shot), who.n_drawn, seed, population.encoder, population.rule)
    right, which, caught = (part[:, :n].reshape(-1, part.shape[2]) for part in (both[1], test, catch))
    return as_behaviour(both[0]), count_tests(right, which, caught, one_shot_tests()[1])


def null_distributions(
    participants: Behaviour, tested: Generalization, n_sessions: int, n_one_shot: int, n_replicates: int, seed: int
) -> tuple[Null, Null]:
    """Of MSE_n in both experiments, for models with n_sessions per subtask; n_one_shot: subtasks of Experiment 2."""
    n_model = np.full(len(participants.subtasks), n_sessions)
    first = null_distribution(participants, n_model, n_replicates=n_replicates, rng=seeds.rng("null", seed))
    rng = seeds.rng("one-shot null", seed)
    return first, resampled_null(tested, n_one_shot * n_sessions, n_replicates=n_replicates, rng=rng)


def score_encoder(job: ScoringJob) -> dict[str, Any]:
    """scores: of each rule (agent; space: the encoder); n_correct: (rules, subtasks, trials) right of all sessions; one_shot:
    (rules, tests) accuracies; seconds: of CPU time.
    """
    start = time.process_time()
    participants, their_tests = simulated_participants(job.participants, job.tasks, job.seed)
    them = repeat(participants, n_replicates=job.n_replicates, rng=seeds.rng("truth again", job.seed))
    test, _ = tests_shown(job.tasks[1], job.one_shot.shape[1], job.n_sessions, job.seed)
    test = test.reshape(-1, test.shape[2])
    never = np.zeros(test.shape, bool)  # models do not lapse: their catch trials stay out
    rows, counts, profiles = [], [], []
    for place, rule in enumerate(job.rules):
        rng = seeds.rng("model again", job.seed, job.encoder, rule)
        model = as_behaviour(unpack(job.learning[place], job.n_sessions, job.tasks[0].n_trials))
        found = list(score_learner(repeat(model, n_replicates=job.n_replicates, rng=rng), them).values())
        right = unpack(job.one_shot[place], job.n_sessions, test.shape[1]).reshape(test.shape)
        tested = count_tests(right, test, never, their_tests.tests)
        again = score_generalization(tested, their_tests, n_replicates=job.n_replicates, rng=rng)
        found += [replace(score, name=f"one_shot_{score.name}") for score in again.values()]
        rows += [asdict(replace(score, agent=rule, space=job.encoder, variant="paper")) for score in found]
        counts.append(model.curves().n_correct.astype(np.uint16))
        profiles.append(tested.points().accuracy)
    seconds = time.process_time() - start
    return {"scores": rows, "n_correct": np.array(counts), "one_shot": np.array(profiles), "seconds": seconds}


def tests_shown(task: OneShot, n_subtasks: int, n_sessions: int, seed: int, *who: str) -> tuple[np.ndarray, np.ndarray]:
    """(subtasks, sessions, trials): which of the tests each trial of Experiment 2 was (−1: none), and whether a catch trial."""
    sessions = [sample_sessions(task, subtask, n_sessions, seed, *who) for subtask in range(n_subtasks)]
    test_of, _ = one_shot_tests()
    test = np.tile(test_of, task.n_objects)[np.concatenate([one.image for one in sessions])]
    phase = sessions[0].phase
    return np.where(phase == TEST, test, -1), np.broadcast_to(phase == CATCH, test.shape)


def participants_as_trials(config: StudyConfig, learned: Learned, seed: int) -> Trials:
    """Experiment 1 of the simulated participants as the records that people leave."""
    truth, task = config.truth, config.tasks[0]
    bits = learned.participants[LEARNING][truth.encoder][config.rules.index(truth.rule)]
    right = unpack(bits, config.n_drawn, config.n_trials)[:, : truth.n_sessions]
    right = add_lapses(right, truth.lapse, rng=seeds.rng("lapses of the truth", seed, config.n_trials))
    shown = [
        sample_sessions(task, subtask, config.n_drawn, seed, truth.encoder, truth.rule)
        for subtask in range(config.n_subtasks)
    ]
    image, answer = (
        np.concatenate([getattr(one, part)[:, : truth.n_sessions] for one in shown]) for part in ("image", "answer")
    )
    sessions = replace(shown[0], image=image, answer=answer)
    names = np.array(load_subtasks(task, config.n_subtasks).concepts).reshape(-1, task.n_objects)
    views = np.array([[[f"{name}/view{k:03d}" for k in range(task.n_images)] for name in pair] for pair in names])
    choice = np.where(right, answer, 1 - answer)
    return trials_of(choice, sessions, agent=SIMULATED, subtasks=tuple(map(",".join, names)), image=views)


def _n_trials(task: OneShot) -> int:
    return task.n_training + task.n_testing
