"""What the U-Nets are made of: normalisation and attention that stay in the channels-last layout, and the time embedding.

The formulas are the usual ones; they are arranged so that a GPU copies little. An image (b, c, h, w) whose channels lie next
to each other is a row of tokens (b, h·w, c) without a copy, and a 1×1 convolution of it is a matrix product.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.diffusion.normalising import normalise


class ImageNorm(nn.Module):
    """GroupNorm: groups of an image's channels are brought to mean 0 and variance 1 over all px, then each channel is scaled.

    By our own formulas, since torch.compile leaves the channels-last layout for GroupNorm itself."""

    def __init__(self, channels: int, groups: int = 1, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.groups, self.eps = groups, eps

    def forward(self, images: torch.Tensor, added: torch.Tensor | None = None, gelu: bool = False) -> torch.Tensor:
        """(b, c, h, w) → the same. added: (b, c), to each channel beforehand; gelu: beforehand, too, not with `added`."""
        return normalise(images, self.weight, self.bias, self.groups, self.eps, added=added, gelu=gelu)


class LinearAttention(nn.Module):
    """Attention whose cost grows with the number of px, not with its square: queries are normalised over a head's width, keys
    over all px, and what is read is a small matrix per head.

    Values are never written out: Σ softmax(k) (W_v x)ᵀ = (Σ softmax(k) xᵀ) W_vᵀ, and the last 1×1 convolution is multiplied
    into that small matrix. Both orders give the same numbers up to rounding."""

    def __init__(self, channels: int, heads: int = 4, width: int = 32) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.to_qkv = nn.Conv2d(channels, 3 * heads * width, 1, bias=False)
        self.to_out = nn.Conv2d(heads * width, channels, 1)
        self.norm = ImageNorm(channels)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(b, c, h, w) → the same."""
        _, c, h, w = images.shape
        tokens = as_tokens(images)  # (b, n, c)
        wanted, offered, read = self.to_qkv.weight.flatten(1).chunk(3)
        query = functional.linear(tokens, wanted).unflatten(2, (self.heads, self.width)).softmax(3)
        key = functional.linear(tokens, offered).softmax(1)  # over px
        seen = key.mT @ tokens  # (b, heads · width, c)
        read, out = (part.to(seen.dtype) for part in (read, self.to_out.weight.flatten(1)))
        seen = seen.unflatten(1, (self.heads, self.width)) @ read.view(self.heads, self.width, c).mT
        back = seen @ out.view(c, self.heads, self.width).permute(1, 2, 0) * self.width**-0.5  # (b, heads, width, c)
        assert self.to_out.bias is not None
        mixed = query.flatten(2).to(back.dtype) @ back.flatten(1, 2) + self.to_out.bias.to(back.dtype)
        return self.norm(as_images(mixed, h, w))


class FullAttention(nn.Module):
    """Attention of every px to every other, where there are few of them."""

    def __init__(self, channels: int, heads: int = 4, width: int = 32) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.to_qkv = nn.Conv2d(channels, 3 * heads * width, 1, bias=False)
        self.to_out = nn.Conv2d(heads * width, channels, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(b, c, h, w) → the same."""
        _, _, h, w = images.shape
        qkv = functional.linear(as_tokens(images), self.to_qkv.weight.flatten(1))
        query, key, value = qkv.unflatten(2, (3, self.heads, self.width)).permute(2, 0, 3, 1, 4)  # (b, heads, n, width)
        read = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        return as_images(functional.linear(read, self.to_out.weight.flatten(1), self.to_out.bias), h, w)


class Residual(nn.Module):
    """images + part(norm(images))."""

    def __init__(self, channels: int, part: nn.Module) -> None:
        super().__init__()
        self.norm, self.part = ImageNorm(channels), part

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images + self.part(self.norm(images))


def as_tokens(images: torch.Tensor) -> torch.Tensor:
    """(b, c, h, w) → (b, h·w, c); no copy where channels lie next to each other."""
    return images.permute(0, 2, 3, 1).flatten(1, 2)


def as_images(tokens: torch.Tensor, h: int, w: int) -> torch.Tensor:
    """(b, h·w, c) → (b, c, h, w), channels last."""
    return tokens.unflatten(1, (h, w)).permute(0, 3, 1, 2)


def embed_time(time: torch.Tensor, width: int, *, cosine_first: bool = False) -> torch.Tensor:
    """(b,) → (b, width): sines and cosines at frequencies from 1 down to 1e-4."""
    half = width // 2
    spread = max(half - (0 if cosine_first else 1), 1)  # the two codes that this follows differ by one here
    frequency = torch.exp(torch.arange(half, device=time.device) * (-math.log(10_000) / spread))
    angle = time.float()[:, None] * frequency
    parts = (angle.cos(), angle.sin()) if cosine_first else (angle.sin(), angle.cos())
    return functional.pad(torch.cat(parts, dim=1), (0, width - 2 * half))
