"""Do two groups differ in accuracy? People are divided into two groups again at random: if they do not differ, any division
is as likely as the one that was found, so the test holds its level with any number of people and at any accuracy.
"""

from __future__ import annotations

import numpy as np

from exemplar.learn.measures.curves import Behaviour, Learning

N_DIVISIONS = 2000
MOST_NUMBERS = 2**23  # at a time


def exchange_p(
    first: Learning, second: Learning, *, n_divisions: int = N_DIVISIONS, rng: np.random.Generator
) -> float | None:
    """p of no difference in accuracy over subtasks, two-sided; both sides have the same subtasks.

    Sessions change sides within their subtask where each is a participant of its own; else whole participants do. None where
    the sessions are not known, or the sides are made of different things.
    """
    if not (isinstance(first, Behaviour) and isinstance(second, Behaviour)):
        return None
    alone = [side.n_participants == len(side.participant) for side in (first, second)]
    if all(alone):
        return _share_beyond(*_exchange_sessions(first, second, n_divisions, rng))
    return None if any(alone) else _share_beyond(*_exchange_people(first, second, n_divisions, rng))


def _share_beyond(found: float, drawn: np.ndarray) -> float:
    """One division more than were drawn, for the one that was found."""
    return float((1 + (np.abs(drawn) >= abs(found) - 1e-12).sum()) / (1 + len(drawn)))


def _exchange_sessions(
    first: Behaviour, second: Behaviour, n_divisions: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """The difference, a mean over subtasks, in standard errors (Welch's), since groups may vary unequally; and of divisions."""
    difference, error = np.zeros((2, 1 + n_divisions))
    for one, other in zip(first.places, second.places, strict=True):
        mine, theirs = first.session_accuracy[one], second.session_accuracy[other]
        both, n = np.concatenate([mine, theirs]), len(mine)
        step = max(MOST_NUMBERS // len(both), 1)
        for start in range(0, 1 + n_divisions, step):
            rows = min(step, 1 + n_divisions - start)
            dealt = rng.permuted(np.broadcast_to(both, (rows, len(both))), axis=1)
            if start == 0:
                dealt[0] = both
            sides = dealt[:, :n], dealt[:, n:]
            part = slice(start, start + rows)
            difference[part] += sides[0].mean(axis=1) - sides[1].mean(axis=1)
            error[part] += sum(side.var(axis=1) / max(side.shape[1] - 1, 1) for side in sides)
    scaled = difference / np.sqrt(np.maximum(error, 1e-12))
    return float(scaled[0]), scaled[1:]


def _exchange_people(
    first: Behaviour, second: Behaviour, n_divisions: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """The difference, a mean over the subtasks that people on both sides did; and of divisions of all people."""
    tables = [_by_participant(side) for side in (first, second)]
    correct, shown = (np.concatenate(parts) for parts in zip(*tables, strict=True))  # (people, subtasks) each
    n, total = len(tables[0][0]), len(correct)
    chosen = np.zeros((1 + n_divisions, total))
    chosen[0, :n] = 1
    for row in chosen[1:]:
        row[rng.permutation(total)[:n]] = 1
    with np.errstate(invalid="ignore"):
        accuracy = [(side @ correct) / (side @ shown) for side in (chosen, 1 - chosen)]
    difference = np.nanmean(accuracy[0] - accuracy[1], axis=1)
    return float(difference[0]), difference[1:]


def _by_participant(side: Behaviour) -> tuple[np.ndarray, np.ndarray]:
    """(people, subtasks) trials that were right, and trials."""
    names, who = np.unique(side.participant, return_inverse=True)
    correct, shown = np.zeros((2, len(names), len(side.subtasks)))
    np.add.at(correct, (who, side.subtask), side.correct.sum(axis=1))
    np.add.at(shown, (who, side.subtask), side.n_trials)
    return correct, shown
