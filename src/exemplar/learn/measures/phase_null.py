"""Differences between a model and people by phase and difficulty, and the same for people who learn as the model does.

Quarters of the subtasks are chosen by people's own accuracy, so chance decides with ability which subtask is called hard, and
in the easiest quarter people may make no error at all. The null distribution therefore repeats the whole procedure: sessions
are drawn from the model's, guess on a share of their trials where a lapse rate is fitted, are divided into quarters by their
own accuracy, and are compared as people's are, in standard errors found from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar.learn.measures.curves import Behaviour, Learning

ALL, ALONG = 2, 3  # places of a session's sums, after those of the two phases
PRIOR = 0.25  # degrees of freedom of the variance expected of people who learn as the model does


@dataclass(frozen=True, eq=False)
class Windows:
    """What a session is reduced to. phases: (2, 2) first trial and the one after the last, of early and late; along: (subtasks,
    trials) model − chance, the direction along which a lapse rate moves curves; length: its squared length, without what the
    model's sampling adds; chance: accuracy of guessing; n_groups: all subtasks, or all and four quarters.
    """

    phases: np.ndarray
    along: np.ndarray
    length: float
    chance: float
    n_groups: int

    @property
    def widths(self) -> np.ndarray:
        """(3,) trials of the two phases and of a session."""
        return np.array([*(self.phases[:, 1] - self.phases[:, 0]), self.along.shape[1]], np.float64)

    def sums(self, side: Behaviour) -> np.ndarray:
        """(sessions, 4) right early, late and in all, and the sum along the direction."""
        right = side.correct
        parts = [right[:, start:stop].sum(axis=1) for start, stop in self.phases]
        along = np.einsum("nt,nt->n", right.astype(np.float64), self.along[side.subtask])
        return np.stack([*parts, right.sum(axis=1), along], axis=1).astype(np.float64)

    def means(self, side: Learning) -> np.ndarray:
        """(subtasks, 4) the same, averaged over sessions; counts suffice."""
        accuracy = side.curves().accuracy
        parts = [accuracy[:, start:stop].sum(axis=1) for start, stop in self.phases]
        return np.stack([*parts, accuracy.sum(axis=1), (accuracy * self.along).sum(axis=1)], axis=1)


@dataclass(frozen=True, eq=False)
class Layout:
    """Who did what. subtask, unit: (sessions,) numbers; n: (subtasks,) sessions; n_units: participants; alone: whether each did
    one session; known: whether sessions are known, or only counts."""

    subtask: np.ndarray
    unit: np.ndarray
    n: np.ndarray
    n_units: int
    alone: bool
    known: bool

    @classmethod
    def of(cls, side: Learning) -> Layout:
        n = np.asarray(side.n_sessions, np.int64)
        if isinstance(side, Behaviour):
            names, unit = np.unique(side.participant, return_inverse=True)
            alone = len(names) == len(unit)
            return cls(side.subtask.astype(np.int64), unit.astype(np.int64), n, len(names), alone, True)
        subtask = np.repeat(np.arange(len(n)), n)
        return cls(subtask, np.arange(len(subtask)), n, len(subtask), True, False)


@dataclass(frozen=True, eq=False)
class Differences:
    """Model − people, phase by phase, over all subtasks and each quarter: (..., 2 · groups). error: standard errors; own,
    theirs: the two accuracies; spread: people's part of the squared error; keep: (...,) 1 − lapse."""

    value: np.ndarray
    error: np.ndarray
    own: np.ndarray
    theirs: np.ndarray
    spread: np.ndarray
    keep: np.ndarray

    @property
    def scaled(self) -> np.ndarray:
        return self.value / self.error


def session_spread(model: Behaviour, windows: Windows, lapse: float) -> np.ndarray:
    """(subtasks, 2) variance of a session's accuracy in each phase, if it is the model's and guesses on a share of trials."""
    sums, widths = windows.sums(model)[:, :2], windows.widths[:2]
    stays, turns = 1 - lapse * (1 - windows.chance), lapse * windows.chance  # right after right, and after wrong
    found = np.empty((len(model.subtasks), 2))
    for subtask, place in enumerate(model.places):
        mine = sums[place]
        mean, between = mine.mean(axis=0), mine.var(axis=0, ddof=1)
        chance = mean * stays * (1 - stays) + (widths - mean) * turns * (1 - turns)
        found[subtask] = ((1 - lapse) ** 2 * between + chance) / widths**2
    return found


