"""MSE_n: how far a model's learning curves are from people's, without what is due to finitely many sessions.

Two forms: "paper" subtracts the model's sampling variance (a perfect model reaches the noise floor), "hobj" subtracts people's
too (a perfect model reaches 0). Before, the model is made to guess with the lapse rate that suits it best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from exemplar import stats
from exemplar.errors import unknown
from exemplar.learn.measures.curves import N_REPLICATES, Curves, Learning, Repeated, Replicates, same_subtasks
from exemplar.learn.tasks import VARIANTS
from exemplar.records import Score


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over all cells (subtask and trial), each a number or (replicates,), with a = model − chance, b = people − chance.

    aa, ab, bb: of a², a·b, b²; model_variance, people_variance: of the sampling variances (Eq. 4).
    """

    aa: np.ndarray
    ab: np.ndarray
    bb: np.ndarray
    model_variance: np.ndarray
    people_variance: np.ndarray


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


def fit_lapse(moments: Moments, variant: str = "paper") -> np.ndarray:
    """The share of trials, in [0, 1], on which the model should guess to come nearest to people.

    "paper" minimises MSE_n, "hobj" the raw mean squared error. Both are parabolas in 1 − lapse.
    """
    _check(variant)
    curvature = moments.aa - moments.model_variance if variant == "paper" else moments.aa
    # Where the parabola opens downwards (a guesser, by chance), its least value in [0, 1] is at one of the ends.
    at_ends = np.where(curvature - 2 * moments.ab <= 0, 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.clip(moments.ab / curvature, 0, 1)
    return 1 - np.where(curvature > 0, inside, at_ends)


def mse_n(moments: Moments, variant: str = "paper", lapse: np.ndarray | float | None = None) -> np.ndarray:
    """MSE_n of moments, after a lapse rate that is fitted unless given. variant: "paper" or "hobj"."""
    _check(variant)
    keep = 1 - (fit_lapse(moments, variant) if lapse is None else np.asarray(lapse))
    error = keep**2 * (moments.aa - moments.model_variance) - 2 * keep * moments.ab + moments.bb
    return error if variant == "paper" else error - moments.people_variance


def score_guessing(people: Learning, variant: str = "paper", chance: float = 0.5) -> float:
    """MSE_n of a random guesser, simulated for ever: what any model that learned something must stay below."""
    curves = people.curves()
    b = curves.accuracy - chance
    nothing = np.zeros(())
    return float(mse_n(Moments(nothing, nothing, (b * b).mean(), nothing, curves.variance.mean()), variant))


def moments_of(model: Curves, people: Curves, chance: float = 0.5) -> Moments:
    """Moments of two sets of curves. chance: accuracy of guessing, 1 / choices."""
    a, b = model.accuracy - chance, people.accuracy - chance
    parts = (a * a, a * b, b * b, model.variance, people.variance)
    return Moments(*(part.mean() for part in parts))


def replicate_moments(model: Replicates, people: Replicates, chance: float = 0.5) -> Moments:
    """Moments of each pair of replicates, (replicates,) each."""
    sums = np.zeros((5, len(model)))
    _sum_moments(model.n_correct, model.n_sessions, people.n_correct, people.n_sessions, chance, sums)
    return Moments(*(sums / np.prod(model.n_correct.shape[1:])))


def score_mse(
    model: Repeated, people: Repeated, *, variant: str = "paper", chance: float = 0.5, agent: str = ""
) -> dict[str, Score]:
    """mse_n, root_mse_n and lapse_rate with 95 % intervals; the lapse rate is fitted again in each replicate.

    Resampled curves are noisier than the curves, which moves all replicates by as much: the interval is built from their
    deviations from their own mean (basic bootstrap).
    """
    same_subtasks(model.curves, people.curves)
    value = moments_of(model.curves, people.curves, chance)
    drawn = replicate_moments(model.replicates, people.replicates, chance)
    error, errors = float(mse_n(value, variant)), mse_n(drawn, variant)
    lapse, lapses = float(fit_lapse(value, variant)), fit_lapse(drawn, variant)
    around = stats.interval(errors - errors.mean() + error, error, n=people.n, method="basic")
    gamma = np.clip(lapse - (np.quantile(lapses, (0.975, 0.025)) - lapses.mean()), 0, 1)
    found = {
        "mse_n": around,
        "root_mse_n": root_of(around),
        "lapse_rate": stats.Estimate(lapse, gamma[0], gamma[1], people.n),
    }
    return {name: Score.of(name, estimate, agent=agent, variant=variant) for name, estimate in found.items()}


def score_limits(
    people: Learning, repeated: Repeated, *, variant: str = "paper", chance: float = 0.5, agent: str = "human"
) -> dict[str, Score]:
    """noise_floor and root_noise_floor, which a perfect model reaches (`paper`), and random_guesser_mse_n.

    people: whom models are compared with; repeated: the same with replicates.
    """
    counts, n = repeated.replicates.n_correct, repeated.replicates.n_sessions[:, None]
    again = counts / n
    floors = (again * (1 - again) / (n - 1)).mean(axis=(1, 2))
    guesses = ((again - chance) ** 2).mean(axis=(1, 2)) - (floors if variant == "hobj" else 0)
    # A resample is noisier than what it is drawn from, which moves all of them: only their spread is used.
    floor, guess = (
        stats.interval(drawn - drawn.mean() + value, value, n=repeated.n, method="basic")
        for value, drawn in ((noise_floor(people), floors), (score_guessing(people, variant, chance), guesses))
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
    chance: float = 0.5,
    n_replicates: int = N_REPLICATES,
    rng: np.random.Generator,
) -> Null:
    """People compared with themselves: MSE_n of the true model, simulated `n_sessions` (subtasks,) times.

    In each replicate people's sessions are resampled with replacement twice: as many as people did, and as many as the model
    did; the lapse rate is fitted each time. The distribution serves all models of a study with as many sessions.

    It is the paper's test, for its 50 sessions per subtask. Resampled people vary less than people, by (n − 1) / n, so with 10
    sessions it rejects most true models; with 50 it rejects 3 % of them (docs/results.md).
    """
    again, as_model = people.resample(n_replicates, rng), people.resample(n_replicates, rng, n_sessions)
    errors = mse_n(replicate_moments(as_model, again, chance), variant)
    return Null(errors, variant, again.resampled)


@njit(cache=True)
def _sum_moments(
    model: np.ndarray, n_model: np.ndarray, people: np.ndarray, n_people: np.ndarray, chance: float, sums: np.ndarray
) -> None:
    """model, people: (replicates, subtasks, trials) counts; sums: (5, replicates) to fill, in float64."""
    for replicate in range(len(model)):
        for subtask in range(model.shape[1]):
            m, h = n_model[subtask], n_people[subtask]
            for trial in range(model.shape[2]):
                x, y = model[replicate, subtask, trial] / m, people[replicate, subtask, trial] / h
                sums[0, replicate] += (x - chance) ** 2
                sums[1, replicate] += (x - chance) * (y - chance)
                sums[2, replicate] += (y - chance) ** 2
                sums[3, replicate] += x * (1 - x) / (m - 1)
                sums[4, replicate] += y * (1 - y) / (h - 1)


def _check(variant: str) -> None:
    if variant not in VARIANTS:
        raise unknown("form of MSE_n", variant, VARIANTS)
