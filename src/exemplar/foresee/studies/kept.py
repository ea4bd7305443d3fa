"""The room's kept results: its studies on new classes of CIFAR-FS, with the statements of the paper judged."""

from __future__ import annotations

from collections.abc import Sequence

from exemplar.foresee.banks import join_banks
from exemplar.foresee.studies.choice import compute_choice
from exemplar.foresee.studies.coverage import CLASSES, N_REPLICATES, compute_coverage
from exemplar.foresee.studies.coverage import N_TASKS as N_TASKS_SIMULATED
from exemplar.foresee.studies.explanations import N_TASKS as N_EXPLAINED
from exemplar.foresee.studies.explanations import compute_explanations
from exemplar.foresee.studies.kept_curves import FC100, WRN, curves_result, novel_bank
from exemplar.foresee.studies.labelling import compute_labelling
from exemplar.foresee.studies.more_statements import LABELLING_STATEMENTS, PREDICTION_STATEMENTS, THRESHOLD_STATEMENTS
from exemplar.foresee.studies.other_domains import compute_other_domains
from exemplar.foresee.studies.prediction import KEPT_TASKS, N_SPLITS, compute_predictions
from exemplar.foresee.studies.statements import CURVE_STATEMENTS, IMBALANCE_STATEMENTS, Statement, judge
from exemplar.foresee.studies.thresholds import compute_thresholds
from exemplar.records import Score, Scores
from exemplar.rooms import KeptResult, Number, Part
from exemplar.runs import Run

N_TASKS = 10_000  # per point of the main result, as the paper
N_IMBALANCE, N_FC100 = 10_000, 10_000  # per point, as the paper
N_THRESHOLDS = 2_000  # on each half of the classes
N_LABELLED = 5_000  # as the paper
VALIDATION = (("wrn28-4-cifar-fs", "cifar-fs", "val"), ("efficientnet-lite0/head", "cifar-fs", "val"))
ENCODERS = (WRN, ("conv4-64-cifar-fs", "cifar-fs", "test"), ("efficientnet-lite0/head", "cifar-fs", "test"), FC100)
PLACE = "Bontonou et al. 2021"
BACKBONES = (
    "The backbones are not the paper's (WRN-28-10 on mini-ImageNet, DenseNet on tiered-ImageNet, 84 px), whose features can be "
    "given as files: `exemplar foresee study NAME --features FILE`."
)

LEAD = "A lead is how much better the measure foretells that the paper calls best."


def save(run: Run, scores: Sequence[Score], statements: Sequence[Statement]) -> Scores:
    table = Scores.collect([*judge(statements, scores), *scores])
    run.save(table)
    return table


def _stated(*groups: Sequence[Statement]) -> dict[tuple[str, str], Number]:
    """What the paper says of each statement: that it holds, and where."""
    every = [statement for group in groups for statement in group if statement.where]
    return {("holds", one.text): Number(1, f"{PLACE}, {one.where}") for one in every}


def thresholds_result(run: Run, seed: int) -> Scores:
    return save(run, compute_thresholds(run, novel_bank(WRN), N_THRESHOLDS, seed)[0], THRESHOLD_STATEMENTS)


def labelling_result(run: Run, seed: int) -> Scores:
    return save(run, compute_labelling(run, novel_bank(WRN), N_LABELLED, seed)[0], LABELLING_STATEMENTS)


def choice_result(run: Run, seed: int) -> Scores:
    scores = [score for which in VALIDATION for score in compute_choice(run, novel_bank(which), seed, space=which[0])]
    return save(run, scores, ())


def explanations_result(run: Run, seed: int) -> Scores:
    banks = {which[0]: novel_bank(which) for which in ENCODERS}
    return save(run, compute_explanations(run, banks, N_EXPLAINED, seed), ())


def coverage_result(run: Run, seed: int) -> Scores:
    return save(run, compute_coverage(run, seed), ())


def coverage_part(run: Run, seed: int) -> Scores:
    """Three cells that need no data and little time."""
    return save(run, compute_coverage(run, seed, classes=CLASSES[:1], sizes=N_TASKS_SIMULATED[:1]), ())


def prediction_result(run: Run, seed: int) -> Scores:
    known, new = (novel_bank((WRN[0], "cifar-fs", split)) for split in ("val", "test"))
    both = join_banks([known, new])
    splits = compute_predictions(run, both, KEPT_TASKS, seed, first_asked=known.n_classes)
    return save(run, [*splits, *compute_other_domains(run)], PREDICTION_STATEMENTS)


