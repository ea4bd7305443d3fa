"""One encoder with every rule against people: run, or read where it was run already, and scored in both experiments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine, seeds
from exemplar.errors import UserError
from exemplar.learn.features import Features, load_features
from exemplar.learn.measures.calibrated import can_measure, measure_excess
from exemplar.learn.measures.curves import Repeated, repeat
from exemplar.learn.measures.mse import null_distribution
from exemplar.learn.measures.oneshot import generalization_null, score_generalization
from exemplar.learn.measures.phases import LEVELS, PHASES, compare_phases
from exemplar.learn.outcomes import Outcome, has_experiment, load_outcome
from exemplar.learn.running import RunConfig, run_learner
from exemplar.learn.scores import score_learner
from exemplar.learn.shared_images import align_learning, align_tests, share_images
from exemplar.learn.stage_features import encode_stimuli, load_working_stage
from exemplar.learn.stimuli import public_stimuli
from exemplar.records import Score

GROUPS = ("all", *LEVELS)


@dataclass(frozen=True)
class Source:
    """Where an encoder's models come from: features of Experiments 1 and 2 (files), a stage that encodes people's images (a
    folder), or runs, rule → folder, of both.

    features, images: "" where it is none of these; runs: ((rule, folder of Experiment 1, folder of 2), …), "" for none.
    """

    encoder: str
    features: tuple[str, str] = ("", "")
    images: str = ""
    runs: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class ModelsJob:
    """source: an encoder; people: where their data are, "" for the counts on this machine; second: whether they did Experiment
    2; n_sessions: of each model in a subtask."""

    source: Source
    rules: tuple[str, ...]
    people: str
    second: bool
    n_sessions: int
    n_replicates: int
    other_images: bool
    seed: int


@dataclass(frozen=True, eq=False)
class Side:
    """People in both experiments: Experiment 1 with replicates; second: None where they did not do it."""

    first: Outcome
    second: Outcome | None


@cache
def load_side(people: str, second: bool) -> Side:
    """Once per process, however many jobs it does."""
    place = people or None
    return Side(load_outcome(place, experiment=1), load_outcome(place, experiment=2) if second else None)


def people_have(people: str, experiment: int) -> bool:
    return has_experiment(people or None, experiment)


def score_source(job: ModelsJob) -> dict[str, Any]:
    """scores: of each rule (agent; space: the encoder); the rest are arrays with a row for each rule.

    p, one_shot_p: of the null test; n_correct: (rules, subtasks, trials) right of n_sessions (rules, subtasks); levels,
    levels_p: (rules, phases, groups) accuracy early and late by difficulty, and p of no difference from people; one_shot:
    (rules, tests).
    """
    start, people = time.process_time(), load_side(job.people, job.second)
    rows: list[dict[str, Any]] = []
    found: dict[str, list[Any]] = {}
    names: list[str] = []
    with engine.one_thread():
        them = _repeated(people.first, job)
        for rule, first, second in _outcomes(job):
            names.append(rule)
            scores, arrays = _score_first(first, people.first, them, rule, job)
            if second is not None and people.second is not None:
                more, extra = _score_second(second, people.second, rule, job)
                scores, arrays = scores + more, arrays | extra
            rows += [asdict(replace(one, agent=rule, space=job.source.encoder)) for one in scores]
            for name, value in arrays.items():
                found.setdefault(name, []).append(value)
    packed = {name: np.array(values) for name, values in found.items()}
    return {"scores": rows, "rules": np.array(names), "seconds": time.process_time() - start, **packed}


def _repeated(people: Outcome, job: ModelsJob) -> Repeated:
    return repeat(people.learning(), n_replicates=job.n_replicates, rng=seeds.rng("study people", job.seed))


def _score_first(
    model: Outcome, people: Outcome, them: Repeated, rule: str, job: ModelsJob
) -> tuple[list[Score], dict[str, Any]]:
    _check_images(model, people, job)
    own, theirs = align_learning(model.learning(), people.learning())
    rng = seeds.rng("study model", job.seed, job.source.encoder, rule)
    mine = repeat(own, n_replicates=job.n_replicates, rng=rng)
    if theirs is not people.learning():
        them = repeat(theirs, n_replicates=job.n_replicates, rng=seeds.rng("study people", job.seed))
    scores = list(score_learner(mine, them).values())
    if can_measure(own, theirs):
        p = measure_excess(own, theirs).p
    else:
        null = null_distribution(theirs, own.curves().n_sessions, n_replicates=job.n_replicates, rng=rng)
        p = null.p(next(score.value for score in scores if score.name == "mse_n"))
    phases = {(row.phase, row.level): row for row in compare_phases(mine, them, n_replicates=job.n_replicates, rng=rng)}
    table = [[phases[phase, group] for group in GROUPS if (phase, group) in phases] for phase in PHASES]
    curves = own.curves()
    return scores, {
        "p": p,
        "n_correct": curves.n_correct.astype(np.uint32),
        "n_sessions": curves.n_sessions.astype(np.uint32),
        "levels": [[row.model.value for row in line] for line in table],
        "levels_p": [[row.p for row in line] for line in table],
    }


def _score_second(model: Outcome, people: Outcome, rule: str, job: ModelsJob) -> tuple[list[Score], dict[str, Any]]:
    _check_images(model, people, job)
    own, theirs = align_tests(model.tested(), people.tested())
    rng = seeds.rng("study model", "one-shot", job.seed, job.source.encoder, rule)
    found = score_generalization(own, theirs, n_replicates=job.n_replicates, rng=rng)
    null = generalization_null(theirs, own, n_replicates=job.n_replicates, rng=rng)
    scores = [replace(score, name=f"one_shot_{score.name}") for score in found.values()]
    p = np.nan if null is None else null.p(found["mse_n"].value)
    return scores, {"one_shot_p": p, "one_shot": own.points().accuracy}


def _check_images(model: Outcome, people: Outcome, job: ModelsJob) -> None:
    shared = share_images(model, people)
    if not shared.same and not job.other_images:
        raise UserError(
            f"{job.source.encoder} saw other images than people ({shared.reason}): give features of people's images, or "
            "--other-images to compare anyway"
        )


def _outcomes(job: ModelsJob) -> Iterator[tuple[str, Outcome, Outcome | None]]:
    """Rule by rule, what the models of this encoder did in Experiments 1 and 2."""
    source = job.source
    if source.runs:
        for rule, first, second in source.runs:
            if rule in job.rules:
                yield rule, load_outcome(first, experiment=1), load_outcome(second, experiment=2) if second else None
        return
    features = [_features(source, experiment) for experiment in ((1, 2) if job.second else (1,))]
    for rule in job.rules:
        done: list[Outcome | None] = [None, None]
        for place, given in enumerate(features):
            if given is not None:
                config = RunConfig(place + 1, rule, n_sessions=job.n_sessions, n_trials=_n_trials(job, given))
                done[place] = run_learner(config, given, seed=job.seed).outcome
        if done[0] is None:
            raise UserError(f"{source.encoder} has no features of Experiment 1: give them, NAME.npz")
        yield rule, done[0], done[1]


def _n_trials(job: ModelsJob, features: Features) -> int:
    """As many as people's sessions have, where there are enough images."""
    return min(load_side(job.people, job.second).first.learning().n_trials, features.shape[2])


def _features(source: Source, experiment: int) -> Features | None:
    if source.images:
        stage, stimuli = load_working_stage(source.encoder, "cpu"), public_stimuli(source.images, experiment)
        return encode_stimuli(stage, stimuli, device="cpu")
    place = source.features[experiment - 1]
    return load_features(Path(place)) if place else None
