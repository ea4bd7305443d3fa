"""Do two groups differ in accuracy, and by how much? The difference in standard errors, beside that of other divisions of the
same people into two groups: if the groups do not differ, any division is as likely as the one that was found, so the test holds
its level with any number of people and at any accuracy; standard errors keep it right where one group varies more than the
other (Janssen 1997). The interval is made of the same divisions: it leaves out 0 where p is below .05.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from exemplar.learn.measures.curves import Behaviour, Learning

N_DIVISIONS = 2000
MOST_NUMBERS = 2**22  # at a time


@dataclass(frozen=True)
class GroupDifference:
    """value: first − second, a mean over subtasks; lo, hi: its 95 % interval; p: of no difference, two-sided; by: what was
    exchanged, "sessions" or "participants", or "t" where the two are made of different things (Welch's test).
    """

    value: float
    lo: float
    hi: float
    p: float
    by: str


def compare_accuracy(
    first: Learning, second: Learning, *, n_divisions: int = N_DIVISIONS, rng: np.random.Generator
) -> GroupDifference:
    """Both sides have the same subtasks. Sessions change sides within their subtask where each is a participant of its own;
    else whole participants do. Counts have neither: their trials are taken to be independent.
    """
    if isinstance(first, Behaviour) and isinstance(second, Behaviour):
        alone = {side.n_participants == len(side.participant) for side in (first, second)}
        if len(alone) == 1:
            exchange, by = (_exchange_sessions, "sessions") if alone.pop() else (_exchange_people, "participants")
            return _from_divisions(*exchange(first, second, n_divisions, rng), _least_error(first, second), by)
    return _welch(first, second)


def _from_divisions(difference: np.ndarray, error: np.ndarray, least: float, by: str) -> GroupDifference:
    """difference, error: (1 + divisions,) the first as it was found."""
    error = np.maximum(error, least)
    scaled = np.round(np.abs(difference) / error, 9)
    beyond = float((scaled >= scaled[0]).mean())  # the division that was found is one of them
    # Near 100 % there are few different divisions, and intervals of them too short: the normal distribution is the least.
    p = max(beyond, 2 * float(ndtr(-scaled[0])))
    limit = max(float(np.quantile(scaled, 0.95, method="inverted_cdf")), float(ndtri(0.975)))
    return _around(float(difference[0]), (limit + 1e-8) * float(error[0]), p, by)  # more than what was rounded


def _around(value: float, reach: float, p: float, by: str) -> GroupDifference:
    return GroupDifference(value, max(value - reach, -1.0), min(value + reach, 1.0), p, by)


def _least_error(first: Learning, second: Learning) -> float:
    """What one answer more or less on each side would change: the least standard error, for where nobody erred."""
    return float(np.sqrt(sum(float(side.n_sessions.sum() * side.n_trials) ** -2 for side in (first, second))))


def _exchange_sessions(
    first: Behaviour, second: Behaviour, n_divisions: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Differences and their standard errors, of the division that was found and of others."""
    difference, squared = np.zeros((2, 1 + n_divisions))
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
            squared[part] += sum(side.var(axis=1) / max(side.shape[1] - 1, 1) for side in sides)
    n_subtasks = len(first.subtasks)
    return difference / n_subtasks, np.sqrt(squared) / n_subtasks


def _exchange_people(
    first: Behaviour, second: Behaviour, n_divisions: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The same, exchanging people with all they did; a subtask counts where people on both sides did it."""
    tables = [_by_participant(side) for side in (first, second)]
    correct, shown = (np.concatenate(parts) for parts in zip(*tables, strict=True))  # (people, subtasks) each
    n, total = len(tables[0][0]), len(correct)
    chosen = np.zeros((1 + n_divisions, total), bool)
    chosen[0, :n] = True
    for row in chosen[1:]:
        row[rng.permutation(total)[:n]] = True
    difference, error = np.empty((2, 1 + n_divisions))
    step = max(MOST_NUMBERS // correct.size, 1)
    for start in range(0, 1 + n_divisions, step):
        part = slice(start, start + step)
        difference[part], error[part] = _compare_divided(chosen[part].astype(float), correct, shown)
    return difference, error


def _compare_divided(chosen: np.ndarray, correct: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """chosen: (divisions, people) 1 for the first group, 0 for the second; correct, shown: (people, subtasks) trials."""
    sides = chosen, 1 - chosen
    both_did = ((sides[0] @ shown) > 0) & ((sides[1] @ shown) > 0)
    weight = both_did / np.maximum(both_did.sum(axis=1, keepdims=True), 1)  # (divisions, subtasks)
    value, squared = np.zeros((2, len(chosen)))
    for sign, side in zip((1, -1), sides, strict=True):
        trials = np.maximum(side @ shown, 1)
        accuracy = (side @ correct) / trials
        value += sign * (weight * accuracy).sum(axis=1)
        # what each person adds to the mean: (right − expected) / trials of the group, over subtasks
        share = weight / trials
        influence = share @ correct.T - (share * accuracy) @ shown.T
        size = side.sum(axis=1)
        squared += np.square(side * influence).sum(axis=1) * size / np.maximum(size - 1, 1)
    return value, np.sqrt(squared)


def _by_participant(side: Behaviour) -> tuple[np.ndarray, np.ndarray]:
    """(people, subtasks) trials that were right, and trials."""
    names, who = np.unique(side.participant, return_inverse=True)
    correct, shown = np.zeros((2, len(names), len(side.subtasks)))
    np.add.at(correct, (who, side.subtask), side.correct.sum(axis=1))
    np.add.at(shown, (who, side.subtask), side.n_trials)
    return correct, shown


def _welch(first: Learning, second: Learning) -> GroupDifference:
    """Two sides that cannot be exchanged, each with the standard error that its own units give: Student's t."""
    value = float(first.curves().accuracy.mean() - second.curves().accuracy.mean())
    parts = [_squared_error(side) for side in (first, second)]
    squared = sum(part for part, _ in parts)
    error = max(float(np.sqrt(squared)), _least_error(first, second))
    doubt = sum(part**2 / freedom for part, freedom in parts)
    freedom = squared**2 / doubt if doubt > 0 else np.inf
    p = 2 * float(stdtr(freedom, -abs(value) / error))
    return _around(value, float(stdtrit(freedom, 0.975)) * error, p, "t")


def _squared_error(side: Learning) -> tuple[float, float]:
    """Of the mean over subtasks, and its degrees of freedom."""
    if not isinstance(side, Behaviour):
        return float(side.variance.sum()) / side.n_correct.size**2, np.inf
    if side.n_participants == len(side.participant):
        parts = [side.session_accuracy[place].var(ddof=1) / len(place) for place in side.places]
        return float(np.sum(parts)) / len(parts) ** 2, float((side.n_sessions - 1).sum())
    correct, shown = _by_participant(side)
    trials = shown.sum(axis=0)
    influence = (correct - correct.sum(axis=0) / trials * shown) @ (1 / trials) / len(trials)
    return float(np.square(influence).sum()) * len(correct) / (len(correct) - 1), len(correct) - 1.0
