"""The depthwise 7×7 convolution of a ConvNeXt block: the library's, or on a GPU kernels of our own.

Ours read channels-last images as they are, sum in float32, and give the same sums in the same order each time. They are used
where `use_kernels(True)` was called, Triton is there and the images lie on a GPU; elsewhere the library's convolution is.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn
from torch.nn import functional

SIDE, MARGIN = 7, 3
_convolve: Any = None  # our operation, where it is wanted


class Depthwise(nn.Conv2d):
    """(b, c, h, w) → the same: every channel by a 7×7 kernel of its own."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, SIDE, padding=MARGIN, groups=channels)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if _convolve is not None and images.is_cuda:
            assert self.bias is not None
            return convolve(images, self.weight, self.bias)
        return super().forward(images)


def use_kernels(wanted: bool) -> None:
    """Whether our kernels are used where they can be; to be said before a network is compiled."""
    global _convolve
    _convolve = _operations()[0] if wanted and has_triton() else None


def has_triton() -> bool:
    return find_spec("triton") is not None


def convolve(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """By our kernels. images: (b, c, h, w); weight: (c, 1, 7, 7); bias: (c,)."""
    if torch.is_autocast_enabled(images.device.type):
        images = images.to(torch.get_autocast_dtype(images.device.type))
    operation = _convolve or _operations()[0]
    found: torch.Tensor = operation(images, weight, bias)
    return found


@cache
def _operations() -> tuple[Any, ...]:
    """Made known to torch once, so that torch.compile takes each as one piece."""
    kernels = _kernels()

    @torch.library.custom_op("exemplar::depthwise", mutates_args=())
    def forward(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return kernels.slide(images, weight, bias)

    @torch.library.custom_op("exemplar::depthwise_of_images", mutates_args=())
    def of_images(change: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return kernels.slide(change, weight.flip(2, 3), None)

    @torch.library.custom_op("exemplar::depthwise_of_weights", mutates_args=())
    def of_weights(change: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        return kernels.correlate(change, images)

    @forward.register_fake
    def _(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(images, memory_format=torch.channels_last)

    @of_images.register_fake
    def _(change: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(change, memory_format=torch.channels_last)

    @of_weights.register_fake
    def _(change: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        return change.new_empty((change.shape[1], 1, SIDE, SIDE), dtype=torch.float32)

    def keep(ctx: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        images, weight, _ = inputs
        ctx.save_for_backward(images, weight)

    def backward(ctx: Any, change: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        images, weight = ctx.saved_tensors
        change = change.to(images.dtype)
        need = ctx.needs_input_grad
        return (
            of_images(change, weight) if need[0] else None,
            of_weights(change, images).to(weight.dtype) if need[1] else None,
            change.float().sum((0, 2, 3)).to(weight.dtype) if need[2] else None,
        )

    forward.register_autograd(backward, setup_context=keep)
    return forward, of_images, of_weights


@cache
def _kernels() -> Any:
    from exemplar.draw.diffusion import depthwise_kernels

    return depthwise_kernels


def convolve_slowly(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's convolution, what ours is held against."""
    return functional.conv2d(images, weight, bias, padding=MARGIN, groups=len(weight))
