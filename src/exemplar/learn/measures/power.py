"""Power: how many people, and how many subtasks, it takes to tell one model from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exemplar import stats
from exemplar.errors import UserError
from exemplar.learn.measures.calibrated import measure_excess
from exemplar.learn.measures.curves import Behaviour, same_subtasks
from exemplar.learn.measures.moments import moments_of, mse_n
from exemplar.learn.measures.noise import FEWEST, SessionCovariance, session_covariance

LEVEL = 0.05


@dataclass(frozen=True)
class Power:
    """Of experiments with people who learn as `true` does. recovery: the share in which `true` comes nearer to them than
    `other` (.5 is guessing); rejection: the share in which the calibrated null test at 5 % rejects `other`; level: in which it
    rejects `true`, which should be 5 %. n_people: sessions of each subtask, each by someone else.
    """

    n_people: int
    n_subtasks: int
    recovery: stats.Estimate
    rejection: stats.Estimate
    level: stats.Estimate


def power_to_tell_apart(
    true: Behaviour,
    other: Behaviour,
    *,
    n_people: Sequence[int] = (5, 10, 20, 50),
    n_subtasks: Sequence[int] | None = None,
    lapse: float = 0.0,
    n_experiments: int = 200,
    rng: np.random.Generator,
) -> list[Power]:
    """Power of each design. true, other: many simulated sessions of two models; n_people: sessions per subtask; n_subtasks: a
    quarter, a half and all of those there are, unless given; lapse: share of trials on which people guess.

    Each experiment draws its subtasks and its people again: sessions of `true`, which both models then lack, the other as well:
    two runs with one seed show the same images in sessions of the same number, and whoever shares sessions with people has an
    advantage no model has.
    """
    same_subtasks(true, other)
    some = n_subtasks or sorted({max(len(true.subtasks) // part, 1) for part in (4, 2, 1)})
    wanted, fewest = max(n_people) + FEWEST, int(min(true.n_sessions.min(), other.n_sessions.min()))
    if fewest < wanted:
        raise UserError(
            f"{max(n_people)} people are drawn from a model's sessions, of which there are {fewest} of a subtask: simulate at "
            f"least {wanted}, better ten times as many"
        )
    if min(n_people) < FEWEST or max(some) > len(true.subtasks) or min(some) < 1:
        raise UserError(
            f"designs need at least {FEWEST} people, and 1 to {len(true.subtasks)} subtasks: change the numbers of people or "
            "subtasks"
        )
    if not 0 <= lapse < 1:
        raise UserError(f"people cannot lapse on {lapse} of the trials: give 0 to below 1")
    models = [session_covariance(side) for side in (true, other)]
    runs = [true, other]
    return [_design(runs, models, n, k, lapse, n_experiments, rng) for n in n_people for k in some]


def _design(
    runs: list[Behaviour],
    models: list[SessionCovariance],
    n_people: int,
    n_subtasks: int,
    lapse: float,
    n_experiments: int,
    rng: np.random.Generator,
) -> Power:
    """runs, models: the true one, with all its sessions, and the other."""
    true, most = runs[0], np.minimum(*(run.n_sessions for run in runs))
    nearer, rejected, level = np.zeros((3, n_experiments), bool)
    for place in range(n_experiments):
        chosen = np.sort(rng.permutation(len(true.subtasks))[:n_subtasks])
        numbers = [rng.permutation(most[subtask])[:n_people] for subtask in chosen]
        drawn = [[run.places[s][number] for s, number in zip(chosen, numbers, strict=True)] for run in runs]
        people = _people(true, chosen, drawn[0], lapse, rng)
        sides = [
            _without(_only(model, chosen), np.array([run.correct[some].sum(axis=0) for some in places]), n_people)
            for model, run, places in zip(models, runs, drawn, strict=True)
        ]
        error = [float(mse_n(moments_of(side.curves, people.curves()))) for side in sides]
        nearer[place] = error[0] < error[1] or (error[0] == error[1] and rng.random() < 0.5)  # ties go either way
        level[place], rejected[place] = (measure_excess(side, people).p < LEVEL for side in sides)
    shares = (stats.proportion(int(hits.sum()), n_experiments) for hits in (nearer, rejected, level))
    return Power(n_people, n_subtasks, *shares)


def _people(
    true: Behaviour, chosen: np.ndarray, drawn: list[np.ndarray], lapse: float, rng: np.random.Generator
) -> Behaviour:
    """People in some subtasks, each doing one of the sessions drawn, with lapses."""
    sessions = np.concatenate(drawn)
    right, guess = true.correct[sessions], rng.random((len(sessions), true.n_trials))
    correct = np.where(guess < lapse, guess < lapse / true.n_choices, right)
    names = tuple(true.subtasks[subtask] for subtask in chosen)
    subtask = np.repeat(np.arange(len(chosen)), len(drawn[0]))
    return Behaviour(correct, subtask, names, np.arange(len(sessions)).astype(str), true.n_choices)


def _without(model: SessionCovariance, n_correct: np.ndarray, n: int) -> SessionCovariance:
    """A model without n sessions of each subtask, in which n_correct (subtasks, trials) were right."""
    curves = model.curves
    left = replace(curves, n_correct=curves.n_correct - n_correct, n_sessions=curves.n_sessions - n)
    return replace(model, curves=left)


def _only(model: SessionCovariance, chosen: np.ndarray) -> SessionCovariance:
    names = tuple(model.curves.subtasks[subtask] for subtask in chosen)
    return SessionCovariance(model.curves.of(names), model.sigma[chosen], model.square[chosen])
