"""Experiment 2: how well one view generalises to each of its transformations, corrected for lapses by catch trials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from exemplar import stats
from exemplar.errors import UserError, shortened, unknown
from exemplar.learn.measures.curves import N_REPLICATES, tally
from exemplar.learn.measures.mse import Null, root_of
from exemplar.learn.tasks import CATCH, TEST, VARIANTS, Sessions
from exemplar.records import Score


@dataclass(frozen=True, eq=False)
class Points:
    """Accuracy on each test, a published aggregate where the sessions themselves are not available.

    accuracy, variance: (tests,) in [0, 1], and the sampling variance of it; tests: names; n_choices: of a trial.
    """

    accuracy: np.ndarray
    variance: np.ndarray
    tests: tuple[str, ...]
    n_choices: int = 2
    experiment: ClassVar[int] = 2
    n_units: ClassVar[int] = 0  # not known
    n_tests: ClassVar[int] = 0

    def points(self) -> Points:
        return self

    def of(self, tests: tuple[str, ...]) -> Points:
        """The same tests in another order; as they are where they are others."""
        if set(tests) != set(self.tests):
            return self
        columns = [self.tests.index(name) for name in tests]
        return replace(self, accuracy=self.accuracy[columns], variance=self.variance[columns], tests=tests)

    def resample(
        self, n_replicates: int, rng: np.random.Generator, n_units: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accuracies and variances (replicates, tests), as normal as their standard errors say: all that points allow."""
        drawn = rng.normal(self.accuracy, np.sqrt(self.variance), (n_replicates, len(self.accuracy)))
        return np.clip(drawn, 0, 1), np.broadcast_to(self.variance, drawn.shape)


