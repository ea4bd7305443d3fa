"""Learning curves: how often a subtask's trials were right, over sessions; and what other people would have given.

A bootstrap sample of sessions is a row of counts, so all samples of a subtask are one matrix product. Sums of counts are whole
numbers, exact in float32 whatever the order: the same seed gives the same bytes on any number of threads. Sessions of one
participant belong together, so participants are drawn where they are known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numba import njit

from exemplar.errors import UserError, shortened

N_REPLICATES = 1000


@dataclass(frozen=True, eq=False)
class Curves:
    """Counts over sessions, a published aggregate where the sessions themselves are not available.

    n_correct: (subtasks, trials); n_sessions: (subtasks,); subtasks: their names, in order; n_choices: of a trial.
    """

    n_correct: np.ndarray
    n_sessions: np.ndarray
    subtasks: tuple[str, ...]
    n_choices: int = 2
    experiment: ClassVar[int] = 1
    n_participants: ClassVar[int] = 0  # not known

    @property
    def n_trials(self) -> int:
        return self.n_correct.shape[1]

    @property
    def chance(self) -> float:
        """Accuracy of guessing."""
        return 1 / self.n_choices

    @property
    def accuracy(self) -> np.ndarray:
        """(subtasks, trials) share of sessions that were right."""
        return self.n_correct / self.n_sessions[:, None]

    @property
    def variance(self) -> np.ndarray:
        """(subtasks, trials) unbiased estimate of the variance of `accuracy` due to finitely many sessions (Eq. 4)."""
        return self.accuracy * (1 - self.accuracy) / (self.n_sessions[:, None] - 1)

    def curves(self) -> Curves:
        return self

    def of(self, subtasks: tuple[str, ...]) -> Curves:
        """Only these subtasks, in this order."""
        rows = [self.subtasks.index(name) for name in _known(subtasks, self.subtasks)]
        return replace(self, n_correct=self.n_correct[rows], n_sessions=self.n_sessions[rows], subtasks=subtasks)

    @property
    def session_accuracy(self) -> np.ndarray:
        """(sessions,) none are known."""
        return np.zeros(0)

    def window(self, start: int, stop: int) -> Curves:
        """Only the trials start … stop − 1, counted from 0."""
        return replace(self, n_correct=self.n_correct[:, start:stop])

    def renamed(self, subtasks: tuple[str, ...]) -> Curves:
        """The same with other names of subtasks, in order."""
        return replace(self, subtasks=subtasks)

    def resample(self, n_replicates: int, rng: np.random.Generator) -> Replicates:
        """All that counts allow: `resample_sessions`."""
        return self.resample_sessions(n_replicates, rng)

    def resample_sessions(
        self, n_replicates: int, rng: np.random.Generator, n_sessions: np.ndarray | None = None
    ) -> Replicates:
        """Other sessions, as many as there are (or `n_sessions`, (subtasks,)), drawn trial by trial.

        It leaves out that some sessions are better than others on all their trials, so intervals come out too narrow; where
        the sessions themselves are available, resample those (`Behaviour`).
        """
        n = self.n_sessions if n_sessions is None else np.asarray(n_sessions)
        counts = rng.binomial(n[:, None], self.accuracy, (n_replicates, *self.accuracy.shape))
        return Replicates(counts.astype(np.float32), n, resampled="trials")


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What was right, session by session.

    correct: (sessions, trials) bool; subtask: (sessions,) its place in `subtasks`; participant: (sessions,) names; n_choices:
    of a trial.
    """

    correct: np.ndarray
    subtask: np.ndarray
    subtasks: tuple[str, ...]
    participant: np.ndarray
    n_choices: int = 2
    experiment: ClassVar[int] = 1

    @property
    def n_trials(self) -> int:
        return self.correct.shape[1]

    @property
    def n_sessions(self) -> np.ndarray:
        """(subtasks,)"""
        return np.bincount(self.subtask, minlength=len(self.subtasks))

    @cached_property
    def n_participants(self) -> int:
        return len(np.unique(self.participant))

    @cached_property
    def places(self) -> list[np.ndarray]:
        """For each subtask, which sessions are of it."""
        order = np.argsort(self.subtask, kind="stable")
        return np.split(order, np.cumsum(self.n_sessions)[:-1])

    def curves(self) -> Curves:
        counts = [self.correct[place].sum(axis=0) for place in self.places]
        return Curves(np.array(counts), self.n_sessions, self.subtasks, self.n_choices)

    def resample(self, n_replicates: int, rng: np.random.Generator) -> Replicates:
        """Other participants, with all their sessions; other sessions where each is a participant of its own."""
        if self.n_participants == len(self.participant):
            return self.resample_sessions(n_replicates, rng)
        _, unit = np.unique(self.participant, return_inverse=True)
        n_units, shape = int(unit.max()) + 1, (n_replicates, len(self.subtasks))
        drawn = tally(rng.integers(0, n_units, (n_replicates, n_units), dtype=np.uint32), n_units)
        counts, size = np.empty((*shape, self.n_trials), np.float32), np.empty(shape)
        for subtask, n in enumerate(self.n_sessions):
            mine = self.subtask == subtask
            weights = drawn[:, unit[mine]]
            few = np.flatnonzero(weights.sum(axis=1) < 2)  # nearly nobody drawn did it: sessions are drawn instead
            weights[few] = tally(rng.integers(0, n, (len(few), n), dtype=np.uint32), n)
            counts[:, subtask], size[:, subtask] = weights @ self.correct[mine].astype(np.float32), weights.sum(axis=1)
        return Replicates(counts, size, resampled="participants")

    def resample_sessions(
        self, n_replicates: int, rng: np.random.Generator, n_sessions: np.ndarray | None = None
    ) -> Replicates:
        """Other sessions: drawn with replacement within each subtask, as many as there are (or `n_sessions`, (subtasks,))."""
        wanted = self.n_sessions if n_sessions is None else np.asarray(n_sessions)
        counts = np.empty((n_replicates, len(self.subtasks), self.n_trials), np.float32)
        for subtask, n_wanted in enumerate(wanted):
            mine = self.correct[self.subtask == subtask].astype(np.float32)
            kind = np.uint16 if len(mine) <= 2**16 else np.uint32  # half the numbers to draw
            drawn = rng.integers(0, len(mine), (n_replicates, n_wanted), dtype=kind)
            counts[:, subtask] = tally(drawn, len(mine)) @ mine
        return Replicates(counts, wanted, resampled="sessions")

    def of(self, subtasks: tuple[str, ...]) -> Behaviour:
        """Only the sessions of these subtasks, in this order of subtasks."""
        if subtasks == self.subtasks:
            return self
        place = {self.subtasks.index(name): new for new, name in enumerate(_known(subtasks, self.subtasks))}
        keep = np.isin(self.subtask, list(place))
        new = np.array([place[code] for code in self.subtask[keep]], dtype=np.intp)
        return Behaviour(self.correct[keep], new, subtasks, self.participant[keep], self.n_choices)

    @property
    def session_accuracy(self) -> np.ndarray:
        """(sessions,) over trials."""
        return self.correct.mean(axis=1)

    def window(self, start: int, stop: int) -> Behaviour:
        """Only the trials start … stop − 1, counted from 0."""
        return replace(self, correct=self.correct[:, start:stop])

    def renamed(self, subtasks: tuple[str, ...]) -> Behaviour:
        """The same with other names of subtasks, in order."""
        return replace(self, subtasks=subtasks)