def find_differences(
    people: Learning,
    layout: Layout,
    own: np.ndarray,
    noise: np.ndarray,
    spread: np.ndarray,
    windows: Windows,
    fit: bool,
) -> Differences:
    """Of people themselves. own: (subtasks, 2) the model's accuracy in each phase; noise: (subtasks, 2) its sampling variance;
    spread: of `session_spread`; fit: whether a lapse rate is fitted."""
    found = _tables(1, windows)
    sums = windows.sums(people) if isinstance(people, Behaviour) else np.zeros((1, 4))
    _compare(windows.means(people), sums, layout.subtask, layout.unit, layout.n, layout.n_units, layout.alone,
             layout.known, own, noise, spread, windows.along.sum(axis=1), windows.length, windows.chance, windows.widths,
             windows.n_groups, fit, *(table[0] for table in found))  # fmt: skip
    return Differences(*(table[0] for table in found))


def null_differences(
    model: Behaviour, layout: Layout, own: np.ndarray, noise: np.ndarray, spread: np.ndarray, windows: Windows,
    *, fit: bool, lapse: float, n_replicates: int, rng: np.random.Generator,
) -> Differences:  # fmt: skip
    """Of people who learn as the model does and lapse, over and over. own: (replicates, subtasks, 2) resampled."""
    found = _tables(n_replicates, windows)
    order = np.concatenate(model.places)
    start = np.concatenate([[0], np.cumsum(model.n_sessions)]).astype(np.int64)
    _repeat(model.correct[order], windows.sums(model)[order], start, windows.phases, windows.along, lapse, rng,
            layout.subtask, layout.unit, layout.n, layout.n_units, layout.alone, layout.known, own, noise, spread,
            windows.length, windows.chance, windows.widths, windows.n_groups, fit, *found)  # fmt: skip
    return Differences(*found)


def _tables(n: int, windows: Windows) -> list[np.ndarray]:
    return [*np.zeros((5, n, 2 * windows.n_groups)), np.zeros((n, 1))]


@njit(cache=True, nogil=True)
def _repeat(
    right: np.ndarray, sums: np.ndarray, start: np.ndarray, phases: np.ndarray, along: np.ndarray, lapse: float,
    rng: np.random.Generator, subtask: np.ndarray, unit: np.ndarray, n: np.ndarray, n_units: int, alone: bool,
    known: bool, own: np.ndarray, noise: np.ndarray, spread: np.ndarray, length: float, chance: float,
    widths: np.ndarray, n_groups: int, fit: bool, value: np.ndarray, error: np.ndarray, mine: np.ndarray,
    theirs: np.ndarray, parts: np.ndarray, keep: np.ndarray,
) -> None:  # fmt: skip
    n_sessions, n_subtasks, n_trials = len(subtask), len(n), along.shape[1]
    total = along.sum(axis=1)
    drawn, means = np.empty((n_sessions, 4)), np.empty((n_subtasks, 4))
    skip = np.log1p(-lapse) if lapse < 1 else -np.inf
    for replicate in range(len(value)):
        means[:] = 0
        for session in range(n_sessions):
            s = subtask[session]
            which = start[s] + int(rng.random() * (start[s + 1] - start[s]))
            drawn[session] = sums[which]
            if lapse > 0:
                trial = int(np.log(1 - rng.random()) / skip)  # trials until the next guess
                while trial < n_trials:
                    guess = rng.random() < chance
                    if guess != right[which, trial]:
                        step = 1.0 if guess else -1.0
                        for phase in range(2):
                            if phases[phase, 0] <= trial < phases[phase, 1]:
                                drawn[session, phase] += step
                        drawn[session, ALL] += step
                        drawn[session, ALONG] += step * along[s, trial]
                    trial += 1 + int(np.log(1 - rng.random()) / skip)
            means[s] += drawn[session] / n[s]
        _compare(means, drawn, subtask, unit, n, n_units, alone, known, own[replicate % len(own)], noise, spread, total,
                 length, chance, widths, n_groups, fit, value[replicate], error[replicate], mine[replicate],
                 theirs[replicate], parts[replicate], keep[replicate])  # fmt: skip


