"""Trials, recorded or simulated, as behaviour: right or wrong, session by session."""

from __future__ import annotations

import numpy as np
import pandas as pd

from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour
from exemplar.learn.tasks import Sessions
from exemplar.records import Trials


def behaviour_of(choice: np.ndarray, sessions: Sessions, subtasks: tuple[str, ...] | None = None) -> Behaviour:
    """Simulated choices (subtasks, sessions, trials) as behaviour; every session is a participant of its own."""
    n_subtasks, n_sessions, n_trials = sessions.shape
    names = subtasks or tuple(f"subtask{number:03d}" for number in range(n_subtasks))
    if len(names) != n_subtasks or choice.shape != sessions.shape:
        raise UserError(f"{len(names)} names and choices {choice.shape} do not belong to sessions {sessions.shape}")
    correct = (choice == sessions.answer).reshape(-1, n_trials)
    who = np.arange(len(correct)).astype(str)
    return Behaviour(correct, np.repeat(np.arange(n_subtasks), n_sessions), names, who, sessions.n_choices)


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
        name, numbers = ordered["session"].iloc[first[wrong[0]]], number[wrong[0]]
        if (numbers == np.arange(n_trials) + 1).all():
            raise UserError(f"trials are numbered 1 to {n_trials} and must be counted from 0: subtract 1 from `trial`")
        raise UserError(
            f"the trials of session {name} are numbered {numbers[0]} to {numbers[-1]}, not 0 to {n_trials - 1}: some are "
            "missing, or numbered twice"
        )
    heads = ordered.iloc[first]
    names = tuple(sorted(str(name) for name in heads["subtask"].unique()))
    code = {name: place for place, name in enumerate(names)}
    return Behaviour(
        ordered["correct"].to_numpy(bool).reshape(-1, n_trials),
        np.array([code[str(name)] for name in heads["subtask"]], dtype=np.intp),
        names,
        heads["participant"].astype(str).to_numpy(),
        count_choices(trials),
    )


def count_choices(trials: Trials) -> int:
    """How many choices a trial has, from the record: as many as objects in the name of its subtask ("A,B"), or as keys that
    were pressed, whichever is more.
    """
    named = {str(name): str(name).count(",") + 1 for name in trials["subtask"].unique()}
    if len(set(named.values())) > 1:
        raise UserError(
            f"subtasks have {min(named.values())} to {max(named.values())} objects, so guessing scores differently in each: "
            "keep those of one kind in a file of their own"
        )
    pressed = trials["choice"].max()
    return max(2, *named.values(), 0 if pd.isna(pressed) else int(pressed) + 1)
