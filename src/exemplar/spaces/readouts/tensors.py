"""Tasks as tensors: checked, on one device, and chunk by chunk, so that what is made at once stays in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from exemplar.errors import UserError

Array = np.ndarray | Tensor
CHUNK_BYTES = 1 << 22  # of the largest thing made at once: a chunk of tasks stays in the processor's cache
GPU_CHUNK_BYTES = 1 << 29  # a GPU wants much to do at once


def as_tensor(values: Array, name: str) -> Tensor:
    x = torch.as_tensor(values)
    x = x if x.dtype in (torch.float32, torch.float64) else x.float()
    # the squares of the differences between a task's examples can be summed up: at 40,000 numbers, 5e16 in float32
    largest = (torch.finfo(x.dtype).max / (4 * max(1, math.prod(x.shape[1:])))) ** 0.5
    if x.numel() and not max(map(abs, torch.stack(x.aminmax()).tolist())) < largest:  # NaN is not
        raise UserError(
            f"the {name} hold features that are NaN, infinite, or beyond ±{largest:.0e}, whose squares overflow: fix or "
            "rescale them first"
        )
    return x


def check_tasks(
    support: Array, labels: Array, n_classes: int, penalty: float = 1.0, all_present: bool = True
) -> tuple[Tensor, Tensor]:
    """The support and its labels as tensors on one device, or the reason why they cannot be fitted."""
    x, y = as_tensor(support, "support examples"), torch.as_tensor(labels)
    if x.ndim != 3 or 0 in x.shape or y.shape != x.shape[:2]:
        shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
        raise UserError(f"support and labels must be (tasks, n, d) and (tasks, n), none of them 0, these are {shapes}")
    if y.is_floating_point() or y.dtype == torch.bool or y.min() < 0 or y.max() >= n_classes:
        raise UserError(f"labels must be whole numbers from 0 to {n_classes - 1}, one for each class")
    if not 0 < penalty < float("inf"):
        raise UserError(f"the penalty {penalty} must be above 0")
    y = y.to(x.device, torch.int64)
    if all_present:
        check_present(one_hot(y, n_classes).sum(dim=1))
    return x, y


def check_present(count: Tensor) -> None:
    """count: (tasks, classes)."""
    if (missing := (count == 0).nonzero()).numel():
        task, label = missing[0].tolist()
        raise UserError(f"class {label} of task {task} has no support example: give each class at least one")


def one_hot(y: Tensor, n_classes: int) -> Tensor:
    return F.one_hot(y, n_classes).double()


def widest(x: Tensor) -> int:
    """Numbers in the largest thing a ridge or LDA makes for a task."""
    n, d = x.shape[1:]
    return max(n * d, min(n, d) ** 2)


def chunks(tasks: int, numbers: int, device: torch.device | None = None) -> Iterator[slice]:
    """Slices of the tasks, of which each needs so many float64 numbers at once."""
    n_bytes = GPU_CHUNK_BYTES if device is not None and device.type == "cuda" else CHUNK_BYTES
    size = max(1, n_bytes // (8 * numbers))
    return (slice(start, start + size) for start in range(0, tasks, size))


def cholesky(matrix: Tensor) -> Tensor:
    try:
        return torch.linalg.cholesky(matrix)
    except torch.linalg.LinAlgError as problem:
        raise UserError(
            "the features are too large for this penalty: divide them by their norm, or raise it"
        ) from problem
