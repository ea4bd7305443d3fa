"""People differ: do they, who beats a model, how each of them learned, and whether two populations learn alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from exemplar import stats
from exemplar.errors import UserError, shortened
from exemplar.learn.measures.accuracy import rank_correlation, two_sided_p, widest_quantiles
from exemplar.learn.measures.curves import N_REPLICATES, Behaviour
from exemplar.learn.measures.statespace import SmoothCurves, smooth_curves
from exemplar.records import Score


@dataclass(frozen=True, eq=False)
class Individuals:
    """Those who did every subtask, once. participants: names; accuracy: (people, subtasks) over trials; n_correct: (people,
    trials) over subtasks.
    """

    participants: tuple[str, ...]
    subtasks: tuple[str, ...]
    accuracy: np.ndarray
    n_correct: np.ndarray

    def smooth(self) -> SmoothCurves:
        """Each one's learning curve over subtasks, smoothed by a state-space model."""
        return smooth_curves(self.n_correct, np.full(self.n_correct.shape, len(self.subtasks)))


def complete_individuals(people: Behaviour) -> Individuals:
    """The participants who did all subtasks. A second session in a subtask is an error: it would not be learning for the first
    time."""
    names, who = np.unique(people.participant, return_inverse=True)
    n_done = np.zeros((len(names), len(people.subtasks)), int)
    np.add.at(n_done, (who, people.subtask), 1)
    again = names[(n_done > 1).any(axis=1)]
    if len(again):
        raise UserError(f"{shortened(again)} did a subtask more than once: keep each participant's first session")
    complete = np.flatnonzero((n_done == 1).all(axis=1))
    if not len(complete):
        raise UserError(
            f"none of {len(names)} participants did all {len(people.subtasks)} subtasks: choose fewer subtasks"
        )
    accuracy = np.zeros(n_done.shape)
    accuracy[who, people.subtask] = people.correct.mean(axis=1)
    n_correct = np.zeros((len(names), people.n_trials))
    np.add.at(n_correct, who, people.correct)
    return Individuals(tuple(map(str, names[complete])), people.subtasks, accuracy[complete], n_correct[complete])


def individuality_test(
    individuals: Individuals, *, n_permutations: int = 10_000, rng: np.random.Generator
) -> stats.PermutationTest:
    """Do some learn better than others? statistic: the variance of overall accuracies; within each subtask, accuracies are
    dealt to people again at random. One-sided.
    """
    table = individuals.accuracy
    n_people, n_subtasks = table.shape
    if n_people < 2:
        raise UserError("one participant cannot differ from others: give at least 2 who did all subtasks")
    observed = table.mean(axis=1).var(ddof=1)
    n_greater, step = 0, max(2**21 // table.size, 1)
    for start in range(0, n_permutations, step):
        rows = min(step, n_permutations - start)
        dealt = rng.permuted(np.broadcast_to(table.T, (rows, n_subtasks, n_people)), axis=2)
        n_greater += int((dealt.mean(axis=1).var(axis=1, ddof=1) >= observed - 1e-15).sum())
    return stats.PermutationTest(float(observed), (1 + n_greater) / (1 + n_permutations), n_permutations, exact=False)


def who_outperforms(individuals: Individuals, model: Behaviour, *, level: float = 0.05) -> dict[str, float]:
    """Participants better than a model, with p (Welch's one-sided t-test on accuracies of sessions, Bonferroni-corrected)."""
    theirs = model.correct.mean(axis=1)
    if len(theirs) < 2 or individuals.accuracy.shape[1] < 2:
        raise UserError("Welch's test needs at least 2 sessions of each: give more")
    mine = individuals.accuracy
    parts = mine.var(axis=1, ddof=1) / mine.shape[1], theirs.var(ddof=1) / len(theirs)
    error = np.maximum(parts[0] + parts[1], 1e-300)
    freedom = error**2 / np.maximum(parts[0] ** 2 / (mine.shape[1] - 1) + parts[1] ** 2 / (len(theirs) - 1), 1e-300)
    p = stdtr(freedom, -(mine.mean(axis=1) - theirs.mean()) / np.sqrt(error))
    adjusted = stats.adjust_p(p, "bonferroni")
    return {name: float(q) for name, q in zip(individuals.participants, adjusted, strict=True) if q < level}


def compare_populations(
    first: Behaviour, second: Behaviour, *, n_replicates: int = N_REPLICATES, rng: np.random.Generator
) -> tuple[dict[str, Score], float]:
    """Two populations (in the lab, online) in the subtasks both did; and p of no difference in overall accuracy.

    accuracy_difference: first − second; consistency: Spearman's correlation over subtasks, left out where one population finds
    all equally hard. Whole people are drawn, since a population is made of them.
    """
    shared = tuple(name for name in first.subtasks if name in second.subtasks)
    if len(shared) < 3:
        raise UserError(f"the two populations share {len(shared)} subtasks, at least 3 are needed: give others")
    sides = [side.of(shared) for side in (first, second)]
    value = [side.curves().accuracy.mean(axis=1) for side in sides]
    drawn = [_by_participant(side, n_replicates, rng) for side in sides]
    difference = np.nanmean(drawn[0], axis=1) - np.nanmean(drawn[1], axis=1)
    whole = ~np.isnan(drawn[0]).any(axis=1) & ~np.isnan(drawn[1]).any(axis=1)  # some draw left nobody in a subtask
    rho = float(rank_correlation(value[0][None], value[1][None])[0])
    rhos = np.full(n_replicates, np.nan)
    rhos[whole] = rank_correlation(drawn[0][whole], drawn[1][whole])
    n = len(np.unique(sides[0].participant)) + len(np.unique(sides[1].participant))
    gap = float(value[0].mean() - value[1].mean())
    around = stats.interval(difference, gap, n=n)
    scores = {"accuracy_difference": Score.of("accuracy_difference", around)}
    if np.isfinite(rho):
        lo, hi = widest_quantiles(rhos)
        scores["consistency"] = Score("consistency", rho, (min(float(lo), rho), max(float(hi), rho)), n)
    return scores, two_sided_p(difference)


def _by_participant(people: Behaviour, n_replicates: int, rng: np.random.Generator) -> np.ndarray:
    """(replicates, subtasks) accuracy over sessions of people drawn with replacement; NaN where nobody drawn did a subtask."""
    names, who = np.unique(people.participant, return_inverse=True)
    right, n = np.zeros((len(names), len(people.subtasks))), np.zeros((len(names), len(people.subtasks)))
    np.add.at(right, (who, people.subtask), people.correct.mean(axis=1))
    np.add.at(n, (who, people.subtask), 1)
    weights = stats.resample(len(names), n_replicates, rng=rng)
    with np.errstate(invalid="ignore"):
        return (weights @ right) / (weights @ n)
