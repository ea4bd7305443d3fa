"""The calibrated null test and interval of MSE_n: what remains of the error of a true model, and how sure it is.

MSE_n less the noise floor is a two-sample statistic of means in many dimensions (Chen & Qin 2010). Its variance has a part that
is there for a true model too, V₀ = 2 tr C_h² + 2 tr C_m² + 4 tr C_h C_m, and one that grows with the true error δ, 4 δ′(C_h +
C_m)δ; C are the sampling covariances of people's and the model's mean curves (`noise`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from exemplar.errors import UserError
from exemplar.learn.measures.curves import Behaviour, Curves, Learning, same_subtasks
from exemplar.learn.measures.moments import fit_lapse, moments_of
from exemplar.learn.measures.noise import (
    FEWEST,
    Direction,
    SessionCovariance,
    Units,
    covariance_of_counts,
    find_units,
    noise_of_sessions,
    noise_of_units,
    session_covariance,
    trace_with,
)


@dataclass(frozen=True)
class Excess:
    """MSE_n above what a perfect model would reach, corrected for the lapse rate that was fitted.

    value: 0 on average for a true model; null_sd: its standard deviation then; sd: its standard deviation here; null_freedom,
    freedom: degrees of freedom of these; lapse: the rate fitted; covariance: whose sessions tell how curves vary, "people" or
    "model".
    """

    value: float
    null_sd: float
    sd: float
    null_freedom: float
    freedom: float
    lapse: float
    covariance: str

    @property
    def p(self) -> float:
        """One-sided, of the hypothesis that people learn as the model does and lapse: Student's t."""
        if self.null_sd == 0:
            return 1.0 if self.value <= 0 else 0.0
        return float(stdtr(self.null_freedom, -self.value / self.null_sd))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Of the true excess."""
        reach = float(stdtrit(self.freedom, (1 + level) / 2)) * self.sd
        return self.value - reach, self.value + reach


def can_measure(model: Learning, people: Learning) -> bool:
    """Whether there is enough for `measure_excess`: the model's sessions, and enough of both."""
    return isinstance(model, Behaviour) and min(model.n_sessions.min(), _fewest(people)) >= FEWEST


def measure_excess(model: Learning | SessionCovariance, people: Learning | Units) -> Excess:
    """How far a model's curves are from people's, with the null test and the interval.

    model: its sessions, or how they vary (`session_covariance`), which serves for many comparisons; people: sessions, whose
    participants are the units (or those, by `find_units`), or counts, whose sessions are taken to vary as the model's do.
    """
    if isinstance(model, Curves):
        raise UserError("counts of a model do not tell how its sessions vary: give its sessions")
    covariance = session_covariance(model) if isinstance(model, Behaviour) else model
    them = find_units(people) if isinstance(people, Behaviour) else people
    own, theirs = covariance.curves, them if isinstance(them, Curves) else them.curves
    same_subtasks(own, theirs)
    moments = moments_of(own, theirs)
    lapse = float(fit_lapse(moments))
    keep, n_cells = 1 - lapse, own.accuracy.size
    a, b = own.accuracy - theirs.chance, theirs.accuracy - theirs.chance
    where = _direction(a, b, keep)
    error = keep**2 * (moments.aa - moments.model_variance) - 2 * keep * moments.ab + moments.bb
    total = n_cells * float(error - moments.people_variance)
    ours = noise_of_sessions(covariance, where, keep)
    if isinstance(them, Curves):
        assumed = covariance_of_counts(them, covariance, keep)
        yours, cross = noise_of_sessions(assumed, where), trace_with(assumed, covariance)
    else:
        yours, cross = noise_of_units(them, where), trace_with(them, covariance)
    cross = keep**2 * cross
    cross += ours.along * yours.along - 2 * float((ours.product * yours.product).sum()) / where.length
    fixed = 2 * ours.square + 2 * yours.square + 4 * max(cross, 0.0)
    linear = max(ours.towards + yours.towards - 2 * fixed, 0.0)
    if isinstance(
        them, Curves
    ):  # a wrong model's sessions vary otherwise than people's: found by simulation, learn-coverage
        linear *= float((them.n_sessions / (them.n_sessions - 2)).mean())
    # Satterthwaite: what is estimated from few people counts for few degrees of freedom; `linear` is as unsure as what it is a
    # difference of
    doubt = np.array([2 * yours.square, max(yours.towards, linear)]) ** 2 / np.array([yours.freedom, yours.n_units - 1])
    return Excess(
        value=(total + ours.along + yours.along) / n_cells,
        null_sd=float(np.sqrt(fixed)) / n_cells,
        sd=float(np.sqrt(fixed + linear)) / n_cells,
        null_freedom=float(fixed**2 / doubt[0]) if doubt[0] > 0 else np.inf,
        freedom=float((fixed + linear) ** 2 / doubt.sum()) if doubt.sum() > 0 else np.inf,
        lapse=lapse,
        covariance="model" if isinstance(them, Curves) else "people",
    )


def _direction(a: np.ndarray, b: np.ndarray, keep: float) -> Direction:
    """Where the rate was fitted inside (0, 1), the residual has nothing along a; at an end, nothing was taken out of it."""
    residual = b - keep * a
    if not 0 < keep < 1:
        return Direction(np.zeros_like(a), residual)
    return Direction(a, residual - (residual * a).sum() / (a * a).sum() * a)


def _fewest(people: Learning) -> int:
    """The least number of units in a subtask: participants where they are known, or sessions."""
    if isinstance(people, Curves):
        return int(people.n_sessions.min())
    return min(len(set(people.participant[people.subtask == code].tolist())) for code in range(len(people.subtasks)))
