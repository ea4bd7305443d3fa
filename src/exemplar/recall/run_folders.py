"""What a run's folder holds: the suite, every prediction, memory, costs, scores, a figure and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exemplar.recall.figures.plots import plot_forgetting, plot_memory
from exemplar.recall.figures.words import FORGETTING_CAPTION, LEAD, TERMS
from exemplar.recall.meters.costs import Costs, TrainingCosts
from exemplar.recall.outcomes import Outcome
from exemplar.records import Score, Scores
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table, format_percent, score_table, score_words
from exemplar.runs import Run, plain, write_json

if TYPE_CHECKING:
    from exemplar.recall.experiments import Prepared

SUITE, COSTS, PAGE = "suite.npz", "costs.json", "index.html"
FORGETTING = "forgetting"


def write_run(
    run: Run,
    ready: Prepared,
    done: Outcome,
    scores: list[Score],
    costs: Costs,
    training: TrainingCosts | None,
    warnings: tuple[str, ...],
) -> None:
    ready.suite.save(run.folder / SUITE)
    done.save(run.folder)
    run.save(Scores.collect(scores))
    write_json(
        run.folder / COSTS,
        {"costs": plain(costs.json()), "training": plain(None if training is None else vars(training))},
    )
    chance = 1 / ready.suite.shape.n_labels
    shape = ready.suite.shape
    figures = [
        Figure.of_plot(
            plot_forgetting({done.agent: scores}, chance=chance),
            FORGETTING_CAPTION,
            name=FORGETTING,
        ),
        Figure.of_plot(
            plot_memory(done.bits[0], shape.nss * shape.ways * shape.shots, ready.source.image_shape),
            "Memory kept after each support set in the first task, as a share of the bits of all support images (float32).",
            name="memory",
        ),
    ]
    accuracy = next(score for score in scores if score.name == "accuracy")
    verdict = (
        f"{done.agent} names {format_percent(accuracy)} of the targets correctly after {shape.nss} support "
        f"{'set' if shape.nss == 1 else 'sets'} (chance is {100 * chance:.1f} %)."
    )
    write_page(
        run.folder / PAGE,
        f"{done.agent} on {ready.suite.data}",
        LEAD,
        [
            Chapter("What it recalls", figures=figures, tables=[_score_table(scores)], notes=warnings),
            Chapter("What it costs", tables=[cost_table(costs, training)]),
        ],
        "Predictions, suite, memory and costs lie beside this page.",
        verdict=verdict,
        made=how_made([run.folder]),
    )


def _score_table(scores: Sequence[Score]) -> Table:
    return replace(score_table(scores), terms={score_words(name): means for name, (_, means) in TERMS.items()
                                               if any(score.name == name for score in scores)})  # fmt: skip


def cost_table(costs: Costs, training: TrainingCosts | None) -> Table:
    rows: list[list[Any]] = [
        *([f"MACs, support set {k + 1}", Cell.of_number(n, f"{n:,}")] for k, n in enumerate(costs.macs_per_set)),
        ["MACs, all targets", Cell.of_number(costs.macs_targets, f"{costs.macs_targets:,}")],
        ["other arithmetic, elements", Cell.of_number(costs.elementwise, f"{costs.elementwise:,}")],
        ["peak memory of a task, bytes", Cell.of_number(costs.peak_bytes, f"{costs.peak_bytes:,}")],
    ]
    if training is not None:
        rows += [
            ["MACs, one step of the training of its network", Cell.of_number(training.macs, f"{training.macs:,}")],
            ["peak memory of that step, bytes", Cell.of_number(training.peak_bytes, f"{training.peak_bytes:,}")],
        ]
    if costs.declared_atm is not None:
        rows.append(["ATM as the learner declares it", Cell.of_number(costs.declared_atm)])
    if costs.unknown:
        rows.append(["operators without a formula", ", ".join(costs.unknown)])
    return Table(
        ["what", Cell("how much", number=True)],
        rows,
        "Measured on one task. MAC: multiply-accumulate operation, 2 FLOP.",
    )
