"""The curves that are kept: correlations of every measure at every point of the paper's figures, and its statements judged.

Apart from the other kept results, so that these, which take longest, hang on no source that they do not need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from exemplar.foresee.banks import FeatureBank, encode_bank
from exemplar.foresee.indicators import MEASURES
from exemplar.foresee.studies.curves import CURVES, compute_curves, curve_scores
from exemplar.foresee.studies.statements import Statement, judge
from exemplar.records import Score, Scores
from exemplar.runs import Run

WRN = ("wrn28-4-cifar-fs", "cifar-fs", "test")
FC100 = ("densenet-fc100", "fc100", "test")


def novel_bank(which: tuple[str, str, str]) -> FeatureBank:
    """Features of classes that the backbone was not trained on."""
    return encode_bank(*which)


def by_measure(score: Score) -> Score:
    """Labelled so that a table has a row per measure and kind of tasks: `pearson_lr_loss` of `semi` is `pearson` of `lr_loss`,
    and `lead_of_confidence_over_lr_loss` is `lead_of_the_best` over it, which says how much better the paper's best is."""
    kind, _, measure = score.name.partition("_")
    if kind == "lead":
        kind, measure = "lead_of_the_best", measure.partition("_over_")[2]
    if measure not in MEASURES:
        return score
    return replace(score, name=kind, agent=measure, concept=f"{score.agent}, {score.concept}")


def curves_result(
    which: tuple[str, str, str], names: Sequence[str], statements: Sequence[Statement], n_tasks: int
) -> Callable[[Run, int], Scores]:
    def compute(run: Run, seed: int) -> Scores:
        bank = novel_bank(which)
        found: dict[tuple[str, ...], Score] = {}
        for name in names:
            for score in curve_scores(compute_curves(CURVES[name], run, bank, n_tasks, seed)):
                found.setdefault((score.name, score.agent, score.concept, score.variant), score)
        table = Scores.collect([*judge(statements, found.values()), *map(by_measure, found.values())])
        run.save(table)
        return table

    compute.__module__ = __name__  # its sources are this module's
    return compute
