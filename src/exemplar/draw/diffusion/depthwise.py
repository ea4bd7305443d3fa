"""The depthwise 7×7 convolution of a ConvNeXt block.

On a GPU the gradient of the images is taken as a convolution by the turned kernel, which it is: the library's own kernel for
that gradient takes twice as long.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.diffusion.normalising import by_hand

SIDE, MARGIN = 7, 3


class Depthwise(nn.Conv2d):
    """(b, c, h, w) → the same: every channel by a 7×7 kernel of its own."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, SIDE, padding=MARGIN, groups=channels)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if not by_hand(images):
            return super().forward(images)
        kind = images.device.type
        wanted = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else self.weight.dtype
        assert self.bias is not None
        found: torch.Tensor = TurnedGradient.apply(images.to(wanted), self.weight.to(wanted), self.bias.to(wanted))
        return found


class TurnedGradient(torch.autograd.Function):
    """The convolution; images, weight (c, 1, 7, 7) and bias (c,) are of one type."""

    @staticmethod
    def forward(ctx: Any, images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(images, weight)
        return functional.conv2d(images, weight, bias, padding=MARGIN, groups=len(weight))

    @staticmethod
    def backward(ctx: Any, *changes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        images, weight = ctx.saved_tensors
        change = changes[0].to(images.dtype)
        of_images = functional.conv2d(change, weight.flip(2, 3), padding=MARGIN, groups=len(weight))
        _, of_weight, of_bias = torch.ops.aten.convolution_backward(
            change, images, weight, [len(weight)], [1, 1], [MARGIN, MARGIN], [1, 1], False, [0, 0], len(weight),
            [False, True, True],
        )  # fmt: skip
        return of_images, of_weight, of_bias
