"""Every study by its name: what it computes from a bank, its figure, and what its page says."""

from __future__ import annotations

from matplotlib.figure import Figure as Plot

from exemplar.errors import UserError
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.figures.studies import (
    plot_choice,
    plot_curves,
    plot_explanations,
    plot_labelling,
    plot_prediction,
    plot_rates,
)
from exemplar.foresee.studies.choice import compute_choice
from exemplar.foresee.studies.curves import CURVES, compute_curves, curve_scores
from exemplar.foresee.studies.explanations import compute_explanations
from exemplar.foresee.studies.labelling import budgets, compute_labelling
from exemplar.foresee.studies.more_statements import LABELLING_STATEMENTS, PREDICTION_STATEMENTS, THRESHOLD_STATEMENTS
from exemplar.foresee.studies.prediction import ASKED, compute_predictions
from exemplar.foresee.studies.statements import CURVE_STATEMENTS, IMBALANCE_STATEMENTS, judge
from exemplar.foresee.studies.thresholds import compute_thresholds
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score
from exemplar.runs import Run

Found = tuple[list[Score], Plot]  # scores, judged statements first, and the figure
LEAST_CLASSES = {"thresholds": 10, "prediction": 20, "choice": 12, "explanations": 10}
CAPTIONS = {
    "choice": "Mean absolute error on classes a ridge was not fitted to, as a share of that of always predicting the mean, by "
    "penalty; a line per set of measures, bars are 95 % intervals over splits.",
    "explanations": "Correlations with performance, signed, and differences of them (lead), with 95 % intervals over classes.",
    "prediction": "Left: mean absolute error of the predicted accuracy, and of always predicting the mean. Right: how "
    "often accuracy "
    "lies in its 90 % interval. Bars are 95 % intervals over splits.",
    "thresholds": "Open: rates on the classes a threshold was chosen on; red: on other classes; a line per random half of the "
    "classes. A threshold that transfers stays where it was.",
    "labelling": "Above: accuracy after labelling, by policy; below: the gain over random labels, paired by task, with 95 % "
    "intervals; dashed: in rounds. Left as in the paper, which rewards removing hard samples; right on samples that are never "
    "labelled.",
}
TEXTS = {
    "choice": "The classes are split in two at random: a ridge of each set of measures, with each penalty, is fitted "
    "to tasks of "
    "one side and asked about tasks of the other.",
    "explanations": "Each check changes one thing that could be the reason: the number of neighbours, or how often "
    "features are "
    "diffused.",
    "prediction": "Random splits of the classes: a predictor is calibrated on some and asked about tasks of the "
    "others. Intervals of the "
    "scores are over splits.",
    "thresholds": "The threshold with a sensitivity of 81 % is chosen on one half of the classes and used on the "
    "other, ten times. A "
    "task is hard if its accuracy (adjusted Rand index where nothing is labelled) is below 80 %.",
    "labelling": "After a first training on one sample per class some unlabelled samples get their labels, chosen by "
    "a policy, and the classifier is trained again: all labels at once, as in the paper, or in rounds, each chosen with the "
    "classifier that the labels so far have trained.",
}
CURVES_CAPTION = (
    "Above: correlation of each measure with performance, in the direction it was meant to have; bands are 95 % intervals over "
    "classes, dashed lines are not the paper's. The noise ceiling bounds those that do not see the scored samples. Below: the "
    "performance behind them."
)


def caption_of(name: str) -> str:
    return CAPTIONS.get(name, CURVES_CAPTION)


def text_of(name: str) -> str:
    return CURVES[name].text if name in CURVES else TEXTS[name]


def compute_study(name: str, run: Run, bank: FeatureBank, tasks: int, seed: int) -> Found:
    least = LEAST_CLASSES.get(name, 0)
    if bank.n_classes < least:
        raise UserError(f"The study {name} needs at least {least} classes, the bank has {bank.n_classes}: give more.")
    if name in CURVES:
        return _curves(name, run, bank, tasks, seed)
    if name == "thresholds":
        scores, rates = compute_thresholds(run, bank, tasks, seed)
        return [*judge(THRESHOLD_STATEMENTS, scores), *scores], plot_rates(rates)
    if name == "labelling":
        scores, found = compute_labelling(run, bank, tasks, seed)
        figure = plot_labelling(found, budgets(TaskConfig(5, 1, 50, "semi")))
        return [*judge(LABELLING_STATEMENTS, scores), *scores], figure
    if name == "prediction":
        scores = compute_predictions(run, bank, ASKED, seed, n_asked=tasks)
        return [*judge(PREDICTION_STATEMENTS, scores), *scores], plot_prediction(scores)
    if name == "choice":
        scores = compute_choice(run, bank, seed)
        return scores, plot_choice(scores)
    scores = compute_explanations(run, {"": bank}, tasks, seed)
    return scores, plot_explanations(scores)


def _curves(name: str, run: Run, bank: FeatureBank, tasks: int, seed: int) -> Found:
    kept = [curve for curve in compute_curves(CURVES[name], run, bank, tasks, seed) if curve.panel.points]
    if not kept:
        raise UserError("The bank has too few classes or samples for every point of this study: give a larger one.")
    scores = curve_scores(kept)
    return [*judge((*CURVE_STATEMENTS, *IMBALANCE_STATEMENTS), scores), *scores], plot_curves(kept)
