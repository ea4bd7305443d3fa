"""What is asked: which of a few novel objects is in the image, with right or wrong as the only teacher.

Experiment 1 shows ever new views; Experiment 2 trains on one view of each object and tests on transformed ones. Each trial
sequence exists as the paper describes it and as the authors' library hobj draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numba import njit

from exemplar.errors import UserError, unknown
from exemplar.learn.session_random import draw_key

VARIANTS = ("paper", "hobj")
TRAIN, TEST, CATCH = "train", "test", "catch"


@dataclass(frozen=True, eq=False)
class Sessions:
    """What will be shown, and which choice is right, in every session of every subtask.

    image: (subtasks, sessions, trials) uint16, row of the subtask's images, object after object (object · n_images + number);
    answer: (subtasks, sessions, trials) int8, the choice that is right; phase: (trials,) "train", "test" or "catch";
    n_choices: as many as objects; n_images: of each object; key: what the sessions' own generators share (`session_random`).
    """

    image: np.ndarray
    answer: np.ndarray
    phase: np.ndarray
    n_choices: int
    n_images: int
    key: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """(subtasks, sessions, trials)."""
        n_subtasks, n_sessions, n_trials = self.image.shape
        return n_subtasks, n_sessions, n_trials

    @property
    def object(self) -> np.ndarray:
        """(subtasks, sessions, trials) which object is in the image."""
        return self.image // self.n_images


class Task(Protocol):
    """Anything that can say what its sessions show. n_images: how many images of each object there must be."""

    n_images: int

    def sample(self, n_subtasks: int, n_sessions: int, *, rng: np.random.Generator) -> Sessions: ...


@dataclass(frozen=True)
class ObjectLearning:
    """Experiment 1: an image that was not shown before on every trial.

    n_images: of each object; sequence: "paper" picks one of the objects at random, then an unseen image of it; "hobj" shows
    a random order of all objects' images and stops after n_trials.
    """

    n_trials: int = 100
    n_images: int = 100
    n_objects: int = 2
    sequence: str = "paper"
    seed_name: ClassVar[str] = "ObjectLearning"  # decides which sessions are drawn, whatever the class is called

    def __post_init__(self) -> None:
        _check(self.sequence, self.n_objects, self.n_images)
        if self.n_trials < 1:
            raise UserError(f"a session of {self.n_trials} trials shows nothing: give at least 1")
        available = self.n_images * (self.n_objects if self.sequence == "hobj" else 1)
        if self.n_trials > available:
            of = "all objects together" if self.sequence == "hobj" else "each object, which chance may show every time,"
            raise UserError(
                f"{self.n_trials} trials need as many images of {of} and there are {available}: give more images, or fewer "
                "trials"
            )

    def sample(self, n_subtasks: int, n_sessions: int, *, rng: np.random.Generator) -> Sessions:
        """The sessions of `n_subtasks` subtasks, `n_sessions` each."""
        total = _check_counts(n_subtasks, n_sessions)
        place = rng.random((total, self.n_trials))
        image = np.empty(place.shape, np.uint16)
        if self.sequence == "paper":
            _objects_then_images(place, self.n_objects, self.n_images, image)
        else:
            _pooled_images(place, self.n_objects * self.n_images, image)
        phase = np.full(self.n_trials, TRAIN)
        return _sessions(image, phase, (n_subtasks, n_sessions), self.n_objects, self.n_images, rng)


@dataclass(frozen=True)
class OneShot:
    """Experiment 2: the first image of each object again and again, then transformed views of it, never the same twice.

    n_images: of each object, the training image (number 0) and then its test images; n_training: trials, divided evenly among
    objects in random order; n_testing: trials, with the training images again on `catch_trials` (counted from 0).
    sequence: both show the same, but "hobj" takes the last training trial for a catch trial too.
    """

    n_images: int = 61
    n_training: int = 10
    n_testing: int = 10
    n_objects: int = 2
    catch_trials: tuple[int, ...] = (14, 19)
    sequence: str = "paper"
    seed_name: ClassVar[str] = "OneShot"

    def __post_init__(self) -> None:
        _check(self.sequence, self.n_objects, self.n_images)
        if self.n_training < self.n_objects or self.n_training % self.n_objects:
            raise UserError(
                f"{self.n_training} training trials cannot show {self.n_objects} objects equally often: give a multiple of it"
            )
        outside = [t for t in self.catch_trials if not self.n_training <= t < self.n_training + self.n_testing]
        if outside:
            raise UserError(
                f"trial {outside[0]} is not in the test phase, so it cannot be a catch trial: fix catch_trials"
            )
        if self.n_testing > self.n_images - 1:
            raise UserError(
                f"{self.n_testing} test trials need as many test images of each object and there are {self.n_images - 1}: "
                "give more images, or fewer trials"
            )

    def sample(self, n_subtasks: int, n_sessions: int, *, rng: np.random.Generator) -> Sessions:
        """The sessions of `n_subtasks` subtasks, `n_sessions` each."""
        total = _check_counts(n_subtasks, n_sessions)
        training = np.repeat(np.arange(self.n_objects) * self.n_images, self.n_training // self.n_objects)
        order = np.argsort(rng.random((total, self.n_training)), axis=1)
        tests = np.empty((total, self.n_testing), np.uint16)
        _objects_then_images(rng.random(tests.shape), self.n_objects, self.n_images - 1, tests)
        item, number = tests // (self.n_images - 1), tests % (self.n_images - 1)
        catch = np.isin(np.arange(self.n_testing) + self.n_training, self.catch_trials)
        tests = item * self.n_images + np.where(catch, 0, number + 1)
        image = np.concatenate([training[order], tests], axis=1).astype(np.uint16)
        phase = np.array([TRAIN] * self.n_training + [CATCH if is_catch else TEST for is_catch in catch])
        if self.sequence == "hobj":
            phase[self.n_training - 1] = CATCH
        return _sessions(image, phase, (n_subtasks, n_sessions), self.n_objects, self.n_images, rng)


def _sessions(
    image: np.ndarray,
    phase: np.ndarray,
    shape: tuple[int, int],
    n_objects: int,
    n_images: int,
    rng: np.random.Generator,
) -> Sessions:
    """Draws which key goes with which object, for each session, and the sessions' generators."""
    keys = np.argsort(rng.random((len(image), n_objects)), axis=1).astype(np.int8)
    answer = np.take_along_axis(keys, (image // n_images).astype(np.intp), axis=1)
    n_trials = image.shape[1]
    return Sessions(
        image.reshape(*shape, n_trials), answer.reshape(*shape, n_trials), phase, n_objects, n_images, draw_key(rng)
    )


@njit(cache=True)
def _objects_then_images(place: np.ndarray, n_objects: int, n_images: int, image: np.ndarray) -> None:
    """place: (sessions, trials) in [0, 1), whose first part says which object and whose rest says which unseen image."""
    pool = np.empty((n_objects, n_images), np.uint16)
    for session in range(len(place)):
        for item in range(n_objects):
            for number in range(n_images):
                pool[item, number] = item * n_images + number
        left = np.full(n_objects, n_images)
        for trial in range(place.shape[1]):
            scaled = place[session, trial] * n_objects
            item = int(scaled)
            drawn = int((scaled - item) * left[item])
            image[session, trial] = pool[item, drawn]
            left[item] -= 1
            pool[item, drawn] = pool[item, left[item]]


@njit(cache=True)
def _pooled_images(place: np.ndarray, n_images: int, image: np.ndarray) -> None:
    """The first trials of a random order of all images (Fisher and Yates). place: (sessions, trials) in [0, 1)."""
    pool = np.empty(n_images, np.uint16)
    for session in range(len(place)):
        for number in range(n_images):
            pool[number] = number
        for trial in range(place.shape[1]):
            left = n_images - trial
            drawn = int(place[session, trial] * left)
            image[session, trial] = pool[drawn]
            pool[drawn] = pool[left - 1]


def _check(sequence: str, n_objects: int, n_images: int) -> None:
    if sequence not in VARIANTS:
        raise unknown("trial sequence", sequence, VARIANTS)
    if n_objects < 2:
        raise UserError(f"a choice needs at least 2 objects, there is {n_objects}: give more")
    if n_objects > 127 or n_objects * n_images > 65535:
        raise UserError(
            f"{n_objects} objects of {n_images} images are too many for one subtask: at most 127 and 65,535 images"
        )


def _check_counts(n_subtasks: int, n_sessions: int) -> int:
    if n_subtasks < 1 or n_sessions < 1:
        raise UserError(f"{n_sessions} sessions of {n_subtasks} subtasks cannot be drawn: give at least 1 of both")
    return n_subtasks * n_sessions
