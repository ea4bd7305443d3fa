"""The networks of the diffusion agents by name, as cards name them. All are called alike:

condition = network.condition(exemplars)   # once per exemplar: (b, n, h, w) drawings, ink 1 → what the network keeps of them
noise = network(noisy, time, condition)    # at each step: (b, 1, h, w), (b,) t / T → (b, 1, h, w)

In training the drawings themselves are the condition; for FSDM whole sets, (sets, n, h, w) where b = sets · n: each drawing's
condition is then the others of its set.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import nn

from exemplar.draw.diffusion.convnext_unet import ConvNextUNet
from exemplar.draw.diffusion.layers import embed_time
from exemplar.draw.diffusion.residual_unet import STEPS, ResidualUNet
from exemplar.draw.diffusion.set_encoders import SetViT, UNetEncoder
from exemplar.errors import UserError


class Denoiser(Protocol):
    """What samplers and objectives call."""

    def condition(self, exemplars: torch.Tensor) -> torch.Tensor: ...

    def __call__(self, noisy: torch.Tensor, time: torch.Tensor, condition: torch.Tensor) -> torch.Tensor: ...


class ExemplarUNet(ConvNextUNet):
    """DDPM's and CFGDM's network: the exemplar itself is the condition."""

    def condition(self, exemplars: torch.Tensor) -> torch.Tensor:
        """(b, 1, h, w) → the same."""
        if exemplars.shape[1] != 1:
            raise UserError(f"this network is shown one exemplar, not {exemplars.shape[1]}: use fsdm for sets")
        return exemplars


class SetUNet(nn.Module):
    """FSDM on Omniglot: a residual U-Net that knows the mean of what half a U-Net reads from each drawing of the set."""

    def __init__(self, size: int = 48, width: int = 32, blocks: int = 2, context: int = 128) -> None:
        super().__init__()
        self.encoder = UNetEncoder(size, width, blocks=2, context=context)
        self.generator = ResidualUNet(width, blocks=blocks, context=context)

    def condition(self, exemplars: torch.Tensor) -> torch.Tensor:
        """(b, n, h, w) → (b, context)."""
        return self.encoder(exemplars).mean(1)

    def forward(self, noisy: torch.Tensor, time: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        if condition.ndim == 4:
            read = self.encoder(condition)  # (sets, n, context), each drawing read once
            condition = ((read.sum(1, keepdim=True) - read) / (read.shape[1] - 1)).flatten(0, 1)
        return self.generator(noisy, time, condition)


class SetViTUNet(nn.Module):
    """FSDM on QuickDraw: a residual U-Net that knows what a transformer reads from the patches of a set, and from the time."""

    def __init__(self, size: int = 48, width: int = 32, blocks: int = 4, context: int = 256, patch: int = 8) -> None:
        super().__init__()
        self.encoder = SetViT(size, patch, context, time=4 * width)
        self.generator = ResidualUNet(width, blocks=blocks, context=context)

    def condition(self, exemplars: torch.Tensor) -> torch.Tensor:
        """(b, n, h, w) → the same: what is read depends on the time."""
        return exemplars

    def forward(self, noisy: torch.Tensor, time: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        if len(condition) < len(noisy):
            condition = leave_each_out(condition)
        embedded = embed_time(time * STEPS, self.generator.width, cosine_first=True)
        return self.generator(noisy, time, self.encoder(condition, self.generator.time(embedded)))


def leave_each_out(sets: torch.Tensor) -> torch.Tensor:
    """(sets, n, h, w) → (sets · n, n − 1, h, w): for each drawing the others of its set."""
    n = torch.arange(sets.shape[1], device=sets.device)
    return sets[:, (n[:, None] + n[1:]) % len(n)].flatten(0, 1)


NETWORKS = {"convnext-unet": ExemplarUNet, "set-unet": SetUNet, "set-vit-unet": SetViTUNet}


def count_parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
