"""MSE_n: how far a model's learning curves are from people's, without what is due to finitely many sessions.

Scores with intervals, what a perfect model and a guesser would score, and the null test as the paper has it (the default one is
`calibrated`). Before, the model is made to guess with the lapse rate that suits it best (`moments`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar import stats
from exemplar.errors import unknown
from exemplar.learn.measures.calibrated import can_measure, measure_excess
from exemplar.learn.measures.curves import N_REPLICATES, Learning, Repeated, same_subtasks
from exemplar.learn.measures.moments import Moments, fit_lapse, moments_of, mse_n, replicate_moments
from exemplar.records import Score

INTERVALS = ("calibrated", "bootstrap")


@dataclass(frozen=True, eq=False)
class Null:
    """MSE_n of a model that behaves as people do. errors: (replicates,); variant: its form; resampled: "sessions", or "trials"
    where only counts were available (the distribution is then too narrow).
    """

    errors: np.ndarray
    variant: str
    resampled: str

    def p(self, error: float) -> float:
        """How probable so great an MSE_n is for such a model, in (0, 1]."""
        return (1 + int((self.errors >= error).sum())) / (1 + len(self.errors))


def noise_floor(people: Learning) -> float:
    """The MSE_n (`paper`) that a perfect model would reach, from people's sampling variance (Eq. 7)."""
    return float(people.curves().variance.mean())


def score_guessing(people: Learning, variant: str = "paper") -> float:
    """MSE_n of a random guesser, simulated for ever: what any model that learned something must stay below."""
    curves = people.curves()
    b = curves.accuracy - curves.chance
    nothing = np.zeros(())
    return float(mse_n(Moments(nothing, nothing, (b * b).mean(), nothing, curves.variance.mean()), variant))


def score_mse(
    model: Repeated, people: Repeated, *, variant: str = "paper", interval: str = "calibrated", agent: str = ""
) -> dict[str, Score]:
    """mse_n, root_mse_n and lapse_rate with 95 % intervals.

    interval: of mse_n, "calibrated" (in closed form; where there are too few sessions for it, or the model's are not known, the
    other), or "bootstrap", 2 to 3 times too wide near the truth. Resampled curves are noisier than the curves, which moves all
    replicates by as much, so that bootstrap intervals are built from deviations from their own mean. The lapse rate is fitted
    again in each replicate.
    """
    if interval not in INTERVALS:
        raise unknown("interval of MSE_n", interval, INTERVALS)
    same_subtasks(model.curves, people.curves)
    value = moments_of(model.curves, people.curves)
    drawn = replicate_moments(model.replicates, people.replicates, people.curves.chance)
    error, errors = float(mse_n(value, variant)), mse_n(drawn, variant)
    lapse, lapses = float(fit_lapse(value, variant)), fit_lapse(drawn, variant)
    around = stats.interval(errors - errors.mean() + error, error, n=people.n, method="basic")
    if interval == "calibrated" and can_measure(model.learning, people.learning):
        floor = noise_floor(people.curves) if variant == "paper" else 0.0
        ends = [end + floor for end in measure_excess(model.learning, people.learning).interval()]
        around = stats.Estimate(error, ends[0], ends[1], people.n)
    gamma = np.clip(lapse - (np.quantile(lapses, (0.975, 0.025)) - lapses.mean()), 0, 1)
    found = {
        "mse_n": around,
        "root_mse_n": root_of(around),
        "lapse_rate": stats.Estimate(lapse, gamma[0], gamma[1], people.n),
    }
    return {name: Score.of(name, estimate, agent=agent, variant=variant) for name, estimate in found.items()}


def score_limits(
    people: Learning, repeated: Repeated, *, variant: str = "paper", agent: str = "human"
) -> dict[str, Score]:
    """noise_floor and root_noise_floor, which a perfect model reaches (`paper`), and random_guesser_mse_n.

    people: whom models are compared with; repeated: the same with replicates.
    """
    counts, n = repeated.replicates.n_correct, repeated.replicates.sizes[:, :, None]
    chance = repeated.curves.chance
    again = counts / n
    floors = (again * (1 - again) / (n - 1)).mean(axis=(1, 2))
    guesses = ((again - chance) ** 2).mean(axis=(1, 2)) - (floors if variant == "hobj" else 0)
    # A resample is noisier than what it is drawn from, which moves all of them: only their spread is used.
    floor, guess = (
        stats.interval(drawn - drawn.mean() + value, value, n=repeated.n, method="basic")
        for value, drawn in ((noise_floor(people), floors), (score_guessing(people, variant), guesses))
    )
    return {
        "noise_floor": Score.of("noise_floor", floor, agent=agent),
        "root_noise_floor": Score.of("root_noise_floor", root_of(floor), agent=agent),
        "random_guesser_mse_n": Score.of("random_guesser_mse_n", guess, agent=agent, variant=variant),
    }


def score_both_limits(people: Learning, repeated: Repeated, *, agent: str) -> list[Score]:
    """The noise floor, and what a guesser scores in both forms."""
    guesser = score_limits(people, repeated, variant="hobj", agent=agent)["random_guesser_mse_n"]
    return [*score_limits(people, repeated, agent=agent).values(), guesser]


def root_of(error: stats.Estimate) -> stats.Estimate:
    """The square root of a squared error with its interval; by chance it may lie below 0, and its root is 0 then."""
    value, lo, hi = (float(np.sqrt(max(end, 0.0))) for end in (error.value, error.lo, error.hi))
    return stats.Estimate(value, lo, hi, error.n)


def null_distribution(
    people: Learning,
    n_sessions: np.ndarray,
    *,
    variant: str = "paper",
    n_replicates: int = N_REPLICATES,
    rng: np.random.Generator,
) -> Null:
    """People compared with themselves: MSE_n of the true model, simulated `n_sessions` (subtasks,) times.

    In each replicate people's sessions are resampled with replacement twice: as many as people did, and as many as the model
    did; the lapse rate is fitted each time. The distribution serves all models of a study with as many sessions.

    It is the paper's test, for its 50 sessions per subtask, where two errors cancel: its mean is low by (n − 1) / n, and its
    spread too large. With 5 sessions it rejects nearly all true models (docs/results.md); `measure_excess` does not.
    """
    again, as_model = (
        people.resample_sessions(n_replicates, rng),
        people.resample_sessions(n_replicates, rng, n_sessions),
    )
    errors = mse_n(replicate_moments(as_model, again, people.curves().chance), variant)
    return Null(errors, variant, again.resampled)
