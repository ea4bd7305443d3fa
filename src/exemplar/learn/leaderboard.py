"""The room's leaderboard: built-in objects in Experiment 1, and a run of it scored again from its trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exemplar import seeds
from exemplar.dense_trials import DenseTrials
from exemplar.errors import UserError
from exemplar.learn.measures.curves import repeat
from exemplar.learn.outcomes import outcome_of
from exemplar.learn.scores import score_accuracy, score_speed
from exemplar.learn.stimuli import built_in_stimuli
from exemplar.learn.tasks import VARIANTS, ObjectLearning
from exemplar.rooms import Leaderboard, Placed
from exemplar.runs import describe_run

SUBTASKS, SESSIONS, TRIALS = 64, 500, 100
UNPROVEN = ("That the choices came from this learner, and what its encoder was trained on.",)
TEXT = (
    "64 subtasks of two invented objects, 100 views of each, 100 trials with right or wrong as the only teacher, 500 simulated "
    "sessions of each subtask."
)
READING = (
    "The rows are stages of pretrained networks, each the mean of seven plasticity rules, with intervals over subtasks; a "
    "submitted row is one rule on one encoder, with an interval over sessions, which is narrower. Chance is .5. How people did "
    "is on other objects, so they are not on it. [What each number means](../learn.md#what-each-number-means)."
)


def make_boards() -> dict[str, Leaderboard]:
    return {
        "learn-objects": Leaderboard(
            title="Built-in objects",
            text=TEXT,
            reading=READING,
            result="learn-encoders",
            columns=("accuracy", "early", "late"),
            shows=lambda score: score.agent == "mean of all rules",
            command="exemplar learn run --features mine.npz --rule square --out mine",
            near=is_near,
            check=check_run,
        )
    }


def is_near(folder: Path) -> bool:
    about = describe_run(folder)
    return about["command"] == "learn run" and about["config"].get("experiment") == 1


def check_run(folder: Path) -> Placed:
    """Every trial held against the task: what was shown and which key was right follow from the seed."""
    about, record = describe_run(folder), DenseTrials.load(folder)
    config, seed = about["config"], int(about["seed"])
    if record.shown.shape != (SUBTASKS, SESSIONS, TRIALS) or record.n_choices != 2:
        found = " × ".join(map(str, record.shown.shape))
        raise UserError(
            f"The leaderboard has {SUBTASKS} subtasks × {SESSIONS} sessions × {TRIALS} trials of 2 choices, the run {found} "
            f"of {record.n_choices}: run it on all built-in objects with the default sizes."
        )
    check_images(record)
    variant = str(config["variant"])
    if variant not in VARIANTS:
        raise UserError(f"The run names a variant that does not exist, {variant!r}: it was changed.")
    task = ObjectLearning(TRIALS, record.images.shape[1] // 2, 2, variant)
    shown = task.sample(SUBTASKS, SESSIONS, rng=seeds.rng("learn run", seed))
    if not np.array_equal(shown.image, record.shown):
        raise UserError(
            f"The images shown are not those of seed {seed}: the trials were changed, or are of another run."
        )
    if not np.array_equal(record.choice == shown.answer, record.correct):
        raise UserError("Choices and what was right do not agree with the keys of this seed: the trials were changed.")
    repeated = repeat(outcome_of(record).learning(), rng=seeds.rng("learn run", "repeat", seed))
    scores = {**score_accuracy(repeated, agent=record.agent), **score_speed(repeated, agent=record.agent)}
    facts = {"encoder": config.get("stage") or config.get("features") or "", "rule": config.get("rule"), "seed": seed}
    return Placed(record.agent, list(scores.values()), facts, UNPROVEN)


def check_images(record: DenseTrials) -> None:
    """Refuse a run on other images than the built-in ones, or on images without names."""
    stimuli = built_in_stimuli(1)
    wanted = {name: set(row.ravel().tolist()) for name, row in zip(stimuli.subtasks, stimuli.image, strict=True)}
    found = {name: set(row.tolist()) for name, row in zip(record.subtasks, record.images, strict=True)}
    if not record.named or found != wanted:
        raise UserError(
            "The images are not the built-in objects of this leaderboard, or are not named: encode those of `exemplar learn "
            "objects`, and give their names in the arrays `subtask` and `image`."
        )
