"""Jobs for the tests of the engine: workers import them by name, so they live in a module."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError


def draw_numbers(k: int) -> dict[str, Any]:
    """Sums whose last bits depend on the number of threads, from a generator named after the job."""
    values = seeds.rng("job", k).normal(size=(300, 300)).astype(np.float32)
    return {
        "job": k,
        "product": (values @ values)[:3],
        "sum": float((values @ values).sum()),
        "none": None,
        "text": "é",
    }


def fail_at_three(k: int) -> int:
    if k == 3:
        raise ValueError("three is too many")
    return k


def user_mistake(k: int) -> int:
    raise UserError("lower --ways")


def die_at_two(k: int) -> int:
    if k == 2:
        os._exit(9)
    return k


def count_calls(job: tuple[str, int]) -> int:
    """Leaves a file for each call, so that a test can see what was really computed."""
    folder, k = job
    (Path(folder) / f"{k}-{time.monotonic_ns()}").touch()
    return k * k


def wait_for_go(job: tuple[str, int]) -> int:
    """Leaves a file; all but job 0 end when there is a file `go`."""
    folder, k = job
    (Path(folder) / f"{k}").touch()
    while k and not (Path(folder) / "go").exists():
        time.sleep(0.01)
    return k


def own_mistake(k: int) -> int:
    raise UserError(f"lower --ways to {k}")


def bad_result(k: int) -> object:
    return object()


def threads(k: int) -> dict[str, Any]:
    import torch
    from threadpoolctl import threadpool_info

    return {"torch": torch.get_num_threads(), "blas": [pool["num_threads"] for pool in threadpool_info()]}


def say_gpus(k: int) -> dict[str, Any]:
    """Which GPUs Ray gave this job, real or pretended."""
    import ray

    return {"job": k, "gpus": [int(gpu) for gpu in ray.get_gpu_ids()]}


def die_once(job: tuple[str, int]) -> int:
    """The first call of job 1 takes its worker with it; every call leaves a file."""
    folder, k = job
    first = not list(Path(folder).glob(f"{k}-*"))
    (Path(folder) / f"{k}-{time.monotonic_ns()}").touch()
    if k == 1 and first:
        os._exit(9)
    return k * k
