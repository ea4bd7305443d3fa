"""Across-task memory: bits of state that are new or changed since the task began, over the bits of all support images.

Both sides of Eq. 1 are bits, each at its own precision. An array counts as a whole as soon as one of its numbers differs from
the snapshot before the task. Labels are not counted, as in the specification: of the state, the one array of whole numbers
whose name begins with "label", if it has no more entries than there were samples and all are labels. Names are free, since the
stream refuses names that differ from one task to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Charge:
    """bits: that count; by_array: name → bits; label_bits: that do not count."""

    bits: int
    by_array: Mapping[str, int]
    label_bits: int = 0


def charge_state(
    state: Mapping[str, np.ndarray], snapshot: Mapping[str, np.ndarray], *, n_samples: int, n_labels: int
) -> Charge:
    """What a state costs at a boundary. snapshot: the state before the task; n_samples: support samples seen so far."""
    labels = next((name for name in sorted(state) if _is_labels(name, state[name], n_samples, n_labels)), None)
    found: dict[str, int] = {}
    for name, array in state.items():
        if name == labels or _unchanged(array, snapshot.get(name)):
            continue
        found[name] = bits_of(array)
    return Charge(sum(found.values()), found, bits_of(state[labels]) if labels is not None else 0)


def bits_of(array: np.ndarray) -> int:
    """By type: a bool counts as 1 bit, float16 as 16, int8 as 8."""
    return array.size * (1 if array.dtype == bool else 8 * array.itemsize)


def across_task_memory(bits: int, n_images: int, image_shape: tuple[int, ...], bits_per_value: int = 32) -> float:
    """Eq. 1 in bits. image_shape: (channels, h, w); bits_per_value: 32 as handed over, 8 as the images are natively."""
    return bits / (n_images * int(np.prod(image_shape)) * bits_per_value)


def printed_atm(charge: Charge, state: Mapping[str, np.ndarray], n_images: int, n_values: int) -> float:
    """The paper's printed form: stored vectors over samples seen, each vector weighed by its length and precision against an
    image's. Arrays of two dimensions or more are vectors (the last axis is one's length); all others are left out, as the
    paper leaves out labels and counters."""
    total = 0.0
    for name in charge.by_array:
        array = state[name]
        if array.ndim >= 2:
            vectors = array.size // array.shape[-1]
            total += vectors * (array.shape[-1] / n_values) * (8 * array.itemsize / 32)
    return total / n_images


def _is_labels(name: str, array: np.ndarray, n_samples: int, n_labels: int) -> bool:
    whole = array.ndim == 1 and array.dtype.kind in "iu" and 0 < array.size <= n_samples
    return name.startswith("label") and whole and bool((array >= 0).all() and (array < n_labels).all())


def _unchanged(array: np.ndarray, before: np.ndarray | None) -> bool:
    return (
        before is not None
        and array.dtype == before.dtype
        and array.shape == before.shape
        and array.tobytes() == before.tobytes()
    )
