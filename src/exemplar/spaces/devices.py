"""Where networks run: a processor, or a GPU if there is one."""

from __future__ import annotations

import re
from importlib.util import find_spec

import torch
from torch import Tensor

from exemplar.errors import UserError, unknown


def find_device(name: str) -> torch.device:
    """auto (a GPU where there is one), cpu, cuda, or cuda:N."""
    n_gpus = count_gpus()
    if name == "auto":
        return torch.device("cuda" if n_gpus else "cpu")
    found = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if found is None:
        raise unknown("device", name, ("auto", "cpu", "cuda", "cuda:N"))
    if name != "cpu" and not n_gpus:
        raise UserError("there is no GPU here that torch can use: leave the device out, or say cpu")
    if name != "cpu" and int(found[1] or 0) >= n_gpus:
        raise UserError(
            f"there is no {name} among the {n_gpus} GPUs that torch can use here: count from 0, or say auto"
        )
    return torch.device(name)


def takes_compiled_loops(x: Tensor) -> bool:
    """Whether the loops that numba compiles are for x: float32 on a processor. A GPU machine need not have numba at all."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and find_spec("numba") is not None


def count_gpus() -> int:
    return torch.cuda.device_count() if torch.cuda.is_available() else 0
