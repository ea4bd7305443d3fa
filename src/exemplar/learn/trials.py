"""Simulated sessions as Trials, the record that people leave too."""

from __future__ import annotations

import numpy as np

from exemplar.dense_trials import DenseTrials
from exemplar.learn.features import Features
from exemplar.learn.tasks import Sessions
from exemplar.records import Trials


def trials_of(
    choice: np.ndarray, sessions: Sessions, *, agent: str, subtasks: tuple[str, ...], image: np.ndarray
) -> Trials:
    """Every trial of simulated choices (subtasks, sessions, trials); each session is a participant of its own.

    subtasks: names; image: (subtasks, objects, images) names of images.
    """
    names = image.reshape(len(image), -1)
    correct = choice == sessions.answer if choice.shape == sessions.shape else np.zeros(choice.shape, bool)
    dense = DenseTrials(agent, subtasks, names, sessions.phase, sessions.image, choice, correct, sessions.n_choices)
    return dense.table()


def dense_trials(
    choice: np.ndarray, sessions: Sessions, features: Features, *, agent: str, with_tests: bool
) -> DenseTrials:
    """The same as arrays. Subtasks and images without names are numbered, which the record says."""
    n_subtasks, n_objects, n_images = features.shape
    subtasks = features.subtasks or name_subtasks(n_subtasks)
    numbered = [f"object{k}-image{i:03d}" for k in range(n_objects) for i in range(n_images)]
    images = np.tile(np.array(numbered), (n_subtasks, 1))
    if features.image is not None:
        images = features.image.reshape(n_subtasks, -1)
    tests = features.test.reshape(n_subtasks, -1) if with_tests and features.test is not None else None
    return DenseTrials(
        agent=agent,
        subtasks=subtasks,
        images=images,
        phase=sessions.phase,
        shown=sessions.image,
        choice=choice,
        correct=choice == sessions.answer,
        n_choices=sessions.n_choices,
        tests=tests,
        named=features.image is not None,
    )


def name_subtasks(n: int) -> tuple[str, ...]:
    """What subtasks without names are called."""
    return tuple(f"subtask{number:03d}" for number in range(n))
