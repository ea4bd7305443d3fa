"""The most memory in use at once: bytes of the tensors alive, beyond those alive before, seen as torch makes and drops them.

What an operator takes for itself while it runs (a workspace) is not seen. On a GPU, torch's own peak is read instead.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LiveBytes(TorchDispatchMode):
    """Counts while it is entered. peak: bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.peak = 0, 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        before = {_storage_id(tensor) for tensor in _flat((args, kwargs or {}))}
        for tensor in _flat(out):
            key = _storage_id(tensor)
            if key not in before and key not in self.known:
                self._add(key, tensor.untyped_storage())
        return out

    def _add(self, key: int, storage: torch.UntypedStorage) -> None:
        size = storage.nbytes()
        self.known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._drop, key, size)

    def _drop(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.now -= size


@contextmanager
def peak_memory() -> Iterator[LiveBytes]:
    with LiveBytes() as found:
        yield found


def _storage_id(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return []
    return [tensor for part in value for tensor in _flat(part)]
