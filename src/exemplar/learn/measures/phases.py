"""A model beside people early and late, on all subtasks and on quarters of them from hard to easy, with tests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import stdtrit

from exemplar import stats
from exemplar.learn.measures.accuracy import accuracy_interval, trial_windows
from exemplar.learn.measures.curves import Behaviour, Repeated, same_subtasks
from exemplar.learn.measures.moments import fit_lapse, moments_of
from exemplar.learn.measures.phase_null import (
    Differences,
    Layout,
    Windows,
    find_differences,
    null_differences,
    session_spread,
)

LEVELS = ("hardest", "hard", "easy", "easiest")
PHASES = ("early", "late")
N_REPLICATES = 1000  # of the null distribution


@dataclass(frozen=True)
class PhaseDifference:
    """Model minus people in one phase of learning ("early", "late") and on subtasks of one difficulty for people ("all" or one
    of LEVELS). model, people, difference: accuracies with intervals; p: of the hypothesis that people learn as the model does,
    two-sided; p_corrected: the same, corrected for all phases and levels that were tested. Both are NaN where only counts of
    the model are known.
    """

    phase: str
    level: str
    model: stats.Estimate
    people: stats.Estimate
    difference: stats.Estimate
    p: float
    p_corrected: float


def compare_phases(
    model: Repeated,
    people: Repeated,
    *,
    lapsing: bool = False,
    n_replicates: int = N_REPLICATES,
    rng: np.random.Generator,
) -> list[PhaseDifference]:
    """Model against people early (trials 1–5) and late (the last 6), on all subtasks and on quarters by how hard they are for
    people. lapsing: the model guesses on the share of trials that suits it best.

    p and the interval of a difference come from one simulation, in which people learn as the model does (`phase_null`), so that
    an interval without 0 and p below .05 are the same thing; but where hardly any of those err, the interval is people's own.
    """
    same_subtasks(model.curves, people.curves)
    if not isinstance(model.learning, Behaviour):
        return _without_test(model, people)
    curves, theirs = model.curves, people.curves
    windows = _windows(model, people)
    lapse = float(fit_lapse(moments_of(curves, theirs))) if lapsing else 0.0
    layout, spread = Layout.of(people.learning), session_spread(model.learning, windows, lapse)
    noise = session_spread(model.learning, windows, 0.0) / curves.n_sessions[:, None]
    mine = windows.means(curves)[:, :2] / windows.widths[:2]
    again = np.stack([model.replicates.over_trials(start, stop) for start, stop in windows.phases], axis=2)
    found = find_differences(people.learning, layout, mine, noise, spread, windows, lapsing)
    null = null_differences(
        model.learning,
        layout,
        again,
        noise,
        spread,
        windows,
        fit=lapsing,
        lapse=lapse,
        n_replicates=n_replicates,
        rng=rng,
    )
    alone = found if not lapsing else find_differences(people.learning, layout, mine, noise, spread, windows, False)
    p = _two_sided(found.scaled, null.scaled)
    around = np.clip(found.value - _reach(null.scaled, layout) * found.error, -1, 1)
    return _rows(found, around, p, _people_intervals(alone, layout, people.n), (model, people), (mine, again))


def _without_test(model: Repeated, people: Repeated) -> list[PhaseDifference]:
    """Counts of a model do not tell how its sessions vary: differences with bootstrap intervals, and no p."""
    windows, groups = _windows(model, people), difficulty_groups(people)
    rows = []
    for (phase, level), (start, stop) in zip(
        product(PHASES, groups), np.repeat(windows.phases, len(groups), axis=0), strict=True
    ):
        own, theirs = (float(side.curves.accuracy[groups[level], start:stop].mean()) for side in (model, people))
        drawn = [side.replicates.over_trials(start, stop)[:, groups[level]].mean(axis=1) for side in (model, people)]
        rows.append(
            PhaseDifference(
                phase=phase,
                level=level,
                model=stats.interval(drawn[0], own, n=model.n),
                people=stats.interval(drawn[1], theirs, n=people.n),
                difference=stats.interval(drawn[0] - drawn[1], own - theirs, n=people.n),
                p=np.nan,
                p_corrected=np.nan,
            )
        )
    return rows


def _windows(model: Repeated, people: Repeated) -> Windows:
    along = model.curves.accuracy - people.curves.chance
    length = float((along * along).sum() - model.curves.variance.sum())
    named = trial_windows(people.curves.n_trials)
    phases = np.minimum([named[phase] for phase in PHASES], people.curves.n_trials)
    n_groups = 1 + len(LEVELS) * (len(people.curves.subtasks) >= len(LEVELS))
    return Windows(phases, along, length, people.curves.chance, n_groups)


def difficulty_groups(people: Repeated) -> dict[str, np.ndarray]:
    """Level ("all", and with four subtasks or more LEVELS) → numbers of its subtasks, by how hard they are for people."""
    order = np.argsort(people.curves.accuracy.mean(axis=1), kind="stable")
    groups = {"all": order}
    if len(order) >= len(LEVELS):
        groups |= dict(zip(LEVELS, np.array_split(order, len(LEVELS)), strict=True))
    return groups


def _rows(
    found: Differences,
    around: np.ndarray,
    p: tuple[np.ndarray, np.ndarray],
    theirs: list[stats.Estimate],
    sides: tuple[Repeated, Repeated],
    own: tuple[np.ndarray, np.ndarray],
) -> list[PhaseDifference]:
    """own: the model's accuracies (subtasks, phases), and replicates of them, before it lapses."""
    model, people = sides
    chance, keep, groups = people.curves.chance, float(found.keep[0]), difficulty_groups(people)
    rows = []
    for number, (phase, level) in enumerate(product(PHASES, groups)):
        mine, drawn = (part[..., groups[level], PHASES.index(phase)].mean(axis=-1) for part in own)
        alone = accuracy_interval(drawn, float(mine), model, groups[level])
        ends = [chance + keep * (end - chance) for end in (alone.lo, alone.hi)]
        rows.append(
            PhaseDifference(
                phase=phase,
                level=level,
                model=stats.Estimate(float(found.own[number]), ends[0], ends[1], model.n),
                people=theirs[number],
                difference=stats.Estimate(found.value[number], around[0, number], around[1, number], people.n),
                p=float(p[0][number]),
                p_corrected=float(p[1][number]),
            )
        )
    return rows