@njit(cache=True, nogil=True)
def _compare(
    means: np.ndarray, sums: np.ndarray, subtask: np.ndarray, unit: np.ndarray, n: np.ndarray, n_units: int,
    alone: bool, known: bool, own: np.ndarray, noise: np.ndarray, spread: np.ndarray, total: np.ndarray,
    length: float, chance: float, widths: np.ndarray, n_groups: int, fit: bool, value: np.ndarray, error: np.ndarray,
    mine: np.ndarray, theirs: np.ndarray, parts: np.ndarray, keep: np.ndarray,
) -> None:  # fmt: skip
    """means: (subtasks, 4), sums: (sessions, 4) of `Windows`; total: (subtasks,) of the direction; fills one row of each
    table."""
    n_subtasks = len(n)
    level, size = np.zeros(n_subtasks, np.int64), np.zeros(n_groups)
    size[0] = n_subtasks
    if n_groups > 1:
        order = np.argsort(means[:, ALL], kind="mergesort")
        quarter, rest = n_subtasks // 4, n_subtasks % 4
        place = 0
        for group in range(4):  # as np.array_split divides
            count = quarter + (1 if group < rest else 0)
            size[group + 1] = count
            for subtask_ in order[place : place + count]:
                level[subtask_] = group + 1
            place += count
    keep[0], moving = 1.0, 0.0
    if fit:
        product = 0.0
        for s in range(n_subtasks):
            product += means[s, ALONG] - chance * total[s]
        fitted = product / length if length > 0 else 0.0
        keep[0] = min(max(fitted, 0.0), 1.0)
        moving = 1.0 if 0 < fitted < 1 else 0.0
    value[:], error[:], mine[:], theirs[:], parts[:] = 0, 0, 0, 0, 0
    model_part, prior = np.zeros(len(value)), np.zeros(len(value))
    for s in range(n_subtasks):
        for phase in range(2):
            lapsing = chance + keep[0] * (own[s, phase] - chance)
            for group in range(n_groups):
                if group not in (0, level[s]):
                    continue
                k = phase * n_groups + group
                mine[k] += lapsing / size[group]
                theirs[k] += means[s, phase] / widths[phase] / size[group]
                model_part[k] += keep[0] ** 2 * noise[s, phase] / size[group] ** 2
                prior[k] += spread[s, phase] / n[s] / size[group] ** 2
    if known:
        _spread_of_units(means, sums, subtask, unit, n, n_units, alone, widths, n_groups, level, size,
                         moving / length if length > 0 else 0.0, mine, chance, keep[0], prior, parts)  # fmt: skip
    else:
        parts[:] = prior
    for k in range(len(value)):
        value[k] = mine[k] - theirs[k]
        error[k] = np.sqrt(max(parts[k] + model_part[k], 1e-12))


@njit(cache=True, nogil=True)
def _spread_of_units(
    means: np.ndarray, sums: np.ndarray, subtask: np.ndarray, unit: np.ndarray, n: np.ndarray, n_units: int,
    alone: bool, widths: np.ndarray, n_groups: int, level: np.ndarray, size: np.ndarray, moving: float,
    mine: np.ndarray, chance: float, keep: float, prior: np.ndarray, parts: np.ndarray,
) -> None:  # fmt: skip
    """People's part of the squared error, from the influence of each participant, and for a small part from how the model's
    sessions vary: so it is not 0 where nobody made an error."""
    share = np.zeros((n_units, len(parts)))
    along, seen = np.zeros(n_units), np.zeros((n_units, n_groups), np.bool_)
    for session in range(len(subtask)):
        s, u = subtask[session], unit[session]
        scale = np.sqrt(n[s] / (n[s] - 1)) / n[s]
        along[u] += scale * (sums[session, ALONG] - means[s, ALONG])
        seen[u, 0], seen[u, level[s]] = True, True
        for phase in range(2):
            part = scale * (sums[session, phase] - means[s, phase]) / widths[phase]
            share[u, phase * n_groups] += part / size[0]
            if n_groups > 1:
                k = phase * n_groups + level[s]
                share[u, k] += part / size[level[s]]
    for phase in range(2):
        for group in range(n_groups):
            k = phase * n_groups + group
            # how far a change of the fitted lapse rate moves the model's accuracy
            pull = moving * (mine[k] - chance) / keep if keep > 0 else 0.0
            total, freedom = 0.0, -1.0
            for u in range(n_units):
                total += (share[u, k] - pull * along[u]) ** 2
                freedom += seen[u, group]
            if alone:
                freedom += 1 - size[group]
            parts[k] = (freedom * total + PRIOR * prior[k]) / (freedom + PRIOR)
