"""What foretells accuracy without a validation set: every measure of the room, by name.

A measure is a function of a `TaskView` that gives a number per task; it never sees an answer. `better` is the sign of its
correlation with accuracy if it works as it was meant to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from exemplar.errors import UserError, unknown
from exemplar.foresee.indicators import confident, geometric, left_out, resampled, transferable
from exemplar.foresee.views import TaskView


@dataclass(frozen=True)
class Measure:
    """function: view → (tasks,); better: +1 where more means easier, −1 where less does; queries: whether it looks at
    unlabelled samples, whose accuracy it foretells; labels: whether it needs labelled ones; shots: how many per class at least;
    paper: whether it is one of the paper's."""

    function: Callable[[TaskView], Tensor]
    better: int
    about: str
    queries: bool = False
    labels: bool = True
    shots: int = 1
    paper: bool = False


MEASURES: dict[str, Measure] = {
    "lr_loss": Measure(
        confident.lr_loss,
        -1,
        "cross-entropy of the logistic regression on its own training samples (Eq. 9)",
        paper=True,
    ),
    "similarity": Measure(
        geometric.similarity, +1, "cosine within a class less that to the nearest other class (Eq. 12)", paper=True
    ),
    "confidence": Measure(
        confident.confidence,
        +1,
        "mean of the largest probability of each unlabelled sample (as the authors' code has it)",
        queries=True,
        paper=True,
    ),
    "confidence_log": Measure(
        confident.confidence_log, -1, "mean of −log of that probability (Eq. 15)", queries=True, paper=True
    ),
    "davies_bouldin": Measure(
        geometric.davies_bouldin_score, -1, "Davies–Bouldin score after N-means (Eq. 14)", labels=False, paper=True
    ),
    "egv": Measure(
        geometric.nth_eigenvalue,
        -1,
        "N-th smallest eigenvalue of the Laplacian of the graph of nearest neighbours (Definition 6)",
        labels=False,
        paper=True,
    ),
    "margin": Measure(
        confident.margin, +1, "mean difference of the two largest probabilities of each unlabelled sample", queries=True
    ),
    "loo_ridge": Measure(
        left_out.loo_ridge, +1, "accuracy on labelled samples of a ridge classifier that leaves each out", shots=2
    ),
    "loo_ridge_margin": Measure(
        left_out.loo_ridge_margin,
        +1,
        "mean score of the right class less the best other, each sample left out",
        shots=2,
    ),
    "loo_nearest_mean": Measure(
        left_out.loo_nearest_mean,
        +1,
        "accuracy on labelled samples of nearest means without the sample itself",
        shots=2,
    ),
    "cross_validation": Measure(
        resampled.cross_validation, +1, "accuracy on labelled samples, two-fold, of the logistic regression", shots=2
    ),
    "thresholded_confidence": Measure(
        resampled.thresholded_confidence,
        +1,
        "share of unlabelled samples above the confidence that tells right from wrong, two-fold",
        queries=True,
        shots=2,
    ),
    "difference_of_confidence": Measure(
        resampled.difference_of_confidence,
        +1,
        "two-fold accuracy plus how much more confident it is on unlabelled samples",
        queries=True,
        shots=2,
    ),
    "disagreement": Measure(
        resampled.disagreement, -1, "share of unlabelled samples on which two trainings disagree", queries=True
    ),
    "agreement": Measure(
        resampled.agreement,
        +1,
        "adjusted Rand index of the logistic regression and N-means on unlabelled samples",
        queries=True,
    ),
    "logme": Measure(
        transferable.logme, +1, "log evidence of a linear model; its sign flips with the number of shots", shots=2
    ),
    "h_score": Measure(
        transferable.h_score, +1, "variance between classes over all variance, shrunk; made for many samples", shots=2
    ),
}
WARNED = {
    "logme": "logme compares encoders on one task; across tasks the sign of its correlation flips with the shots.",
    "h_score": "h_score was made for many samples per class; with few it says little.",
}
PAPER = tuple(name for name, measure in MEASURES.items() if measure.paper)


def available_measures(setting: str, shots: int) -> tuple[str, ...]:
    """Those that exist for tasks of a setting with so many labelled samples per class."""
    if setting == "unsupervised":
        return tuple(name for name, measure in MEASURES.items() if not measure.labels)
    one_shot = ("davies_bouldin",) if setting == "supervised" and shots == 1 else ()  # always 0: a cluster per sample
    return tuple(name for name, one in MEASURES.items() if one.shots <= shots and name not in one_shot)


def sees_scored(name: str, setting: str) -> bool:
    """Whether a measure looks at the samples that are scored, without their labels: those that cluster do so where unlabelled
    samples are part of the task. (Diffusion lets a little of them into every measure.)"""
    return MEASURES[name].queries or (setting != "supervised" and not MEASURES[name].labels)


def chosen_measures(names: Iterable[str], setting: str, shots: int) -> tuple[str, ...]:
    """`paper`, `all`, or measures by name, as far as they exist in this setting; one that does not is refused."""
    there, found = available_measures(setting, shots), list[str]()
    for name in names:
        if name == "all":
            found += there
        elif name == "paper":
            sees = ("supervised",) if setting == "supervised" else ()
            found += [one for one in PAPER if one in there and not (sees and MEASURES[one].queries)]
        elif name not in MEASURES:
            raise unknown("measure", name, [*MEASURES, "paper", "all"])
        elif name not in there:
            raise UserError(
                f"{name} does not exist in {setting} tasks of {shots} labelled samples per class: leave it out."
            )
        else:
            found.append(name)
    return tuple(dict.fromkeys(found))


def compute_measures(view: TaskView, names: Iterable[str]) -> dict[str, Tensor]:
    """Name → (tasks,) float64, on the processor. What has no finite value is NaN."""
    found = {}
    for name in names:
        value = MEASURES[name].function(view).double().cpu()
        found[name] = torch.where(value.isfinite(), value, torch.nan)
    return found
