"""What a learner may keep from one support set to the next: a dict of plain arrays, read, copied and refused here.

Nothing else lasts, so nothing else can carry a support set along: no objects, no subclasses of arrays or tensors with
attributes of their own, no lazy or sparse ones, nothing that is NaN (a view of a support set, which is poisoned when the set is
over, turns NaN).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from exemplar.errors import UserError, shortened

POISON_LABEL = -(2**62) - 12345  # what the labels of a set that is over turn into
MOST_BYTES = 1 << 31
KINDS = "biuf"
State = dict[str, np.ndarray]


def poison(images: torch.Tensor, labels: torch.Tensor) -> None:
    """A support set that is over: a view of it that was kept has NaN and impossible labels."""
    with torch.no_grad():
        images.detach().fill_(float("nan"))
        labels.detach().fill_(POISON_LABEL)


def read_state(given: Any, who: str) -> State:
    """Copies of what `state()` returned, by name in order; a UserError says what may not be kept."""
    if type(given) is not dict:
        raise UserError(f"{who}.state() must return a dict of arrays, it returned a {type(given).__name__}")
    for name in given:
        if type(name) is not str or not name.isprintable() or len(name) > 100:
            raise UserError(
                f"{who}.state() has a key {str(name)[:40]!r}: keys are names of up to 100 printable characters"
            )
    return {name: _read(given[name], f"{who}.state()[{name!r}]") for name in sorted(given)}


def _read(value: Any, what: str) -> np.ndarray:
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        if value.layout != torch.strided or value.is_quantized or value.is_complex():
            raise UserError(f"{what} is a {value.layout} tensor of {value.dtype}: keep plain real or whole numbers")
        plain = value.detach().to("cpu")
        if plain.dtype == torch.bfloat16:
            raise UserError(f"{what} is bfloat16, which NumPy does not know: keep it as float16, or as its int16 bits")
        value = plain.numpy()
    if type(value) is not np.ndarray:
        raise UserError(
            f"{what} is a {type(value).__name__}: only NumPy arrays and torch tensors themselves may be kept, no subclasses"
        )
    if value.dtype.kind not in KINDS or value.dtype.hasobject or not value.dtype.isnative:
        raise UserError(f"{what} is an array of {value.dtype}: keep real or whole numbers, or true and false")
    if not value.size and value.shape != (0,):
        raise UserError(f"{what} is empty but has the shape {value.shape}: an empty array has the shape (0,)")
    if value.nbytes > MOST_BYTES:
        raise UserError(f"{what} takes {value.nbytes / 1e9:.1f} GB: keep at most {MOST_BYTES / 1e9:.1f}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise UserError(
            f"{what} has NaN or infinite values: support images become NaN when their set is over, so a view of them was "
            "kept, or something diverged; keep a copy, which is charged"
        )
    if value.dtype.kind == "i" and value.itemsize == 8 and (value == POISON_LABEL).any():
        raise UserError(f"{what} is a view of the labels of a support set that is over: keep a copy")
    if value.dtype == bool:  # 1 bit is charged: of a byte that is more than 0 or 1, no more than that lasts
        return np.ascontiguousarray(value).view(np.uint8) != 0
    return np.array(value, order="C", copy=True)


def copy_state(state: Mapping[str, np.ndarray]) -> State:
    """For `restore`: a copy of its own, so that nothing is shared with what the harness holds."""
    return {name: array.copy() for name, array in state.items()}


def as_tensors(state: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """What `restore` got, as tensors that own their memory."""
    return {name: torch.from_numpy(array.copy()) for name, array in state.items()}


def same_states(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name]) for name in one
    )


def describe_state(state: Mapping[str, np.ndarray]) -> str:
    return shortened([f"{name} {array.shape} {array.dtype}" for name, array in state.items()])
