"""Learning curves: how often a subtask's trials were right, over sessions; and what other sessions would have given.

A bootstrap sample of sessions is a row of counts, so all samples of a subtask are one matrix product. Sums of counts are whole
numbers, exact in float32 whatever the order: the same seed gives the same bytes on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar.errors import UserError, shortened
from exemplar.learn.tasks import Sessions
from exemplar.records import Trials

N_REPLICATES = 1000


@dataclass(frozen=True, eq=False)
class Curves:
    """Counts over sessions. n_correct: (subtasks, trials); n_sessions: (subtasks,); subtasks: their names, in order."""

    n_correct: np.ndarray
    n_sessions: np.ndarray
    subtasks: tuple[str, ...]

    @property
    def n_trials(self) -> int:
        return self.n_correct.shape[1]

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

    def resample(self, n_replicates: int, rng: np.random.Generator, n_sessions: np.ndarray | None = None) -> Replicates:
        """Other sessions, drawn trial by trial: all that counts allow.

        It leaves out that some sessions are better than others on all their trials, so intervals come out too narrow; where
        the sessions themselves are available, resample those (`Behaviour`).
        """
        n = self.n_sessions if n_sessions is None else np.asarray(n_sessions)
        counts = rng.binomial(n[:, None], self.accuracy, (n_replicates, *self.accuracy.shape))
        return Replicates(counts.astype(np.float32), n, resampled="trials")


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What was right, session by session.

    correct: (sessions, trials) bool; subtask: (sessions,) its place in `subtasks`; participant: (sessions,) names.
    """

    correct: np.ndarray
    subtask: np.ndarray
    subtasks: tuple[str, ...]
    participant: np.ndarray

    @property
    def n_trials(self) -> int:
        return self.correct.shape[1]

    @property
    def n_sessions(self) -> np.ndarray:
        """(subtasks,)"""
        return np.bincount(self.subtask, minlength=len(self.subtasks))

    def curves(self) -> Curves:
        counts = [self.correct[self.subtask == code].sum(axis=0) for code in range(len(self.subtasks))]
        return Curves(np.array(counts), self.n_sessions, self.subtasks)

    def resample(self, n_replicates: int, rng: np.random.Generator, n_sessions: np.ndarray | None = None) -> Replicates:
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
        missing = [name for name in subtasks if name not in self.subtasks]
        if missing:
            raise UserError(f"there are no sessions of {shortened(missing)}: give behaviour in the same subtasks")
        place = {self.subtasks.index(name): new for new, name in enumerate(subtasks)}
        keep = np.isin(self.subtask, list(place))
        new = np.array([place[code] for code in self.subtask[keep]], dtype=np.intp)
        return Behaviour(self.correct[keep], new, subtasks, self.participant[keep])


Learning = Curves | Behaviour  # what people did, in the detail that is known


@dataclass(frozen=True, eq=False)
class Replicates:
    """Repetitions of an experiment. n_correct: (replicates, subtasks, trials) float32 whole numbers; n_sessions: (subtasks,);
    resampled: what was drawn, "sessions" or "trials".
    """

    n_correct: np.ndarray
    n_sessions: np.ndarray
    resampled: str

    def __len__(self) -> int:
        return len(self.n_correct)

    def over_trials(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """(replicates, subtasks) accuracy in trials start … stop − 1, counted from 0."""
        part = self.n_correct[:, :, start:stop]
        return part.sum(axis=2, dtype=np.float64) / (self.n_sessions * part.shape[2])

    def over_subtasks(self) -> np.ndarray:
        """(replicates, trials) accuracy, each subtask counting the same."""
        share = (1 / (self.n_sessions * len(self.n_sessions))).astype(np.float64)
        return np.einsum("bst,s->bt", self.n_correct, share)


@dataclass(frozen=True, eq=False)
class Repeated:
    """What was done, and what repetitions of the experiment might have given: one set of replicates for all scores."""

    curves: Curves
    replicates: Replicates

    @property
    def n(self) -> int:
        """How many sessions it rests on."""
        return int(self.curves.n_sessions.sum())


def repeat(learning: Learning, *, n_replicates: int = N_REPLICATES, rng: np.random.Generator) -> Repeated:
    """Resample what is known: sessions within subtasks, or trials where there are only counts."""
    return Repeated(learning.curves(), learning.resample(n_replicates, rng))


@njit(cache=True)
def tally(drawn: np.ndarray, n: int) -> np.ndarray:
    """How often each of n was drawn: (replicates, draws) whole numbers below n → (replicates, n) float32."""
    counts = np.zeros((len(drawn), n), np.float32)
    for replicate in range(len(drawn)):
        for draw in range(drawn.shape[1]):
            counts[replicate, drawn[replicate, draw]] += np.float32(1)
    return counts


def behaviour_of(choice: np.ndarray, sessions: Sessions, subtasks: tuple[str, ...] | None = None) -> Behaviour:
    """Simulated choices (subtasks, sessions, trials) as behaviour; every session is a participant of its own."""
    n_subtasks, n_sessions, n_trials = sessions.shape
    names = subtasks or tuple(f"subtask{number:03d}" for number in range(n_subtasks))
    if len(names) != n_subtasks or choice.shape != sessions.shape:
        raise UserError(f"{len(names)} names and choices {choice.shape} do not belong to sessions {sessions.shape}")
    correct = (choice == sessions.answer).reshape(-1, n_trials)
    return Behaviour(correct, np.repeat(np.arange(n_subtasks), n_sessions), names, np.arange(len(correct)).astype(str))


def behaviour_in(trials: Trials) -> Behaviour:
    """Recorded trials as behaviour. Every session must have as many trials, numbered from 0."""
    frame = trials.frame
    if not len(frame):
        raise UserError("there are no trials: give at least one session")
    keys = ["participant", "subtask", "session"]
    ordered = frame.sort_values([*keys, "trial"], kind="stable")
    session = ordered.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
    size = np.bincount(session)
    n_trials = int(size.max())
    first = np.cumsum(size) - size
    short = np.flatnonzero(size != n_trials)
    if len(short):
        row = ordered.iloc[first[short[0]]]
        raise UserError(
            f"{len(short)} of {len(size)} sessions are cut short (the first, {row['session']}, has {size[short[0]]} of "
            f"{n_trials} trials): leave those sessions out"
        )
    number = ordered["trial"].to_numpy().reshape(-1, n_trials)
    wrong = np.flatnonzero((number != np.arange(n_trials)).any(axis=1))
    if len(wrong):
        name = ordered["session"].iloc[first[wrong[0]]]
        raise UserError(
            f"the trials of session {name} are not numbered 0 to {n_trials - 1}: some are missing or were renumbered"
        )
    heads = ordered.iloc[first]
    names = tuple(sorted(str(name) for name in heads["subtask"].unique()))
    code = {name: place for place, name in enumerate(names)}
    return Behaviour(
        ordered["correct"].to_numpy(bool).reshape(-1, n_trials),
        np.array([code[str(name)] for name in heads["subtask"]], dtype=np.intp),
        names,
        heads["participant"].astype(str).to_numpy(),
    )


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