MAIN = ("supervised", "semi", "unsupervised")
KEPT = {
    "foresee-correlations": KeptResult(
        title="Which measures foretell how well a few-shot classifier will do?",
        text="CIFAR-FS test classes in the shipped wrn28-4-cifar-fs; n is the number of tasks per point (the paper has 10,000; "
        "Figures 2, 4, 5, 9 and A1). `holds` is 1 where a statement of the paper holds here; correlations are signed, and "
        f"compared in the direction a measure was meant to have. {LEAD} Intervals are over classes. The noise ceiling bounds "
        "measures that do not see the scored samples: confidence, margin and agreement do see them, and so do all measures "
        f"where nothing is labelled. {BACKBONES}",
        compute=curves_result(WRN, MAIN, CURVE_STATEMENTS, N_TASKS),
        published=_stated(CURVE_STATEMENTS),
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "foresee-imbalance": KeptResult(
        title="Which measures foretell accuracy where classes have unequally many unlabelled samples, or with other graphs?",
        text=f"CIFAR-FS test classes in wrn28-4-cifar-fs, {N_IMBALANCE:,} tasks per point, as the paper "
        f"(Figures 8 and A2). p is the share of one class among the unlabelled samples. {LEAD} A measure is called robust that "
        "keeps three quarters of its correlation. Of two classes, LR loss and similarity keep more here than the paper says: "
        "they look at labelled samples, which stay balanced. Where p is near 0, four of five classes have unlabelled samples; "
        "five clusters and the fifth eigenvalue are asked for, from which Davies–Bouldin and the eigenvalue may suffer.",
        compute=curves_result(WRN, ("imbalance", "neighbours"), IMBALANCE_STATEMENTS, N_IMBALANCE),
        published=_stated(IMBALANCE_STATEMENTS),
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "foresee-fc100": KeptResult(
        title="Which measures foretell accuracy with another backbone, on superclasses it was not trained on?",
        text=f"FC100 test classes in the shipped densenet-fc100, {N_FC100:,} tasks per point, as the paper "
        "(Figures 2, 4, 5 and 9, second data set). No superclass of a test class occurs in training, as in tiered-ImageNet. "
        f"{LEAD}",
        compute=curves_result(FC100, MAIN, CURVE_STATEMENTS, N_FC100),
        published=_stated(CURVE_STATEMENTS),
        data=(("fc100", "test"),),
        quick=False,
    ),
    "foresee-thresholds": KeptResult(
        title="Does a threshold that tells hard tasks from easy ones hold for other classes?",
        text="CIFAR-FS test classes in wrn28-4-cifar-fs in 10 random halves (Figure 6): the threshold with a sensitivity of "
        f"81 % is chosen on one half and used on the other, {N_THRESHOLDS:,} tasks on each (the paper has 10,000); a task is "
        "hard if its accuracy (adjusted Rand index where nothing is labelled) is below 80 %. Halves without a hard task, or "
        "without an easy one, on either side are left out, counted, and replaced. Intervals are over halves. Confidence is "
        "also a predicted accuracy (Section 5.7).",
        compute=thresholds_result,
        published=_stated(THRESHOLD_STATEMENTS)
        | {
            ("false_alarms_where_chosen", "lr_loss"): Number(0.29, f"{PLACE}, Fig. 6a"),
            ("sensitivity_where_chosen", "lr_loss"): Number(0.81, f"{PLACE}, Fig. 6a"),
            ("false_alarms_on_other_classes", "lr_loss"): Number(0.14, f"{PLACE}, Fig. 6a"),
            ("sensitivity_on_other_classes", "lr_loss"): Number(0.45, f"{PLACE}, Fig. 6a"),
            ("false_alarms_where_chosen", "davies_bouldin"): Number(0.3, f"{PLACE}, Fig. 6b"),
            ("sensitivity_where_chosen", "davies_bouldin"): Number(0.81, f"{PLACE}, Fig. 6b"),
            ("false_alarms_on_other_classes", "davies_bouldin"): Number(0.64, f"{PLACE}, Fig. 6b"),
            ("sensitivity_on_other_classes", "davies_bouldin"): Number(0.95, f"{PLACE}, Fig. 6b"),
            ("false_alarms_where_chosen", "confidence"): Number(0.16, f"{PLACE}, Fig. 6c"),
            ("sensitivity_where_chosen", "confidence"): Number(0.81, f"{PLACE}, Fig. 6c"),
            ("false_alarms_on_other_classes", "confidence"): Number(0.18, f"{PLACE}, Fig. 6c"),
            ("sensitivity_on_other_classes", "confidence"): Number(0.76, f"{PLACE}, Fig. 6c"),
            ("absolute_error", "confidence as predicted accuracy"): Number(0.024, f"{PLACE}, Section 5.7"),
            ("absolute_error", "always the mean"): Number(0.0414, f"{PLACE}, Section 5.7"),
        },
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "foresee-labelling": KeptResult(
        title="Which samples to label next",
        text=f"CIFAR-FS test classes in wrn28-4-cifar-fs, {N_LABELLED:,} tasks of 5-way 1-shot 50-query (Figure 7): "
        "after a first training so many of the 250 unlabelled samples get their labels, and it trains again: all at once, as "
        "in the paper, or `in rounds` (10, 25, 50, …), each chosen with the classifier that the labels so far have trained. "
        "`remaining`: accuracy on those still without a label, as in the paper, which rewards removing the hard ones; "
        "`held_out`: on 125 other samples that are never labelled. Gains are over random labels, paired by task. The policies "
        "`cover` and `balanced` are ours, chosen on validation classes.",
        compute=labelling_result,
        published=_stated(LABELLING_STATEMENTS),
        data=(("cifar-fs", "test"),),
        quick=False,
    ),
    "foresee-choice": KeptResult(
        title="Which measures should the predictor of accuracy take?",
        text="Validation classes of CIFAR-FS alone, in both encoders that a predictor ships for, in random halves: a "
        "ridge of each "
        "set of measures is fitted to tasks of 2 to 6 classes, 1 to 20 labelled and 5 to 40 unlabelled samples of one "
        "half, and "
        "asked about the other. The share is of the error of always predicting the mean: less is better. What leaves least, on "
        "average over encoders and over one shot and several, is what `measure_sets.CHOSEN` has.",
        compute=choice_result,
        data=(("cifar-fs", "val"),),
        quick=False,
    ),
    "foresee-prediction": KeptResult(
        title="Is accuracy predicted on classes that the predictor has not seen, and do its intervals cover?",
        text=f"Above: {N_SPLITS} random splits of the 36 validation and test classes of CIFAR-FS in wrn28-4-cifar-fs: "
        "a predictor is "
        "calibrated on 16 classes and asked about the test classes among the others; intervals are over splits. Its "
        "measures and "
        "penalty were chosen on validation classes (foresee-choice), none of which is asked about. `explained share`: of the "
        "error that is not the noise of counting. Below: the predictors that ship, calibrated on validation classes, "
        "asked about "
        "new classes, and about features that they were not made for, where coverage is as it is; `called unlike` is how often "
        "they say so (always, where features have another number of dimensions).",
        compute=prediction_result,
        data=(("cifar-fs", "val"), ("cifar-fs", "test"), ("omniglot", "weak-test")),
        quick=False,
    ),
    "foresee-explanations": KeptResult(
        title="Why do some statements of the paper not hold here?",
        text=f"{N_EXPLAINED:,} tasks per point; CIFAR-FS test classes, and FC100's for densenet-fc100. The eigenvalue "
        "foretells "
        "accuracy where a class has more labelled samples than the graph has neighbours, so that it gets better with "
        "shots, and "
        "it is never 0, as the paper supposes. Davies–Bouldin is clearly better than it in two of four encoders, and "
        "neither is "
        "in the other two; it gets better from 10 to 20 samples in all of them, and worse from 5 to "
        "10 ways in all but wrn28-4-cifar-fs, where it hardly changes. Confidence depends on shots as much where features are "
        "diffused twice, as the authors' code does, as where they are once.",
        compute=explanations_result,
        data=(("cifar-fs", "test"), ("fc100", "test")),
        quick=False,
    ),
    "foresee-coverage": KeptResult(
        title="Do the intervals of correlations over classes cover?",
        text=f"Simulated classes and tasks with known correlations, {N_REPLICATES} replicates per cell: how often the "
        "95 % interval "
        "of `exemplar foresee run` holds the truth, for classes drawn again and as many of them.",
        compute=coverage_result,
        quick=False,
        part=Part(coverage_part, share=0.01),
    ),
}
