"""A classifier of the user's own: a function of one task, (support, labels, queries, rng) → a label for each query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from exemplar.errors import UserError
from exemplar.foresee.evaluating import Answering
from exemplar.foresee.tasks import TaskConfig
from exemplar.foresee.views import TaskView
from exemplar.user_code import guarded, load_named, name_of

FORM = "an agent is a function (support, labels, queries, rng) that gives a label for each query"


def find_function(given: Any) -> tuple[Callable[..., Any], str]:
    """The function and what sentences call it."""
    if isinstance(given, str):
        return load_named(given), given.rpartition(":")[2]
    if not callable(given):
        raise UserError(f"A {type(given).__name__} cannot be called: {FORM}.")
    return given, name_of(given)


def find_answering(given: Any, config: TaskConfig) -> Answering:
    """As the room's own agents answer, task by task."""
    if config.setting == "unsupervised":
        raise UserError(
            "An agent of your own names classes, and nothing is labelled in --setting unsupervised: use another."
        )
    function, name = find_function(given)

    def answer(view: TaskView) -> Tensor:
        rng, found = view.rng("agent"), []
        for support, labels, queries in zip(view.support, view.labels, view.queries, strict=True):
            found.append(
                ask(
                    function, name, support.cpu().numpy(), labels.cpu().numpy(), queries.cpu().numpy(), view.n_ways, rng
                )
            )
        return torch.from_numpy(np.stack(found)).to(view.labels.device)

    return answer


def ask(
    function: Callable[..., Any], name: str, support: np.ndarray, labels: np.ndarray, queries: np.ndarray, n_ways: int,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """(q,) int64: what the function answers, checked."""
    with guarded(f"{name} failed"):
        made = np.asarray(function(support.copy(), labels.copy(), queries.copy(), rng))
    if made.shape != (len(queries),):
        raise UserError(
            f"{name} gave an array of shape {made.shape} for {len(queries)} queries: give one label per query."
        )
    if made.dtype.kind not in "iu":
        raise UserError(f"{name} gave {made.dtype} instead of whole numbers: give labels as they are in `labels`.")
    if made.min() < 0 or made.max() >= n_ways:
        raise UserError(
            f"{name} gave the label {made.max() if made.max() >= n_ways else made.min()}: labels are 0 to {n_ways - 1}."
        )
    return made.astype(np.int64)
