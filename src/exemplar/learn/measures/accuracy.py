"""How well, how fast and on what: accuracy early and late, trials to a criterion, and consistency with people."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from exemplar import stats
from exemplar.errors import UserError
from exemplar.learn.measures.curves import Repeated, same_subtasks
from exemplar.records import Score

EARLY = (0, 5)  # trials 1–5, counted from 1
N_LATE = 6  # trials 95–100 of 100
FLAT = "accuracy is the same in all subtasks, or they are fewer than 3: give subtasks that differ"


def trial_windows(n_trials: int) -> dict[str, tuple[int, int]]:
    """Name → first trial, from 0, and the one after the last: accuracy (all), early (1–5), late (the last 6), trial_2 and the
    last trial."""
    windows = {"accuracy": (0, n_trials), "early": EARLY, "late": (max(n_trials - N_LATE, 0), n_trials)}
    return windows | {f"trial_{number}": (number - 1, number) for number in sorted({2, n_trials}) if number <= n_trials}


def learning_curve(side: Repeated) -> stats.Estimate:
    """Accuracy on each trial, (trials,), each subtask counting the same."""
    return stats.interval(side.replicates.over_subtasks(), side.curves.accuracy.mean(axis=0), n=side.n)


def score_accuracy(side: Repeated, *, agent: str = "") -> dict[str, Score]:
    """accuracy, trial_2, the last trial (trial_100), early (1–5), late (the last 6), and the hardest tenth of subtasks."""
    accuracy, drawn, n_trials = side.curves.accuracy, side.replicates, side.curves.n_trials
    windows = trial_windows(n_trials)
    values = {name: accuracy[:, slice(*window)].mean() for name, window in windows.items()}
    replicates = {name: drawn.over_trials(*window).mean(axis=1) for name, window in windows.items()}
    n_hard = max(len(accuracy) // 10, 1)
    hardest = np.argsort(accuracy.mean(axis=1), kind="stable")[:n_hard]  # which they are is not drawn again
    values["hardest_tenth"] = accuracy[hardest].mean()
    replicates["hardest_tenth"] = drawn.over_trials()[:, hardest].mean(axis=1)
    scores = {}
    for name, value in values.items():
        subtasks = hardest if name == "hardest_tenth" else np.arange(len(accuracy))
        scores[name] = Score.of(name, accuracy_interval(replicates[name], value, side, subtasks), agent=agent)
    return scores


def accuracy_interval(replicates: np.ndarray, value: float, side: Repeated, subtasks: np.ndarray) -> stats.Estimate:
    """Of the accuracy in some subtasks, from its replicates. Where nobody made an error, or everyone only errors, no resample
    does otherwise: then each session counts as one trial (Wilson's interval)."""
    around = stats.interval(replicates, value, n=side.n)
    if value not in (0.0, 1.0) or around.lo < around.hi:
        return around
    n = int(side.curves.n_sessions[subtasks].sum())
    ends = stats.proportion(int(value) * n, n)
    return stats.Estimate(value, ends.lo, ends.hi, side.n)


def score_speed(side: Repeated, *, agent: str = "") -> dict[str, Score]:
    """examples_to_75 and examples_to_90_of_final: how many images were seen before the first trial whose mean accuracy is at
    least .75, or .9 of that on the last trial. A criterion that is never reached has no score.
    """
    curve, drawn = side.curves.accuracy.mean(axis=0)[None], side.replicates.over_subtasks()
    scores = {}
    for name, share, of_last in (("examples_to_75", 0.75, False), ("examples_to_90_of_final", 0.9, True)):
        value, values = (
            _examples_before(c, share * c[:, -1] if of_last else np.full(len(c), share)) for c in (curve, drawn)
        )
        if np.isfinite(value[0]):
            late = np.where(np.isnan(values), side.curves.n_trials, values)  # not within the session: after its end
            ends = np.quantile(late, (0.025, 0.975))
            scores[name] = Score.of(name, stats.Estimate(value[0], ends[0], ends[1], side.n), agent=agent)
    return scores


def score_consistency(model: Repeated, people: Repeated, *, agent: str = "") -> dict[str, Score]:
    """consistency: Spearman's correlation of the model's accuracy with people's over subtasks; consistency_ceiling: that
    of people with people, had they done it all again.
    """
    same_subtasks(model.curves, people.curves)
    own, theirs = (side.curves.accuracy.mean(axis=1) for side in (model, people))
    for who, difficulty in (("the model's", own), ("people's", theirs)):
        if len(difficulty) < 3 or np.ptp(difficulty) == 0:
            raise UserError(f"{who} {FLAT}")
    again, them_again = (side.replicates.over_trials() for side in (model, people))
    rho = float(rank_correlation(own[None], theirs[None])[0])
    rhos = rank_correlation(again, them_again)
    repeats = rank_correlation(them_again, np.roll(them_again, 1, axis=0))  # neighbours were drawn independently
    if np.isnan(rhos).all() or np.isnan(repeats).all():
        raise UserError(
            "subtasks are equally hard in every resample, which gives no ranks: give more sessions or trials"
        )
    # Noise in both resamples pulls their correlation towards 0; what counts is how much it varies about its own mean.
    ends = np.clip(rho - (widest_quantiles(rhos)[::-1] - np.nanmean(rhos)), -1, 1)
    limits = widest_quantiles(repeats)
    found = {
        "consistency": stats.Estimate(rho, ends[0], ends[1], len(own)),
        "consistency_ceiling": stats.Estimate(np.nanmean(repeats), limits[0], limits[1], len(own)),
    }
    return {name: Score.of(name, estimate, agent=agent) for name, estimate in found.items()}


def score_ceiling(people: Repeated, *, agent: str = "") -> dict[str, Score]:
    """consistency_ceiling alone: people beside people, had they done it all again."""
    difficulty = people.curves.accuracy.mean(axis=1)
    if len(difficulty) < 3 or np.ptp(difficulty) == 0:
        raise UserError(f"their {FLAT}")
    found = score_consistency(people, people, agent=agent)
    return {"consistency_ceiling": found["consistency_ceiling"]}


def widest_quantiles(correlations: np.ndarray) -> np.ndarray:
    """The 2.5 % and 97.5 % quantiles of correlations (replicates,). One that does not exist, NaN, where a resample has all
    subtasks equally hard, may have been anything: it counts as −1 below and as 1 above.
    """
    missing = np.isnan(correlations)
    low, high = (np.where(missing, end, correlations) for end in (-1.0, 1.0))
    return np.array([np.quantile(low, 0.025), np.quantile(high, 0.975)])


def rank_correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Spearman's correlation row by row: (b, n) with (b, n) → (b,); NaN where a row is constant."""
    a, b = (rankdata(side, axis=1) for side in (first, second))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.einsum("bn,bn->b", a, b) / np.sqrt(np.einsum("bn,bn->b", a, a) * np.einsum("bn,bn->b", b, b))


def _examples_before(curves: np.ndarray, criterion: np.ndarray) -> np.ndarray:
    """(b, trials) and (b,) → (b,) trials before the first at or above the criterion; NaN where there is none."""
    reached = curves >= criterion[:, None] - 1e-12
    return np.where(reached.any(axis=1), reached.argmax(axis=1), np.nan)