def _reach(null: np.ndarray, layout: Layout) -> np.ndarray:
    """(2, tests) quantiles of differences in standard errors, from a null distribution (replicates, tests). A model that makes
    no errors draws people who make none either, which tells nothing of people who do: an end less than a standard error from
    the middle is Student's t."""
    low, middle, high = np.quantile(null, (0.025, 0.5, 0.975), axis=0)
    far = _student(layout)
    return np.stack([np.where(high - middle < 1, middle + far, high), np.where(middle - low < 1, middle - far, low)])


def _student(layout: Layout) -> float:
    """The 97.5 % quantile with as many degrees of freedom as people give."""
    freedom = float((layout.n - 1).sum()) if layout.alone else layout.n_units - 1.0
    return float(stdtrit(max(freedom, 1.0), 0.975))


def _people_intervals(found: Differences, layout: Layout, n: int) -> list[stats.Estimate]:
    """Of people's accuracies, by Student's t; they have a width where nobody made an error, too."""
    reach = _student(layout) * np.sqrt(found.spread)
    ends = np.clip([found.theirs - reach, found.theirs + reach], 0, 1).T
    return [stats.Estimate(value, lo, hi, n) for value, (lo, hi) in zip(found.theirs, ends, strict=True)]


def _two_sided(found: np.ndarray, null: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(tests,) twice the smaller share of replicates on either side of what was found; and that corrected for all tests: how
    often the farthest out of them is as far out under the null hypothesis (Westfall & Young 1993). null: (replicates, tests).
    """
    found, null = np.round(found, 9), np.round(null, 9)  # sums of the same numbers in another order are equal
    n = len(null)
    beyond = np.minimum((null >= found).sum(axis=0), (null <= found).sum(axis=0)) + 1
    p = np.minimum(2 * beyond / (1 + n), 1.0)
    low, middle, high = np.quantile(null, (0.025, 0.5, 0.975), axis=0)
    least = np.maximum(null.std(axis=0), 1e-9)  # where hardly any replicate differs from the others
    below, above = np.maximum(middle - low, least), np.maximum(high - middle, least)

    def distance(values: np.ndarray) -> np.ndarray:
        """From the middle, 1 where 2.5 % of replicates are farther out on that side."""
        return np.maximum((middle - values) / below, (values - middle) / above)

    farthest = np.sort(distance(null).max(axis=1))
    corrected = (1 + n - np.searchsorted(farthest, distance(found) - 1e-9)) / (1 + n)
    return p, np.maximum(corrected, p)
