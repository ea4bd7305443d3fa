"""The room's kept results: its studies on new classes of CIFAR-FS, with the statements of the paper judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from exemplar.foresee.banks import FeatureBank, encode_bank
from exemplar.foresee.studies.curves import CURVES, compute_curves, curve_scores
from exemplar.foresee.studies.labelling import compute_labelling
from exemplar.foresee.studies.statements import (
    CURVE_STATEMENTS,
    LABELLING_STATEMENTS,
    THRESHOLD_STATEMENTS,
    Statement,
    judge,
)
from exemplar.foresee.studies.thresholds import compute_thresholds
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult, Number
from exemplar.runs import Run

WRN = ("wrn28-4-cifar-fs", "cifar-fs", "test")
N_TASKS = 1_024  # per point; the paper has 10,000
PLACE = "Bontonou et al. 2021"
BACKBONES = (
    "The backbones are not the paper's (WRN-28-10 on mini-ImageNet, DenseNet on tiered-ImageNet, 84 px), whose features can be "
    "given as files: `exemplar foresee study NAME --features FILE`."
)


def novel_bank(which: tuple[str, str, str]) -> FeatureBank:
    """Features of classes that the backbone was not trained on."""
    return encode_bank(*which)


def save(run: Run, scores: Sequence[Score], statements: Sequence[Statement]) -> Scores:
    table = Scores.collect([*judge(statements, scores), *scores])
    run.save(table)
    return table


def _curves(which: tuple[str, str, str], names: Sequence[str], n_tasks: int) -> Callable[[Run, int], Scores]:
    def compute(run: Run, seed: int) -> Scores:
        bank = novel_bank(which)
        found: dict[tuple[str, ...], Score] = {}
        for name in names:
            for score in curve_scores(compute_curves(CURVES[name], run, bank, n_tasks, seed)):
                found.setdefault((score.name, score.agent, score.concept, score.variant), score)
        return save(run, list(found.values()), CURVE_STATEMENTS)

    compute.__module__ = __name__
    return compute


def thresholds_result(run: Run, seed: int) -> Scores:
    return save(run, compute_thresholds(run, novel_bank(WRN), 2_000, seed)[0], THRESHOLD_STATEMENTS)


def labelling_result(run: Run, seed: int) -> Scores:
    return save(run, compute_labelling(run, novel_bank(WRN), 2_000, seed)[0], LABELLING_STATEMENTS)


MAIN = ("supervised", "semi", "unsupervised")
KEPT = {
    "foresee-correlations": KeptResult(
        title="Which measures foretell how well a few-shot classifier will do?",
        text=f"CIFAR-FS test classes in the shipped wrn28-4-cifar-fs, {N_TASKS:,} tasks per point (Figures 2, 4, 5, 9 and A1). "
        "`holds` is 1 where a statement of the paper holds here; correlations are signed, and compared in the "
        "direction a measure was meant to have. Intervals are over classes. The noise ceiling bounds measures that do not see "
        f"the scored samples: confidence, margin and agreement do see them. {BACKBONES}",
        compute=_curves(WRN, MAIN, N_TASKS),
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "foresee-thresholds": KeptResult(
        title="Does a threshold that tells hard tasks from easy ones hold for other classes?",
        text="CIFAR-FS test classes in wrn28-4-cifar-fs in 10 random halves (Figure 6): the threshold with a sensitivity of "
        "81 % is chosen on one half and used on the other, 2,000 tasks on each; a task is hard if its accuracy (adjusted "
        "Rand index where nothing is labelled) is below 80 %. Intervals are over halves. Below: confidence itself as "
        "predicted accuracy "
        "(Section 5.7).",
        compute=thresholds_result,
        published={
            ("false_alarms", "lr_loss"): Number(0.14, f"{PLACE}, Fig. 6a, other classes"),
            ("sensitivity", "lr_loss"): Number(0.45, f"{PLACE}, Fig. 6a, other classes"),
            ("false_alarms", "davies_bouldin"): Number(0.64, f"{PLACE}, Fig. 6b, other classes"),
            ("sensitivity", "davies_bouldin"): Number(0.95, f"{PLACE}, Fig. 6b, other classes"),
            ("false_alarms", "confidence"): Number(0.18, f"{PLACE}, Fig. 6c, other classes"),
            ("sensitivity", "confidence"): Number(0.76, f"{PLACE}, Fig. 6c, other classes"),
            ("absolute_error", "confidence as predicted accuracy"): Number(0.024, f"{PLACE}, Section 5.7"),
            ("absolute_error", "always the mean"): Number(0.0414, f"{PLACE}, Section 5.7"),
        },
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "foresee-labelling": KeptResult(
        title="Which samples to label next",
        text="CIFAR-FS test classes in wrn28-4-cifar-fs, 2,000 tasks of 5-way 1-shot 50-query (Figure 7; the paper has 5,000): "
        "after a first training so many of the 250 unlabelled samples get their labels, and it trains again. `remaining`: "
        "accuracy on those still without a label, as in the paper, which rewards removing the hard ones; `held_out`: on 125 "
        "other samples that are never labelled. Gains are over random labels, paired by task. The policies `cover` and "
        "`balanced` are ours, chosen on validation classes.",
        compute=labelling_result,
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
}
