"""The door to every score of this room, all pure functions; and the scores that a model gets against people at once."""

from __future__ import annotations

from exemplar.learn.measures.accuracy import (
    learning_curve,
    score_accuracy,
    score_consistency,
    score_speed,
)
from exemplar.learn.measures.calibrated import Excess, measure_excess
from exemplar.learn.measures.curves import Behaviour, Curves, Repeated, repeat
from exemplar.learn.measures.individuals import (
    compare_populations,
    complete_individuals,
    individuality_test,
    who_outperforms,
)
from exemplar.learn.measures.mse import (
    Null,
    mse_n,
    noise_floor,
    null_distribution,
    score_guessing,
    score_limits,
    score_mse,
)
from exemplar.learn.measures.oneshot import (
    Generalization,
    Points,
    compare_transformations,
    generalization_null,
    generalization_of,
    score_generalization,
    score_points,
    score_tests,
)
from exemplar.learn.measures.phases import PhaseDifference, compare_phases
from exemplar.learn.measures.power import Power, power_to_tell_apart
from exemplar.learn.measures.reading import behaviour_in, behaviour_of
from exemplar.learn.measures.statespace import SmoothCurves, smooth_curves
from exemplar.learn.measures.variance import variance_explained
from exemplar.records import Score

__all__ = [
    "Behaviour",
    "Curves",
    "Excess",
    "Generalization",
    "Null",
    "PhaseDifference",
    "Points",
    "Power",
    "Repeated",
    "SmoothCurves",
    "behaviour_in",
    "behaviour_of",
    "compare_phases",
    "compare_populations",
    "compare_transformations",
    "complete_individuals",
    "generalization_null",
    "generalization_of",
    "individuality_test",
    "learning_curve",
    "measure_excess",
    "mse_n",
    "noise_floor",
    "null_distribution",
    "power_to_tell_apart",
    "repeat",
    "score_accuracy",
    "score_consistency",
    "score_generalization",
    "score_guessing",
    "score_learner",
    "score_limits",
    "score_mse",
    "score_points",
    "score_speed",
    "score_tests",
    "smooth_curves",
    "variance_explained",
    "who_outperforms",
]


def score_learner(
    model: Repeated, people: Repeated, *, variant: str = "paper", interval: str = "calibrated", agent: str = ""
) -> dict[str, Score]:
    """All that Experiment 1 says of one learner: MSE_n with its lapse rate, accuracies, speed, and consistency with people."""
    return {
        **score_mse(model, people, variant=variant, interval=interval, agent=agent),
        **score_accuracy(model, agent=agent),
        **score_speed(model, agent=agent),
        **score_consistency(model, people, agent=agent),
    }