@dataclass(frozen=True, eq=False)
class Generalization:
    """Counts, unit by unit (a session, or a participant with all their sessions: what is drawn to tell how sure we are).

    n_correct, n_shown: (units, tests); catch_correct, catch_shown: (units,), all 0 where nobody lapses and nothing is
    corrected; tests: names, "scale | 0.5"; n_choices: of a trial.
    """

    n_correct: np.ndarray
    n_shown: np.ndarray
    catch_correct: np.ndarray
    catch_shown: np.ndarray
    tests: tuple[str, ...]
    n_choices: int = 2
    experiment: ClassVar[int] = 2

    def __len__(self) -> int:
        return len(self.n_correct)

    @property
    def n_units(self) -> int:
        return len(self.n_correct)

    @property
    def n_tests(self) -> int:
        """How many test trials there were."""
        return int(self.n_shown.sum())

    def of(self, tests: tuple[str, ...]) -> Generalization:
        """The same tests in another order; as they are where they are others."""
        if set(tests) != set(self.tests):
            return self
        columns = [self.tests.index(name) for name in tests]
        return replace(self, n_correct=self.n_correct[:, columns], n_shown=self.n_shown[:, columns], tests=tests)

    def without_catch_trials(self) -> Generalization:
        """Taken as they are: nothing is corrected for lapses."""
        nothing = np.zeros_like(self.catch_shown)
        return replace(self, catch_correct=nothing, catch_shown=nothing)

    def points(self) -> Points:
        if not self.tests:
            raise UserError("no image belongs to a test that is scored: give metadata that names transformations")
        columns = self._columns().sum(axis=0)[None]
        empty = [name for name, n in zip(self.tests, self.n_shown.sum(axis=0), strict=True) if n < 2]
        if empty:
            raise UserError(
                f"{shortened(empty)} were shown fewer than twice, which gives no accuracy with a variance: give more sessions"
            )
        accuracy, variance = self._estimates(columns)
        if np.isnan(accuracy).any():
            raise UserError(
                "catch trials were answered no better than by guessing, so nothing can be corrected by them: leave out those "
                "who did not attend"
            )
        return Points(accuracy[0], variance[0], self.tests, self.n_choices)

    def resample(
        self, n_replicates: int, rng: np.random.Generator, n_units: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accuracies and variances (replicates, tests), of units drawn with replacement, as many as there are (or `n_units`);
        lapses are estimated again each time. NaN where the units drawn have no estimate: a test shown never (for a variance,
        not twice), or catch trials answered no better than by guessing.
        """
        columns, sums = self._columns().astype(np.float32), np.empty((n_replicates, 2 * len(self.tests) + 2))
        wanted = n_units or len(self)
        step = max(2**24 // wanted, 1)
        for start in range(0, n_replicates, step):
            drawn = rng.integers(0, len(self), (min(step, n_replicates - start), wanted), dtype=np.uint32)
            sums[start : start + step] = tally(drawn, len(self)) @ columns
        return self._estimates(sums)

    def by(self, participant: np.ndarray) -> Generalization:
        """Units added up by participant, (units,) names: hobj draws people, not sessions."""
        _, code = np.unique(participant, return_inverse=True)
        merged = np.zeros((int(code.max()) + 1, 2 * len(self.tests) + 2))
        np.add.at(merged, code, self._columns())
        k = len(self.tests)
        counts = merged[:, :k], merged[:, k : 2 * k], merged[:, -2], merged[:, -1]
        return Generalization(*counts, self.tests, self.n_choices)

    def _columns(self) -> np.ndarray:
        """(units, 2 · tests + 2): whatever adds up over units."""
        return np.concatenate(
            [self.n_correct, self.n_shown, self.catch_correct[:, None], self.catch_shown[:, None]], axis=1
        )

    def _estimates(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(b, columns) → accuracy and variance (b, tests), relative to catch trials where there are any."""
        k, chance = len(self.tests), 1 / self.n_choices
        n, (caught, shown) = sums[:, k : 2 * k], sums[:, -2:].T
        with np.errstate(divide="ignore", invalid="ignore"):
            accuracy = sums[:, :k] / n
            variance = accuracy * (1 - accuracy) / (n - 1)
            keep = np.where(shown > 0, (caught / shown - chance) / (1 - chance), 1.0)[:, None]  # 1 − lapse rate
        keep = np.where(keep > 0, keep, np.nan)
        return np.clip((accuracy - (1 - keep) * chance) / keep, 0, 1), variance / keep**2


Tested = Generalization | Points  # what was done in Experiment 2, in the detail that is known


def generalization_of(
    choice: np.ndarray, sessions: Sessions, test_of: np.ndarray, tests: tuple[str, ...], *, correct_lapses: bool = False
) -> Generalization:
    """Simulated choices (subtasks, sessions, trials) by test, one unit a session.

    test_of: (objects · images,) or (subtasks, objects · images) which test an image belongs to, −1 for none that is scored;
    correct_lapses: whether to count catch trials. Models do not lapse, so theirs stay out.
    """
    right = (choice == sessions.answer).reshape(-1, sessions.shape[2])
    which = np.broadcast_to(test_of, (sessions.shape[0], sessions.n_choices * sessions.n_images))
    test = np.take_along_axis(which[:, None], sessions.image.astype(np.intp), axis=2).reshape(right.shape)
    test = np.where(sessions.phase == TEST, test, -1)
    catch = np.broadcast_to((sessions.phase == CATCH) & correct_lapses, right.shape)
    return count_tests(right, test, catch, tests, sessions.n_choices)


def count_tests(
    right: np.ndarray, test: np.ndarray, catch: np.ndarray, tests: tuple[str, ...], n_choices: int = 2
) -> Generalization:
    """right, test, catch: (sessions, trials): was it right, which test was it (−1: none), was it a catch trial."""
    n, k = len(right), len(tests)
    unit, trial = np.nonzero(test >= 0)
    place = unit * k + test[unit, trial]
    shown = np.bincount(place, minlength=n * k).reshape(n, k)
    correct = np.bincount(place, weights=right[unit, trial], minlength=n * k).reshape(n, k)
    return Generalization(correct, shown, (right & catch).sum(axis=1), catch.sum(axis=1), tests, n_choices)


def score_generalization(
    model: Tested,
    people: Tested,
    *,
    variant: str = "paper",
    agent: str = "",
    n_replicates: int = N_REPLICATES,
    rng: np.random.Generator,
) -> dict[str, Score]:
    """mse_n and root_mse_n over all tests. No lapse rate is fitted: catch trials have corrected people."""
    own, theirs = model.points(), _same_tests(model, people)
    value = float(_mse_n((own.accuracy, own.variance), (theirs.accuracy, theirs.variance), variant))
    errors = _mse_n(model.resample(n_replicates, rng), people.resample(n_replicates, rng), variant)
    around = interval_about(errors, value, n=len(own.tests))
    found = {"mse_n": around, "root_mse_n": root_of(around)}
    return {name: Score.of(name, estimate, agent=agent, variant=variant) for name, estimate in found.items()}


def score_points(side: Tested, *, agent: str = "human", rng: np.random.Generator) -> tuple[Score, Score]:
    """Experiment 2: accuracy over all tests; and root_noise_floor, the error a perfect model of this side would still have."""
    points, drawn = side.points(), side.resample(N_REPLICATES, rng)[0].mean(axis=1)
    n = len(points.tests)
    around = share_about(drawn, float(points.accuracy.mean()), n=n)
    floor = float(np.sqrt(points.variance.mean()))
    floors = np.sqrt(points.variance[rng.integers(0, n, (N_REPLICATES, n))].mean(axis=1))
    ends = stats.interval(floors, floor, n=n)
    return Score.of("accuracy", around, agent=agent), Score.of("root_noise_floor", ends, agent=agent)


def score_tests(
    result: Tested, *, agent: str = "", n_replicates: int = N_REPLICATES, rng: np.random.Generator
) -> dict[str, Score]:
    """Experiment 2: accuracy over all tests, and over the levels of each transformation."""
    points, drawn = result.points(), result.resample(n_replicates, rng)[0]
    kind = np.array([name.split(" | ")[0] for name in points.tests])
    groups = {"accuracy": np.full(len(kind), True), **{name: kind == name for name in dict.fromkeys(kind.tolist())}}
    scores = {}
    for name, mine in groups.items():
        value, values = float(points.accuracy[mine].mean()), drawn[:, mine].mean(axis=1)
        scores[name] = Score.of(name, share_about(values, value, n=result.n_units or len(points.tests)), agent=agent)
    return scores


def generalization_null(
    people: Tested, model: Tested, *, variant: str = "paper", n_replicates: int = N_REPLICATES, rng: np.random.Generator
) -> Null | None:
    """People compared with themselves: resampled, against so many of them that they took as many tests as the model; None where
    only points are known. It is the paper's test: with hundreds of trials of each test, as published, its level is right.
    """
    if not people.n_units or not model.n_units:
        return None
    n_units = max(round(people.n_units * model.n_tests / people.n_tests), 2)
    return resampled_null(people, n_units, variant=variant, n_replicates=n_replicates, rng=rng)


def resampled_null(
    people: Tested, n_units: int, *, variant: str = "paper", n_replicates: int = N_REPLICATES, rng: np.random.Generator
) -> Null:
    """`generalization_null` with `n_units` of people in the place of the model."""
    again, as_model = people.resample(n_replicates, rng), people.resample(n_replicates, rng, n_units)
    errors = _mse_n(as_model, again, variant)
    return Null(errors[~np.isnan(errors)], variant, "sessions")


def compare_transformations(
    model: Tested,
    people: Tested,
    *,
    n_replicates: int = N_REPLICATES,
    rng: np.random.Generator,
) -> dict[str, dict[str, stats.Estimate]]:
    """For each transformation, over its levels: the accuracies "model" and "people", and their "difference"."""
    own, theirs = model.points(), _same_tests(model, people)
    kind = np.array([name.split(" | ")[0] for name in own.tests])
    drawn = [side.resample(n_replicates, rng)[0] for side in (model, people)]
    found: dict[str, dict[str, stats.Estimate]] = {}
    for name in dict.fromkeys(kind.tolist()):
        mine = kind == name
        value = [float(side.accuracy[mine].mean()) for side in (own, theirs)]
        values = [side[:, mine].mean(axis=1) for side in drawn]
        found[name] = {
            what: (interval_about if what == "difference" else share_about)(v, x, n=len(own.tests))
            for what, x, v in (
                ("model", value[0], values[0]),
                ("people", value[1], values[1]),
                ("difference", value[0] - value[1], values[0] - values[1]),
            )
        }
    return found


def interval_about(drawn: np.ndarray, value: float, *, n: int) -> stats.Estimate:
    """The interval of a value from resamples (replicates,), by their spread alone: resamples are noisier than what they are
    drawn from, and clipped at 1, which moves all of them. Those without a value, NaN, count as the most extreme on both sides.
    """
    missing = np.isnan(drawn)
    if missing.any() and missing.sum() >= 0.025 * (len(drawn) - 1):
        raise UserError(
            f"in {missing.sum()} of {len(drawn)} resamples a test was shown fewer than twice, or catch trials were answered no "
            "better than by guessing, too many for an interval: give more sessions"
        )
    return stats.interval(drawn - np.nanmean(drawn) + value, value, n=n, method="basic")


def share_about(drawn: np.ndarray, value: float, *, n: int) -> stats.Estimate:
    """`interval_about` of an accuracy, which ends at 0 and 1."""
    around = interval_about(drawn, value, n=n)
    return stats.Estimate(around.value, max(around.lo, 0.0), min(around.hi, 1.0), around.n)


def _mse_n(model: tuple[np.ndarray, np.ndarray], people: tuple[np.ndarray, np.ndarray], variant: str) -> np.ndarray:
    """(accuracy, variance) of each, (..., tests) → (...)."""
    if variant not in VARIANTS:
        raise unknown("form of MSE_n", variant, VARIANTS)
    noise = model[1] + people[1] if variant == "hobj" else model[1]
    return ((model[0] - people[0]) ** 2 - noise).mean(axis=-1)


def _same_tests(model: Tested, people: Tested) -> Points:
    if model.tests != people.tests:
        strange = sorted(set(model.tests) ^ set(people.tests))
        what = f"differ in {shortened(strange)}" if strange else "come in another order"
        raise UserError(f"the two took different tests (they {what}): compare the same tests")
    if model.n_choices != people.n_choices:
        raise UserError(
            f"one had {model.n_choices} choices on a trial and the other {people.n_choices}: compare tasks with as many"
        )
    return people.points()
