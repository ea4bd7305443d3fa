"""The U-Net of DDPM and CFGDM: ConvNeXt blocks, linear attention, two halvings; the exemplar is a second channel of the input.

As in the authors' code, whose 5,956,633 parameters are the 5.9 M of the paper: width 40 where the text says 48, widths
n · (1, 2, 4) after a stem of 2 · ⌊n / 3⌋, blocks that widen by 2 and not by 3, and a middle attention that is not linear.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.diffusion.depthwise import Depthwise
from exemplar.draw.diffusion.layers import FullAttention, ImageNorm, LinearAttention, Residual, embed_time
from exemplar.errors import UserError

LEVELS = (1, 2, 4)


class ConvNextUNet(nn.Module):
    """Noise in (b, 1, size, size) images of which an exemplar is known; `width`: channels of the first level.

    time_scale: what t / T is multiplied by before it is embedded: 1 as in the authors' code, where all but the fastest
    frequencies hardly move; 1000 spreads it over the embedding's whole range."""

    def __init__(self, width: int = 40, time_scale: float = 1.0) -> None:
        super().__init__()
        if width < 6 or width % 2:
            raise UserError(f"the U-Net cannot be {width} channels wide: give an even number of at least 6")
        self.width, self.time_scale = width, time_scale
        stem, time = width // 3 * 2, 4 * width
        widths = [stem, *(width * level for level in LEVELS)]
        self.stem = nn.Conv2d(2, stem, 7, padding=3)
        self.time = nn.Sequential(nn.Linear(width, time), nn.GELU(), nn.Linear(time, time))
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for k, (before, after) in enumerate(pairwise(widths)):
            shrink = nn.Conv2d(after, after, 4, 2, 1) if k < len(LEVELS) - 1 else nn.Identity()
            self.down.append(Level(before, after, time, shrink))
        self.middle_in = ConvNextBlock(widths[-1], widths[-1], time)
        self.middle = Residual(widths[-1], FullAttention(widths[-1]))
        self.middle_out = ConvNextBlock(widths[-1], widths[-1], time)
        for before, after in zip(widths[:0:-1], widths[-2:0:-1], strict=False):
            self.up.append(Level(2 * before, after, time, nn.ConvTranspose2d(after, after, 4, 2, 1)))
        self.last = nn.Sequential(ConvNextBlock(width, width), nn.Conv2d(width, 1, 1))

    def forward(self, noisy: torch.Tensor, time: torch.Tensor, exemplars: torch.Tensor) -> torch.Tensor:
        """noisy: (b, 1, h, w) at time t; time: (b,) t / T in (0, 1]; exemplars: (b, 1, h, w), ink 1, all 0 for none.

        Returns (b, 1, h, w). h and w must be divisible by 4."""
        when = self.time(embed_time(time * self.time_scale, self.width))
        images, skipped = self.stem(torch.cat([noisy, exemplars], dim=1)), []
        for level in self.down:
            assert isinstance(level, Level)
            images = level.blocks(images, when)
            skipped.append(images)
            images = level.resample(images)
        images = self.middle_out(self.middle(self.middle_in(images, when)), when)
        for level in self.up:
            images = level(torch.cat([images, skipped.pop()], dim=1), when)
        return self.last(images)


class Level(nn.Module):
    """Two blocks and an attention at one resolution, then another resolution."""

    def __init__(self, before: int, after: int, time: int, resample: nn.Module) -> None:
        super().__init__()
        self.first, self.second = ConvNextBlock(before, after, time), ConvNextBlock(after, after, time)
        self.attention = Residual(after, LinearAttention(after))
        self.resample = resample

    def blocks(self, images: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        return self.attention(self.second(self.first(images, when), when))

    def forward(self, images: torch.Tensor, when: torch.Tensor) -> torch.Tensor:
        return self.resample(self.blocks(images, when))


class ConvNextBlock(nn.Module):
    """Depthwise 7×7, the time added, then 3×3 to twice the width and 3×3 back; 1×1 as the way around where widths differ."""

    def __init__(self, before: int, after: int, time: int | None = None) -> None:
        super().__init__()
        self.time = None if time is None else nn.Linear(time, before)
        self.depthwise = Depthwise(before)
        self.norm_in = ImageNorm(before)
        self.widen = nn.Conv2d(before, 2 * after, 3, padding=1)
        self.norm_out = ImageNorm(2 * after)
        self.narrow = nn.Conv2d(2 * after, after, 3, padding=1)
        self.around = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, images: torch.Tensor, when: torch.Tensor | None = None) -> torch.Tensor:
        """images: (b, before, h, w); when: (b, time) → (b, after, h, w)."""
        added = None
        if self.time is not None:
            assert when is not None
            added = self.time(functional.gelu(when))
        inside = self.widen(self.norm_in(self.depthwise(images), added))
        return self.narrow(self.norm_out(inside, gelu=True)) + self.around(images)