Learning = Curves | Behaviour  # what people did, in the detail that is known


@dataclass(frozen=True, eq=False)
class Replicates:
    """Repetitions of an experiment. n_correct: (replicates, subtasks, trials) float32 whole numbers; n_sessions: (subtasks,),
    or (replicates, subtasks) where it varies; resampled: what was drawn, "participants", "sessions" or "trials".
    """

    n_correct: np.ndarray
    n_sessions: np.ndarray
    resampled: str

    def __len__(self) -> int:
        return len(self.n_correct)

    def over_trials(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """(replicates, subtasks) accuracy in trials start … stop − 1, counted from 0."""
        part = self.n_correct[:, :, start:stop]
        total: np.ndarray = part.sum(axis=2, dtype=np.float64) / (self.n_sessions * part.shape[2])
        return total

    @property
    def sizes(self) -> np.ndarray:
        """(replicates, subtasks) sessions."""
        return np.broadcast_to(self.n_sessions, self.n_correct.shape[:2])

    def over_subtasks(self) -> np.ndarray:
        """(replicates, trials) accuracy, each subtask counting the same."""
        return np.einsum("bst,bs->bt", self.n_correct, 1 / (self.sizes * self.n_correct.shape[1]))


@dataclass(frozen=True, eq=False)
class Repeated:
    """What was done, and what repetitions of the experiment might have given: one set of replicates for all scores."""

    curves: Curves
    replicates: Replicates
    learning: Learning

    @property
    def n(self) -> int:
        """How many units it rests on: participants where they were drawn, else sessions."""
        return self.learning.n_participants if self.unit == "participants" else int(self.curves.n_sessions.sum())

    @property
    def unit(self) -> str:
        """What `n` counts: "participants" or "sessions"."""
        return "participants" if self.replicates.resampled == "participants" else "sessions"


def repeat(learning: Learning, *, n_replicates: int = N_REPLICATES, rng: np.random.Generator) -> Repeated:
    """Resample what is known: participants, sessions within subtasks, or trials where there are only counts."""
    return Repeated(learning.curves(), learning.resample(n_replicates, rng), learning)


@njit(cache=True)
def tally(drawn: np.ndarray, n: int) -> np.ndarray:
    """How often each of n was drawn: (replicates, draws) whole numbers below n → (replicates, n) float32."""
    counts = np.zeros((len(drawn), n), np.float32)
    for replicate in range(len(drawn)):
        for draw in range(drawn.shape[1]):
            counts[replicate, drawn[replicate, draw]] += np.float32(1)
    return counts


def _known(wanted: tuple[str, ...], there: tuple[str, ...]) -> tuple[str, ...]:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UserError(f"there are no sessions of {shortened(missing)}: give behaviour in the same subtasks")
    return wanted


def same_subtasks(model: Curves | Behaviour, people: Curves | Behaviour) -> None:
    """What is compared must be the same subtasks, in the same order, over as many trials."""
    if model.subtasks != people.subtasks:
        strange = sorted(set(model.subtasks) ^ set(people.subtasks))
        what = f"differ in {shortened(strange)}" if strange else "come in another order"
        raise UserError(f"the two learned different subtasks (they {what}): compare behaviour in the same subtasks")
    if model.n_trials != people.n_trials:
        raise UserError(
            f"one has {model.n_trials} trials and the other {people.n_trials}: compare sessions of the same length"
        )
    if model.n_choices != people.n_choices:
        raise UserError(
            f"one had {model.n_choices} choices on a trial and the other {people.n_choices}: compare tasks with as many"
        )
    enough_sessions(model)
    enough_sessions(people)


def enough_sessions(side: Curves | Behaviour) -> None:
    """Every subtask needs two sessions, or nothing tells how sure its accuracy is."""
    if not side.subtasks or not side.n_trials:
        raise UserError(
            f"{len(side.subtasks)} subtasks of {side.n_trials} trials contain no data: give at least 1 of both"
        )
    few = [name for name, n in zip(side.subtasks, side.n_sessions, strict=True) if n < 2]
    if few:
        raise UserError(f"{shortened(few)}: fewer than 2 sessions of a subtask, which give no variance: leave them out")
