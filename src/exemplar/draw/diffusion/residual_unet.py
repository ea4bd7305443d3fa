"""FSDM's generator: a residual U-Net into which a context is merged by FiLM, scale · u + shift, both read from (time, context).

Width, levels and blocks follow the public few-shot-diffusion-models repository, whose counts are those of the paper, not H.2,
which says that it is DDPM's U-Net. There the last normalisation and convolution of a block run twice, by an oversight; here
they run once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.diffusion.layers import ImageNorm, as_images, as_tokens, embed_time
from exemplar.errors import UserError

GROUPS = 32  # of every GroupNorm; widths are multiples of it
STEPS = 1000  # what t / T is multiplied by before it is embedded, as T was there


class ResidualUNet(nn.Module):
    """width: channels of the first level; levels: multiples of it; blocks: residual blocks per level; context: numbers."""

    def __init__(self, width: int = 32, levels: Sequence[int] = (1, 2, 4), blocks: int = 2, context: int = 128) -> None:
        super().__init__()
        check_width(width)
        self.width, embedded = width, 4 * width + context
        self.time = time_network(width)
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        channels, kept = width, [width]
        for k, level in enumerate(levels):
            for _ in range(blocks):
                self.down.append(ResidualBlock(channels, level * width, embedded))
                channels = level * width
                kept.append(channels)
            if k < len(levels) - 1:
                self.down.append(Shrink(channels))
                kept.append(channels)
        self.middle_in = ResidualBlock(channels, channels, embedded)
        self.attention = AttentionBlock(channels)
        self.middle_out = ResidualBlock(channels, channels, embedded)
        for k, level in reversed(list(enumerate(levels))):
            for block in range(blocks + 1):
                self.up.append(ResidualBlock(channels + kept.pop(), level * width, embedded))
                channels = level * width
                if k and block == blocks:
                    self.up.append(Grow(channels))
        self.last = nn.Sequential(ImageNorm(channels, GROUPS), nn.SiLU(), zeroed(nn.Conv2d(width, 1, 3, padding=1)))

    def forward(self, noisy: torch.Tensor, time: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """noisy: (b, 1, h, w) at time t; time: (b,) t / T in (0, 1]; context: (b, numbers) → (b, 1, h, w).

        h and w must be divisible by 2 for each level but the first."""
        when = self.time(embed_time(time * STEPS, self.width, cosine_first=True))
        known = functional.silu(torch.cat([when, context.to(when.dtype)], dim=1))
        images = self.stem(noisy)
        kept = [images]
        for part in self.down:
            images = part(images, known)
            kept.append(images)
        images = self.middle_out(self.attention(self.middle_in(images, known)), known)
        for part in self.up:
            if isinstance(part, ResidualBlock):
                images = torch.cat([images, kept.pop()], dim=1)
            images = part(images, known)
        return self.last(images)


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a way around; before the second, FiLM. shrink: at half the resolution, by averaging."""

    def __init__(self, before: int, after: int, embedded: int, *, shrink: bool = False) -> None:
        super().__init__()
        self.norm_in, self.first = ImageNorm(before, GROUPS), nn.Conv2d(before, after, 3, padding=1)
        self.film = nn.Linear(embedded, 2 * after)
        self.norm_out, self.second = ImageNorm(after, GROUPS), zeroed(nn.Conv2d(after, after, 3, padding=1))
        self.around = nn.Identity() if before == after else nn.Conv2d(before, after, 1)
        self.shrink = shrink

    def forward(self, images: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        """images: (b, before, h, w); known: (b, embedded), after its SiLU → (b, after, h, w)."""
        inside = functional.silu(self.norm_in(images))
        if self.shrink:
            inside, images = (functional.avg_pool2d(part, 2) for part in (inside, images))
        inside = self.first(inside)
        scale, shift = self.film(known)[:, :, None, None].chunk(2, dim=1)
        inside = self.norm_out(inside) * (1 + scale) + shift  # Eq. 21
        return self.around(images) + self.second(functional.silu(inside))


class AttentionBlock(nn.Module):
    """Every px attends to every other, added to what came in. heads: None for one per 64 channels."""

    def __init__(self, channels: int, heads: int | None = 4) -> None:
        super().__init__()
        self.heads = max(channels // 64, 1) if heads is None else heads
        self.norm = ImageNorm(channels, GROUPS)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), zeroed(nn.Linear(channels, channels))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        h, w = images.shape[2:]
        return images + as_images(self.out(attend(self.qkv(as_tokens(self.norm(images))), self.heads)), h, w)


class Shrink(nn.Module):
    """Half the resolution by a 3×3 convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, 2, 1)

    def forward(self, images: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        return self.convolution(images)


class Grow(nn.Module):
    """Twice the resolution, then a 3×3 convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, images: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        return self.convolution(functional.interpolate(images, scale_factor=2, mode="nearest"))


def attend(qkv: torch.Tensor, heads: int) -> torch.Tensor:
    """qkv: (b, n, 3 · channels) → (b, n, channels)."""
    query, key, value = qkv.unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    return functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)


def time_network(width: int) -> nn.Sequential:
    """An embedding of `width` → 4 · width numbers."""
    return nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))


def zeroed(layer: nn.Conv2d | nn.Linear) -> nn.Module:
    """The layer with weights of 0: what it is added to passes unchanged at first."""
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


def check_width(width: int) -> None:
    if width < GROUPS or width % GROUPS:
        raise UserError(f"FSDM's networks cannot be {width} channels wide: give a multiple of {GROUPS}")
