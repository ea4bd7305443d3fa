"""The paper's statements and ours, each with where it is made and what decides whether it holds here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from exemplar.foresee.studies.verdicts import (
    SAMPLES,
    SEMI_QUERIES,
    SHOTS,
    UNSUPERVISED_WAYS,
    WAYS,
    Found,
    Verdict,
    beats_random,
    best_index,
    confidence_best,
    covers,
    db_best,
    depends_least,
    depends_less,
    diffusion_helps,
    follows,
    imbalance,
    labels_cross,
    much_smaller_error,
    predicts,
    saturates,
    supervised_order,
    transfers,
)
from exemplar.records import Score

OURS = "ours: "  # how a statement begins that the paper does not make


@dataclass(frozen=True)
class Statement:
    """text: what is claimed; judge: whether it holds, and the numbers it was judged by; where: the paper claims it, with its
    own numbers where it prints any; empty where the claim is ours."""

    text: str
    judge: Callable[[Found], Verdict]
    where: str = ""


CURVE_STATEMENTS = (
    Statement("supervised: LR loss ≥ similarity > the unsupervised measures", supervised_order, "Section 5.4, Fig. 2"),
    Statement(
        "supervised: LR loss foretells better with more shots",
        follows("lr_loss", "supervised", SHOTS, True),
        "Section 5.4, Fig. 2a",
    ),
    Statement(
        "supervised: LR loss foretells worse with more ways",
        follows("lr_loss", "supervised", WAYS, False),
        "Section 5.4, Fig. 2b",
    ),
    Statement(
        "supervised: egv foretells worse with more shots",
        follows("egv", "supervised", SHOTS, False),
        "Section 5.4, Fig. 2a",
    ),
    Statement("semi: confidence beats every other published measure", confidence_best, "Section 5.6, Fig. 5"),
    Statement(
        "semi: confidence foretells better with more queries",
        follows("confidence", "semi", SEMI_QUERIES, True),
        "Section 5.6, Fig. 5a",
    ),
    Statement("semi: confidence saturates near 15 queries", saturates, "Section 5.6, Fig. 5a"),
    Statement(
        "semi: confidence depends less on shots and on ways than on queries", depends_less, "Section 5.6, Fig. 5"
    ),
    Statement(
        "semi: confidence depends on shots and ways less than any other measure", depends_least, "Section 5.6, Fig. 5"
    ),
    Statement("semi: after diffusion LR loss and similarity foretell better at 1 shot", diffusion_helps, "Section 5.6"),
    Statement("unsupervised: Davies–Bouldin is best", db_best, "Section 5.5, Fig. 4: up to .64 and .72"),
    Statement(
        "unsupervised: Davies–Bouldin is better with more samples",
        follows("davies_bouldin", "unsupervised", SAMPLES, True),
        "Section 5.5, Fig. 4a",
    ),
    Statement(
        "unsupervised: Davies–Bouldin is worse with more ways",
        follows("davies_bouldin", "unsupervised", UNSUPERVISED_WAYS, False),
        "Section 5.5, Fig. 4b",
    ),
    Statement("the best eigenvalue has an index below N", best_index, "Section 5.9, Fig. 9"),
)
IMBALANCE_STATEMENTS = (
    Statement(
        "5-way, one class at p = 0.9: confidence is robust, the others collapse",
        imbalance("0.9", "0.2", 5, True),
        "Section 5.9, Fig. 8b",
    ),
    Statement(
        "2-way, one class at p = 0.9: confidence is robust, the others collapse",
        imbalance("0.9", "0.5", 2, True),
        "Section 5.9, Fig. 8a",
    ),
    Statement(
        "5-way, one class at p near 0: correlations do not change",
        imbalance("0.02", "0.2", 5, False),
        "Section 5.9, Fig. 8b",
    ),
)
THRESHOLD_STATEMENTS = (
    Statement(
        "a threshold on LR loss does not transfer to other classes",
        transfers("lr_loss", False),
        "Fig. 6a: shifts .15 and .36",
    ),
    Statement(
        "a threshold on Davies–Bouldin does not transfer to other classes",
        transfers("davies_bouldin", False),
        "Fig. 6b: shifts .34 and .14",
    ),
    Statement(
        "a threshold on confidence transfers to other classes",
        transfers("confidence", True),
        "Fig. 6c: shifts .02 and .05",
    ),
    Statement(
        "confidence as predicted accuracy beats always predicting the mean",
        predicts,
        "Section 5.7: 2.40 % against 4.14 %",
    ),
)
LABELLING_STATEMENTS = (
    Statement(
        "random labels win where they are few, the least confident where they are many",
        labels_cross,
        "Section 5.8, Fig. 7",
    ),
    Statement(
        "ours: class-balanced uncertainty is never worse than random labels on held-out samples, and better from 20 % on",
        beats_random("balanced"),
    ),
    Statement(
        "ours: covering uncertain samples is never worse than random labels on held-out samples, and better from 20 % on",
        beats_random("cover"),
    ),
)
PREDICTION_STATEMENTS = (
    Statement("ours: 90 % intervals cover 87 to 93 % on new classes, on average over splits", covers),
    Statement(
        "ours: semi-supervised, 30 queries per class or more: the error is 1.7 times smaller than that of the mean",
        much_smaller_error("semi"),
    ),
    Statement(
        "ours: supervised, where no query is seen: the error is 1.7 times smaller than that of the mean",
        much_smaller_error("supervised"),
    ),
)


def judge(statements: Iterable[Statement], scores: Iterable[Score]) -> list[Score]:
    """A score per statement, 1 if it holds and 0 if not; the numbers it was judged by are its concept."""
    found, judged = Found(scores), []
    for statement in statements:
        try:
            holds, numbers = statement.judge(found)
        except KeyError:  # a point that this bank has too few classes or samples for
            continue
        judged.append(Score("holds", float(holds), (np.nan, np.nan), 1, agent=statement.text, concept=numbers))
    return judged
