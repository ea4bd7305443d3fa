"""Sets of measures that a predictor could take, and the set and penalty that its ridge does take.

They were chosen on validation classes of CIFAR-FS alone, by `exemplar results run foresee-choice`; a test holds that this table
says what came out of it.
"""

from __future__ import annotations

from exemplar.foresee.indicators import MEASURES, PAPER, available_measures

ONE = {"supervised": "lr_loss", "semi": "confidence"}
FEW = {
    "supervised": ("lr_loss", "similarity", "loo_ridge_margin"),
    "semi": ("lr_loss", "confidence", "margin", "agreement"),
}
BEYOND = {
    "supervised": ("loo_nearest_mean", "loo_ridge", "loo_ridge_margin", "h_score"),
    "semi": ("margin", "agreement", "loo_ridge", "loo_ridge_margin", "h_score"),
}  # beyond the paper's, without training again
CHOSEN = {"supervised": ("few", 0.01), "semi": ("few", 0.03)}  # set of measures, and penalty of the ridge


def measure_sets(setting: str, shots: int) -> dict[str, tuple[str, ...]]:
    """Sets by name, each as far as its measures exist; a supervised predictor sees no queries."""
    there = [m for m in available_measures(setting, shots) if setting == "semi" or not MEASURES[m].queries]
    paper = tuple(m for m in PAPER if m != "confidence_log")  # which is confidence, bent
    sets = {
        "one": (ONE[setting],),
        "few": FEW[setting],
        "paper": paper,
        "paper and more": (*paper, *BEYOND[setting]),
        "all": tuple(there),
    }
    return {name: tuple(m for m in wanted if m in there) for name, wanted in sets.items()}


def chosen_set(setting: str, shots: int) -> tuple[tuple[str, ...], float]:
    """The measures and the penalty."""
    name, penalty = CHOSEN[setting]
    return measure_sets(setting, shots)[name], penalty
