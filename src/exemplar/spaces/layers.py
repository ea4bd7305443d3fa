"""What layers of any torch module make of its input, from one forward pass that ends at the last of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from exemplar.errors import UserError, shortened, unknown
from exemplar.spaces.projection import Map


def layer_features(network: nn.Module, maps: Mapping[str, Map], x: Tensor) -> dict[str, np.ndarray]:
    """What layers of any torch module make of its input x, from one forward pass that ends at the last of them.

    maps: layer name → what is done with its flattened output (n, d), at once. Returns layer → (n, d') float32.
    """
    found: dict[str, np.ndarray] = {}

    def keep(layer: str, output: Tensor) -> None:
        found[layer] = maps[layer](output.flatten(1)).cpu().numpy()
        if len(found) == len(maps):
            raise _Enough

    _run(network, maps, x, keep)
    return {layer: found[layer] for layer in maps}


def layer_shapes(network: nn.Module, layers: Iterable[str], x: Tensor) -> dict[str, tuple[int, ...]]:
    """Layer → shape of its output for one image, found by a forward pass of x. Each layer must be used once in it."""
    shapes: dict[str, list[tuple[int, ...]]] = {layer: [] for layer in layers}
    _run(network, shapes, x, lambda layer, output: shapes[layer].append(tuple(output.shape[1:])))
    for layer, found in shapes.items():
        if len(found) != 1:
            raise UserError(f"the layer {layer!r} is used {len(found)} times in a forward pass: choose one used once")
    return {layer: found[0] for layer, found in shapes.items()}


class _Enough(Exception):
    """Raised inside a forward pass that has given all that was asked for."""


def _run(network: nn.Module, layers: Iterable[str], x: Tensor, receive: Callable[[str, Tensor], None]) -> None:
    """One forward pass; `receive` gets each named layer's output the moment it is there. Leaves no hook behind."""
    known = dict(network.named_modules(remove_duplicate=False))
    del known[""]
    for layer in layers:
        if layer not in known:
            raise unknown("layer", layer, known)
    if not layers:
        raise UserError(f"name at least one layer: there are {shortened(known)}")

    def hook(layer: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda _module, _inputs, output: receive(layer, _first_tensor(output, layer, len(x)))

    handles = [known[layer].register_forward_hook(hook(layer)) for layer in layers]
    try:
        with torch.inference_mode(), suppress(_Enough):
            network(x)
    finally:
        for handle in handles:
            handle.remove()


def _first_tensor(output: Any, layer: str, n: int) -> Tensor:
    """What a layer gave, or the first thing in it: transformer layers return tuples or records."""
    while not isinstance(output, Tensor) and isinstance(output, tuple | list | Mapping) and len(output):
        output = next(iter(output.values())) if isinstance(output, Mapping) else output[0]
    if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != n:
        given = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise UserError(f"the layer {layer!r} gives {given}, not one row per image: choose another layer")
    return output
