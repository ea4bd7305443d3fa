"""A name → independent random generators. There is no global randomness anywhere in Exemplar.

A generator belongs to what it is for, `rng("draw", "ddpm", 3)`, not to when it was asked for: neither the order of the
calls nor the number of workers can change what a job draws.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


def digest(*parts: Any, size: int = 16) -> str:
    """Hexadecimal digest of `size` bytes of any nesting of plain values, arrays and dataclasses.

    Every value is written with its type and length, so that ("a", "bc") and ("ab", "c"), or 1, 1.0, "1" and True, differ;
    a NumPy number counts as the Python number it holds. The order of a dict's keys does not matter. A dataclass counts by its
    fields and its `digest_name`, a frozen string: what the class is called in the source decides nothing.
    """
    state = hashlib.blake2b(digest_size=size)
    _feed(state, parts)
    return state.hexdigest()


def seed(*name: Any) -> int:
    """The whole number in [0, 2⁶³) that belongs to this name, for libraries that want one."""
    return int(digest(*name, size=8), 16) >> 1


def rng(*name: Any) -> np.random.Generator:
    """The NumPy generator that belongs to this name (counter-based, so that two names never share a stream)."""
    return np.random.Generator(np.random.Philox(key=int(digest(*name), 16)))


def torch_rng(*name: Any, device: str | torch.device = "cpu") -> torch.Generator:
    """The torch generator that belongs to this name, on a device. A GPU's stream differs from the CPU's."""
    import torch

    return torch.Generator(device=device).manual_seed(seed(*name))


def _feed(state: Any, value: Any) -> None:
    """Feed one value into the hash as tag, length, content: no two values feed the same bytes."""
    if isinstance(value, np.generic):
        value = value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        value = (getattr(type(value), "digest_name", ""), fields)
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: (type(item[0]).__name__, str(item[0])))
        state.update(b"d%d:" % len(items))
        for key, content in items:
            _feed(state, key)
            _feed(state, content)
    elif isinstance(value, list | tuple):
        state.update(b"l%d:" % len(value))
        for content in value:
            _feed(state, content)
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"an array of {value.dtype} has no digest: give it a number or text type")
        state.update(f"a{value.dtype.str}{value.shape}:".encode())
        state.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
    elif value is None or isinstance(value, bool | int | float | complex | str | bytes | Path):
        content = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        state.update(f"{type(value).__name__[:5]}{len(content)}:".encode() + content)
    else:
        raise TypeError(f"a {type(value).__name__} has no digest: name things by text, numbers, arrays or dataclasses")
