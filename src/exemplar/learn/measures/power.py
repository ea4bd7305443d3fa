"""Power: how many people, and how many subtasks, it takes to tell one model from another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour, Replicates, same_subtasks
from exemplar.learn.measures.moments import mse_n, replicate_moments


@dataclass(frozen=True)
class Power:
    """Of experiments with people who learn as `true` does: recovery, the share in which `true` comes nearer to them than
    `other` (.5 is guessing); rejection, the share in which the null test at 5 % rejects `other`.
    """

    n_people: int
    n_subtasks: int
    recovery: float
    rejection: float


def power_to_tell_apart(
    true: Behaviour,
    other: Behaviour,
    *,
    n_people: tuple[int, ...] = (5, 10, 20, 50),
    n_subtasks: tuple[int, ...] = (8, 16, 32, 64),
    variant: str = "paper",
    n_experiments: int = 500,
    rng: np.random.Generator,
) -> list[Power]:
    """Power of each design. true, other: many simulated sessions of two models; n_people: sessions per subtask.

    Each experiment draws its subtasks, its people and the sessions of both models again. People come from one half of the
    sessions of `true`, and its own from the other: who shares sessions with people has an advantage no model has.
    """
    same_subtasks(true, other)
    if min(true.n_sessions.min(), other.n_sessions.min()) < 4:
        raise UserError("power needs at least 4 simulated sessions of each subtask: simulate more")
    if min(n_people) < 2 or max(n_subtasks) > len(true.subtasks) or min(n_subtasks) < 1:
        raise UserError(
            f"designs need at least 2 people, and 1 to {len(true.subtasks)} subtasks: change n_people or n_subtasks"
        )
    found, chance = [], true.curves().chance
    as_people, as_model = _halves(true)
    models = [model.resample_sessions(n_experiments, rng) for model in (as_model, _halves(other)[1])]
    for people in n_people:
        sample = as_people.resample_sessions(n_experiments, rng, np.full(len(true.subtasks), people))
        for subtasks in n_subtasks:
            chosen = np.argsort(rng.random((n_experiments, len(true.subtasks))), axis=1)[:, :subtasks]
            seen = _only(sample, chosen)
            own, strange = (mse_n(replicate_moments(_only(model, chosen), seen, chance), variant) for model in models)
            # `own` is the null distribution itself: people and model learn alike.
            rejection = float((strange > np.quantile(own, 0.95)).mean())
            found.append(Power(people, subtasks, float((own < strange).mean()), rejection))
    return found


def _halves(model: Behaviour) -> tuple[Behaviour, Behaviour]:
    """Every other session of each subtask, and the rest."""
    order = np.argsort(model.subtask, kind="stable")
    first = np.cumsum(model.n_sessions) - model.n_sessions
    second_half = np.empty(len(order), bool)
    second_half[order] = (np.arange(len(order)) - first[model.subtask[order]]) % 2 == 1
    first_half, other = (
        replace(model, correct=model.correct[half], subtask=model.subtask[half], participant=model.participant[half])
        for half in (~second_half, second_half)
    )
    return first_half, other


def _only(replicates: Replicates, chosen: np.ndarray) -> Replicates:
    """Each replicate with its own subtasks, (replicates, n) numbers."""
    size = replicates.n_sessions
    if (size != size[0]).any():
        raise UserError("power needs the same number of sessions in every subtask: simulate as many of each")
    part = np.take_along_axis(replicates.n_correct, chosen[:, :, None], axis=1)
    return Replicates(part, size[: chosen.shape[1]], replicates.resampled)
