"""The paper's statements on its curves, each with where it is made and what decides whether it holds here.

Those on thresholds, labels and the predictor are in `more_statements.py`: what they hang on is no source of the curves.
"""

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
    best_index,
    confidence_best,
    db_best,
    depends_least,
    depends_less,
    diffusion_helps,
    follows,
    imbalance,
    saturates,
    supervised_order,
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
