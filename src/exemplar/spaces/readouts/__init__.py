"""Linear readouts of features, fitted for many small tasks at once: nearest mean, ridge, LDA and logistic regression.

Tasks of one shape are stacked: support (tasks, n, d), labels (tasks, n) whole numbers in [0, n_classes), which may be
unbalanced. Linear algebra runs in float64 on the support's device; what comes back has the support's own precision.
"""

from exemplar.spaces.readouts.linear import ClassSums, Readout, fit_lda, fit_nearest_mean, fit_ridge, ridge_left_out
from exemplar.spaces.readouts.logistic import PAPER, AdamRecipe, descend, fit_logistic, fit_logistic_adam
from exemplar.spaces.readouts.tensors import Array

__all__ = [
    "PAPER",
    "AdamRecipe",
    "Array",
    "ClassSums",
    "Readout",
    "descend",
    "fit_lda",
    "fit_logistic",
    "fit_logistic_adam",
    "fit_nearest_mean",
    "fit_ridge",
    "ridge_left_out",
]
