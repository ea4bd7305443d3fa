"""A network's forward on a GPU: in bfloat16, recorded once as a CUDA graph and replayed, one launch instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable

import torch

WARM_UP = 3  # calls before one is recorded: libraries choose their kernels and set up their memory in these
Forward = Callable[..., torch.Tensor]


def recorded(forward: Forward) -> Forward:
    """The same function of tensors whose shapes never change; what it returns is overwritten by the next call."""
    given: list[torch.Tensor] = []
    found: list[torch.Tensor] = []
    graph = torch.cuda.CUDAGraph()

    def record(*inputs: torch.Tensor) -> None:
        given.extend(tensor.clone() for tensor in inputs)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            for _ in range(WARM_UP):
                forward(*given)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph), torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            found.append(forward(*given))

    def replay(*inputs: torch.Tensor) -> torch.Tensor:
        if not given:
            record(*inputs)
        for kept, tensor in zip(given, inputs, strict=True):
            kept.copy_(tensor)
        graph.replay()
        return found[0]

    return replay
