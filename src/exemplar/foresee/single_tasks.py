"""One task of a user's own: samples, labels, perhaps unlabelled samples; classes may have different numbers of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from exemplar.answers import Answer, format_table
from exemplar.errors import UserError
from exemplar.foresee.banks import as_directions
from exemplar.foresee.graphs import GraphConfig
from exemplar.foresee.indicators import MEASURES, PAPER, compute_measures
from exemplar.foresee.views import PAPER_GRAPH, TaskView
from exemplar.images.concepts import Labels


@dataclass(frozen=True, eq=False)
class FewShotTask:
    """support: (n, d) of length 1; labels: (n,) whole numbers; names: of the classes; queries: (q, d) of length 1, or None.

    Features are float64: of one task that costs nothing, and samples that are nearly the same are still told apart (in float32
    their distances, differences of entries of a Gram matrix, would be rounding, and another processor would round otherwise).
    """

    support: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    queries: np.ndarray | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, support: Any, labels: Sequence[object] | np.ndarray, queries: Any = None) -> FewShotTask:
        """From anything that can be an array; what cannot be a task is refused in a sentence."""
        x = _matrix(support, "support")
        given = np.asarray(labels)
        if given.shape != (len(x),):
            raise UserError(
                f"There are {len(x)} labelled samples and labels of shape {given.shape}: give one label per sample."
            )
        named = Labels.of(given.tolist())
        if len(named.names) < 2:
            raise UserError(
                f"A classifier needs at least 2 classes to tell apart, there is {len(named.names)}: label others."
            )
        rows, warnings = as_directions(x, "The support")
        others = None
        if queries is not None and len(queries):
            q = _matrix(queries, "queries")
            if q.shape[1] != x.shape[1]:
                raise UserError(
                    f"Queries have {q.shape[1]} features and the support has {x.shape[1]}: encode them alike."
                )
            others, more = as_directions(q, "The queries")
            warnings = tuple(dict.fromkeys((*warnings, *more)))
        if len(rows) > 1 and np.ptp(rows, axis=0).max() < 1e-6:
            raise UserError("All labelled samples are identical: there is nothing to tell classes apart by.")
        return cls(rows, named.code.astype(np.int64), named.names, others, warnings)

    @property
    def n_ways(self) -> int:
        return len(self.names)

    @property
    def counts(self) -> np.ndarray:
        """(ways,) labelled samples of each class."""
        return np.bincount(self.labels, minlength=self.n_ways)

    @property
    def n_queries(self) -> int:
        return 0 if self.queries is None else len(self.queries)

    def view(self, *, diffused: bool = False, graph: GraphConfig = PAPER_GRAPH, seed: int = 0) -> TaskView:
        """The task as measures and agents see it, a batch of one."""
        queries = None if self.queries is None else torch.from_numpy(self.queries)[None]
        return TaskView(
            torch.from_numpy(self.support)[None], torch.from_numpy(self.labels)[None], queries, self.n_ways,
            diffused=diffused and queries is not None, graph=graph, name=(seed,),
        )  # fmt: skip


def measures(
    support: Any, labels: Any, queries: Any = None, *, names: Sequence[str] = (), diffused: bool = False, seed: int = 0
) -> dict[str, float]:
    """Measures of one task, by name.

    Args:
        support: (n, d) features of the labelled samples; each is divided by its length.
        labels: (n,) numbers or text; classes may have different numbers of samples.
        queries: (q, d) features of unlabelled samples, where there are any.
        names: which measures; all that exist for this task unless given.
        diffused: whether features are diffused through a graph of all samples first, as in semi-supervised tasks.
        seed: of the classifiers' starts.

    Returns:
        Measure → value; those that need queries, or two samples of each class, only where these are there.

    >>> import exemplar as ex, numpy as np
    >>> x = np.eye(4)[[0, 0, 1, 1]] + 0.1
    >>> round(ex.foresee.measures(x, ["cat", "cat", "dog", "dog"])["loo_nearest_mean"], 3)
    1.0
    """
    task = FewShotTask.of(support, labels, queries)
    there = measures_of(task)
    wanted = tuple(names) or there
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UserError(f"{missing[0]} does not exist for this task: there are {', '.join(there)}.")
    view = task.view(diffused=diffused, seed=seed)
    return {name: float(value[0]) for name, value in compute_measures(view, wanted).items()}


def measures_of(task: FewShotTask) -> tuple[str, ...]:
    """Those that exist for a task."""
    least = int(task.counts.min())
    return tuple(
        name
        for name, measure in MEASURES.items()
        if measure.shots <= least and not (measure.queries and task.queries is None)
    )


def describe_measures() -> Answer:
    rows = [
        {
            "name": name,
            "better": "higher" if measure.better > 0 else "lower",
            "looks_at": "unlabelled samples"
            if measure.queries
            else "labelled samples"
            if measure.labels
            else "samples",
            "paper": name in PAPER,
            "what": measure.about,
        }
        for name, measure in MEASURES.items()
    ]
    lines = [(row["name"], row["better"], row["looks_at"], row["what"]) for row in rows]
    return Answer(values={"measures": rows}, text=format_table(("measure", "better", "looks at", "what it is"), lines))


def _matrix(values: Any, what: str) -> np.ndarray:
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise UserError(f"The {what} must be numbers, one row of features per sample.") from problem
    if x.ndim != 2 or 0 in x.shape:
        raise UserError(f"The {what} must be (samples, features), at least one of each, they are {x.shape}.")
    return x
