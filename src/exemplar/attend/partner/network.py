"""A classifier whose answers cannot jump: no change of a drawing by ε (ℓ2) moves its 25 outputs by more than L·ε, with L
near 1.

Convolutions and linear layers whose largest singular value is at most 1, GroupSort between them (Anil et al. 2019), and a
rearrangement of pixels into channels instead of pooling. The layers are trained under the constraint (deel-torchlip) and
kept as plain ones: to use the network, torch is enough, and `find_lipschitz_bound` measures L from its weights alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn


class GroupSort2(nn.Module):
    """Sorts pairs of channels: 1-Lipschitz, and keeps the length of every gradient."""

    def forward(self, x: Tensor) -> Tensor:
        pairs = x.unflatten(1, (-1, 2))
        return torch.stack([pairs.amin(dim=2), pairs.amax(dim=2)], dim=2).flatten(1, 2)


def build_classifier(
    classes: int, size: int = 28, channels: Sequence[int] = (16, 32, 32), hidden: int = 128
) -> nn.Sequential:
    """Fresh weights, unconstrained. (n, 1, size, size) → (n, classes)."""
    first, second, third = channels
    return nn.Sequential(
        nn.Conv2d(1, first, 5, padding=2),
        GroupSort2(),
        nn.PixelUnshuffle(2),
        nn.Conv2d(4 * first, second, 3, padding=1),
        GroupSort2(),
        nn.PixelUnshuffle(2),
        nn.Conv2d(4 * second, third, 3, padding=1),
        GroupSort2(),
        nn.Flatten(),
        nn.Linear(third * (size // 4) ** 2, hidden),
        GroupSort2(),
        nn.Linear(hidden, classes),
    )


def find_lipschitz_bound(network: nn.Sequential, size: int = 28) -> float:
    """L: the product of the layers' norms, each an upper bound; rearrangements and GroupSort have norm 1.

    Of a linear layer, its largest singular value. Of a convolution of an n × n image with padding, that of the circular
    convolution on a grid so large that nothing wraps around, of which it is a part: the largest over frequencies (Sedghi et al.
    2019). Of any layer that is not known here there is no bound.
    """
    bound = 1.0
    for norm in _norms(network, size):
        bound *= norm
    return bound


def _norms(network: nn.Sequential, size: int) -> Iterator[float]:
    side = size
    for layer in network:
        if isinstance(layer, nn.Linear):
            yield float(np.linalg.norm(layer.weight.detach().double().numpy(), 2))
        elif isinstance(layer, nn.Conv2d):
            yield conv_norm(layer.weight.detach().double().numpy(), side)
        elif isinstance(layer, nn.PixelUnshuffle):
            side //= layer.downscale_factor
        elif not isinstance(layer, GroupSort2 | nn.Flatten):
            raise TypeError(f"no bound is known for {type(layer).__name__}")


def conv_norm(kernel: np.ndarray, side: int) -> float:
    """kernel: (out, in, k, k); side: px of its input. An upper bound of the norm of the padded convolution, stride 1."""
    grid = side + kernel.shape[2] - 1
    transfer = np.fft.fft2(kernel, (grid, grid)).transpose(2, 3, 0, 1)  # (frequencies, frequencies, out, in)
    return float(np.linalg.norm(transfer.reshape(-1, *kernel.shape[:2]), 2, axis=(1, 2)).max())
