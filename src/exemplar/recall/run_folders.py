"""What a run's folder holds: the suite, every prediction, memory, costs, scores, a figure and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exemplar.recall.figures.plots import plot_forgetting, plot_memory
from exemplar.recall.meters.costs import Costs, TrainingCosts
from exemplar.recall.outcomes import Outcome
from exemplar.records import Score, Scores
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table
from exemplar.runs import Run, plain, write_json

if TYPE_CHECKING:
    from exemplar.recall.experiments import Prepared

SUITE, COSTS, PAGE = "suite.npz", "costs.json", "index.html"
FORGETTING = "forgetting"
LEAD = (
    "Support sets are shown one at a time, and each is gone when the next comes; then targets of all of them are named. What "
    "the learner keeps between two sets is measured, and so is what it computes."
)
ABOUT = (
    "Accuracy and cross-entropy (nats, over all labels) are means over tasks; sd is over tasks too (ddof = 1). "
    "Across-task memory (ATM) is the bits kept between sets over the bits of all support images, as float32 and as bytes "
    "(native); the paper's printed form counts stored vectors. It can only be compared at the same NSS. Backward transfer "
    "is the accuracy on earlier sets at the end less that right after each: below 0, something was forgotten."
)


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
            "Accuracy on the targets of each support set after the last one; bars are 95 % intervals over tasks.",
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
        f"{done.agent} names {100 * accuracy.value:.1f} % of the targets after {shape.nss} support "
        f"{'set' if shape.nss == 1 else 'sets'} (chance is {100 * chance:.1f} %)."
    )
    write_page(
        run.folder / PAGE,
        f"{done.agent} on {ready.suite.data}",
        LEAD,
        [
            Chapter("What it recalls", (ABOUT,), figures, scores, notes=warnings),
            Chapter("What it costs", tables=[cost_table(costs, training)]),
        ],
        "Predictions, suite, memory and costs lie beside this page.",
        verdict=verdict,
        made=how_made([run.folder]),
    )


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
    return Table(["what", Cell("how much", number=True)], rows, "Measured on one task; 1 MAC is 2 FLOP.")
