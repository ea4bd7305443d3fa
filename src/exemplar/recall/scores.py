"""What the predictions are worth: accuracy, cross-entropy, what was forgotten, memory; pure functions of outcomes.

The unit of every interval is the task: targets of one task share their classes. Standard deviations are over tasks, ddof = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import seeds, stats
from exemplar.errors import UserError
from exemplar.recall.outcomes import Outcome
from exemplar.records import Score


def task_accuracies(outcome: Outcome) -> np.ndarray:
    """(n,) the share of T, the concatenation of all T_n, that is named rightly."""
    return outcome.right(outcome.log_p).mean(axis=(1, 2))


def task_cross_entropies(outcome: Outcome) -> np.ndarray:
    """(n,) nats, over the full output width."""
    return outcome.nats().mean(axis=(1, 2))


def distinct_accuracies(outcome: Outcome) -> np.ndarray:
    """(n,) as `task_accuracies`, with a target that is in several T_n counted once."""
    right = outcome.right(outcome.log_p).reshape(len(outcome.label), -1)
    rows = outcome.target.reshape(len(outcome.label), -1)
    return np.array([one[np.unique(row, return_index=True)[1]].mean() for one, row in zip(right, rows, strict=True)])


def set_accuracies(outcome: Outcome) -> np.ndarray:
    """(n, nss) accuracy on the targets of each support set, after the last."""
    return outcome.right(outcome.log_p).mean(axis=2)


def backward_transfers(outcome: Outcome) -> np.ndarray | None:
    """(n,) accuracy at the end less accuracy right after the set, mean over all sets but the last; negative is forgetting."""
    if outcome.own_log_p is None or outcome.label.shape[1] < 2:
        return None
    now, then = (outcome.right(log_p).mean(axis=2) for log_p in (outcome.log_p, outcome.own_log_p))
    return (now - then)[:, :-1].mean(axis=1)


def score_outcome(outcome: Outcome, *, variant: str = "", space: str = "") -> list[Score]:
    """Every score of one run. variant: the task type; space: what the agent stands on."""
    n = len(outcome.label)
    if n < 2:
        raise UserError(f"{n} task gives no interval: use at least 2")
    labels: dict[str, Any] = {"agent": outcome.agent, "variant": variant, "space": space}
    accuracy, nats = task_accuracies(outcome), task_cross_entropies(outcome)
    found = [
        Score.of("accuracy", stats.mean_share(accuracy), **labels),
        Score.of("accuracy_sd", _deviation(accuracy), **labels),
        Score.of("cross_entropy", stats.mean(nats), **labels),
        Score.of("cross_entropy_sd", _deviation(nats), **labels),
        Score.of("accuracy_distinct", stats.mean_share(distinct_accuracies(outcome)), **labels),
    ]
    if outcome.label.shape[1] > 1:
        each = set_accuracies(outcome)
        found += [Score.of("accuracy_of_set", stats.mean_share(each[:, k]), concept=f"set {k + 1}", **labels)
                  for k in range(each.shape[1])]  # fmt: skip
    transfer = backward_transfers(outcome)
    if transfer is not None:
        found.append(Score.of("backward_transfer", stats.mean(transfer), **labels))
    for name, values in (
        ("atm", outcome.atm),
        ("atm_native", outcome.atm_native),
        ("atm_printed", outcome.atm_printed),
    ):
        found.append(Score.of(name, stats.mean(values[~outcome.failed]), **labels))
    return found


def _deviation(values: np.ndarray) -> stats.Estimate:
    # a seed made from the values would turn their rounding into another interval
    return stats.bootstrap(stats.weighted.std(values), n_replicates=1000, rng=seeds.rng("recall", "deviation"))


@dataclass(frozen=True)
class Difference:
    """first − second on the same tasks. accuracy, cross_entropy: estimates; p, p_cross_entropy: of no difference, by flipping
    signs of tasks."""

    first: str
    second: str
    accuracy: stats.Estimate
    cross_entropy: stats.Estimate
    p: float
    p_cross_entropy: float


def compare_outcomes(first: Outcome, second: Outcome) -> Difference:
    """Paired by task."""
    if not (np.array_equal(first.target, second.target) and np.array_equal(first.label, second.label)):
        raise UserError("the two runs are of other tasks: run both on the same suite")
    pairs = [(measure(first), measure(second)) for measure in (task_accuracies, task_cross_entropies)]
    names = (first.agent, second.agent)
    p = [stats.paired_test(a, b, n_permutations=2000, rng=seeds.rng("recall", "paired", k, *names)).p
         for k, (a, b) in enumerate(pairs)]  # fmt: skip
    estimates = [stats.mean(a - b) for a, b in pairs]
    return Difference(*names, estimates[0], estimates[1], float(p[0]), float(p[1]))


def pareto_front(accuracy: Sequence[float], *costs: Sequence[float]) -> np.ndarray:
    """(n,) bool: no other one is at least as accurate and as cheap in every cost, and better in one of these."""
    points = np.column_stack([-np.asarray(accuracy, float), *(np.asarray(cost, float) for cost in costs)])
    no_worse = (points[:, None] <= points[None]).all(axis=2)
    better = (points[:, None] < points[None]).any(axis=2)
    return np.asarray(~(no_worse & better).any(axis=0))
