"""People differ: do they, who beats a model, how each of them learned, and whether two populations learn alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from exemplar import stats
from exemplar.errors import UserError, shortened
from exemplar.learn.measures.accuracy import rank_correlation, widest_quantiles
from exemplar.learn.measures.curves import N_REPLICATES, Curves, Learning, repeat
from exemplar.learn.measures.exchanging import compare_accuracy
from exemplar.learn.measures.statespace import SmoothCurves, smooth_curves
from exemplar.records import Score


@dataclass(frozen=True, eq=False)
class Individuals:
    """Those who did every subtask, once. participants: names; accuracy: (people, subtasks) over trials; n_correct: (people,
    trials) over subtasks; n_choices: of a trial.
    """

    participants: tuple[str, ...]
    subtasks: tuple[str, ...]
    accuracy: np.ndarray
    n_correct: np.ndarray
    n_choices: int = 2

    def smooth(self) -> SmoothCurves:
        """Each one's learning curve over subtasks, smoothed by a state-space model."""
        shown = np.full(self.n_correct.shape, len(self.subtasks))
        return smooth_curves(self.n_correct, shown, chance=1 / self.n_choices)


def complete_individuals(people: Learning) -> Individuals:
    """The participants who did all subtasks. A second session in a subtask is an error: it would not be learning for the first
    time."""
    if isinstance(people, Curves):
        raise UserError("counts over sessions do not tell who did what: give the sessions themselves")
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
    who_did = tuple(map(str, names[complete]))
    return Individuals(who_did, people.subtasks, accuracy[complete], n_correct[complete], people.n_choices)


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


def who_outperforms(individuals: Individuals, model: Learning, *, level: float = 0.05) -> dict[str, float]:
    """Participants better than a model, with p (Welch's one-sided t-test on accuracies of sessions, Bonferroni-corrected)."""
    theirs = model.session_accuracy
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
    first: Learning, second: Learning, *, n_replicates: int = N_REPLICATES, rng: np.random.Generator
) -> tuple[dict[str, Score], float]:
    """Two populations (in the lab, online) in the subtasks both did; and p of no difference in overall accuracy.

    accuracy_difference: first − second, with an interval that agrees with p (`compare_accuracy`); consistency: Spearman's
    correlation over subtasks, left out where they are fewer than 3, or one population finds all equally hard. Whole
    participants are drawn, or exchanged, where they are known, since a population is made of them.
    """
    shared = tuple(name for name in first.subtasks if name in second.subtasks)
    if not shared:
        raise UserError("the two populations share no subtasks: give others")
    sides = [side.of(shared) for side in (first, second)]
    value = [side.curves().accuracy.mean(axis=1) for side in sides]
    again = [repeat(side, n_replicates=n_replicates, rng=rng) for side in sides]
    n, found = again[0].n + again[1].n, compare_accuracy(sides[0], sides[1], rng=rng)
    scores = {"accuracy_difference": Score("accuracy_difference", found.value, (found.lo, found.hi), n)}
    rho = float(rank_correlation(value[0][None], value[1][None])[0]) if len(shared) > 2 else np.nan
    if np.isfinite(rho):
        lo, hi = widest_quantiles(rank_correlation(*(side.replicates.over_trials() for side in again)))
        scores["consistency"] = Score("consistency", rho, (min(float(lo), rho), max(float(hi), rho)), n)
    return scores, found.p
