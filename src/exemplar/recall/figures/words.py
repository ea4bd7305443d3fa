"""What the pages of the room say about its scores and figures."""

from __future__ import annotations

from exemplar.report.tables import Cell

LEAD = (
    "Support sets are shown one at a time, and each is gone when the next comes; then targets of all of them are named. What "
    "the learner keeps between two sets is measured, and so is what it computes."
)
FORGETTING_CAPTION = (
    "Accuracy on the targets of each support set (up), after the last set was shown, in the order shown (across); "
    "bars are 95 % "
    "intervals over tasks. A line that falls to the left has forgotten."
)
PARETO_CAPTION = (
    "Accuracy (up) against memory kept between sets and against computation (across); bars are 95 % intervals over "
    "tasks. Filled: "
    "on the Pareto front, no learner is as accurate with as little of both. Dashed: the memory that keeps all images."
)
TERMS = {  # score → its head in a table, and what it means
    "accuracy": ("accuracy", "share of all targets named correctly after the last set, mean over tasks."),
    "accuracy_sd": ("SD over tasks", "standard deviation of accuracy over tasks (n − 1)."),
    "cross_entropy": ("cross-entropy", "in nats, over all labels; lower is better."),
    "backward_transfer": (
        "backward transfer",
        "accuracy on earlier sets at the end less that right after each; below 0 is forgetting.",
    ),
    "atm": (
        "ATM",
        "across-task memory: bits kept between sets over the bits of all support images (float32). Compare it only between "
        "tasks of as many sets.",
    ),
    "atm_native": ("ATM, native", "the same against images as bytes."),
    "atm_printed": ("ATM, as printed", "the paper's printed form, which counts stored vectors."),
    "macs_task": ("MACs", "multiply-accumulate operations per task, all sets and targets."),
}


def macs_cell(macs: float) -> Cell:
    return Cell.of_number(macs, f"{macs / 1e6:,.1f} M" if macs >= 1e5 else f"{macs:,.0f}")
