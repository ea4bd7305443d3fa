"""GroupNorm of channels-last images, with what stands before it: numbers added to each channel, or a GELU.

Left to autograd and torch.compile, normalisation takes a quarter of a training step on a GPU: several passes over the images,
each of which computes the GELU again. `HandNorm` needs two passes each way: one sums over the px of each channel, one writes;
all else happens on one number per image and channel. The sums are a Triton kernel where Triton is there.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import torch
from torch.nn import functional

from exemplar.draw.diffusion.sum_kernels import Layout, sum_in_chunks

HAS_TRITON = find_spec("triton") is not None


def normalise(
    images: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    groups: int = 1,
    eps: float = 1e-5,
    *,
    added: torch.Tensor | None = None,
    gelu: bool = False,
) -> torch.Tensor:
    """images: (b, c, h, w); weight, bias: (c,); added: (b, c), to each channel beforehand; gelu: beforehand, too, not with
    `added`. Sums are in float32, what comes out has the type that came in."""
    assert added is None or not gelu
    with torch.autocast(images.device.type, enabled=False):
        if by_hand(images):
            found: torch.Tensor = HandNorm.apply(images, weight, bias, added, groups, eps, gelu)
            return found
        values = prepare(images, added, gelu).unflatten(1, (groups, -1))
        variance, mean = torch.var_mean(values, dim=(2, 3, 4), correction=0, keepdim=True)
        scaled = ((values - mean) * torch.rsqrt(variance + eps)).flatten(1, 2)
        return (scaled * weight[:, None, None] + bias[:, None, None]).to(images.dtype)


def by_hand(images: torch.Tensor) -> bool:
    """Whether gradients that are written out are used: on a GPU."""
    return images.is_cuda


def prepare(images: torch.Tensor, added: torch.Tensor | None, gelu: bool) -> torch.Tensor:
    """What is normalised, at least in float32."""
    values = images.to(torch.promote_types(images.dtype, torch.float32))
    if added is not None:
        values = values + added[:, :, None, None]
    return functional.gelu(values) if gelu else values


class HandNorm(torch.autograd.Function):
    """`normalise` with its gradient written out.

    With v what is normalised, m and r mean and 1 / deviation of v's group of n numbers, v̂ = (v - m) r and y = w v̂ + b:
    dv = r (w dy - Σ w dy / n - v̂ Σ w dy v̂ / n), sums over the group. Both sums follow from Σ dy and Σ dy v over the px of each
    channel, and so do the gradients of w and b."""

    @staticmethod
    def forward(
        ctx: Any, images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, added: torch.Tensor | None, groups: int,
        eps: float, gelu: bool,
    ) -> torch.Tensor:  # fmt: skip
        total, squares = sum_channels(images, added, None, gelu)
        n = images[0].numel() / groups
        mean = over_group(total, groups) / n
        rate = torch.rsqrt((over_group(squares, groups) / n - mean * mean).clamp(min=0) + eps)
        scale = rate * weight
        ctx.save_for_backward(images, weight, added, mean, rate, total)
        ctx.groups, ctx.gelu = groups, gelu
        values = prepare(images, added, gelu)
        return (values * spread(scale) + spread(bias - mean * scale)).to(images.dtype)

    @staticmethod
    def backward(ctx: Any, *changes: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        images, weight, added, mean, rate, total = ctx.saved_tensors
        change, groups, n = changes[0], ctx.groups, images[0].numel() / ctx.groups
        plain, by_value = sum_channels(images, added, change, ctx.gelu)
        by_scaled = rate * (by_value - mean * plain)
        shared, along = over_group(weight * plain, groups) / n, over_group(weight * by_scaled, groups) / n
        scale, slope = rate * weight, -rate * rate * along
        offset = -mean * slope - rate * shared
        back = (
            change.to(total.dtype) * spread(scale) + prepare(images, added, ctx.gelu) * spread(slope) + spread(offset)
        )
        if ctx.gelu:
            back = back * gelu_slope(images.to(total.dtype))
        n_px = images.shape[2] * images.shape[3]
        of_added = None if added is None else (plain * scale + total * slope + n_px * offset).to(added.dtype)
        return (
            back.to(images.dtype),
            by_scaled.sum(0).to(weight.dtype),
            plain.sum(0).to(weight.dtype),
            of_added,
            None,
            None,
            None,
        )


def spread(numbers: torch.Tensor) -> torch.Tensor:
    """(b, c) → (b, c, 1, 1)."""
    return numbers[:, :, None, None]


def over_group(numbers: torch.Tensor, groups: int) -> torch.Tensor:
    """(b, c) → the same shape: each channel's number is the sum over its group."""
    each = numbers.unflatten(1, (groups, -1))
    return each.sum(2, keepdim=True).expand_as(each).flatten(1)


def gelu_slope(values: torch.Tensor) -> torch.Tensor:
    density = torch.exp(-0.5 * values * values) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + torch.erf(values * math.sqrt(0.5))) + values * density


def sum_channels(
    images: torch.Tensor, added: torch.Tensor | None, change: torch.Tensor | None, gelu: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Over the px of each channel, (b, c) each: the sums of `change` and of change · v; of v and v² where there is none."""
    if images.is_cuda and HAS_TRITON:
        parts = channel_sums(images, added, change, gelu).unflatten(3, (-1, images.shape[1])).sum((1, 3))
        return parts[:, 0], parts[:, 1]
    values = prepare(images, added, gelu)
    factor = values if change is None else change.to(values.dtype)
    return factor.sum((2, 3)), (factor * values).sum((2, 3))


@torch.library.custom_op("exemplar::channel_sums", mutates_args=())  # so that torch.compile takes it as one piece
def channel_sums(
    images: torch.Tensor, added: torch.Tensor | None, change: torch.Tensor | None, gelu: bool
) -> torch.Tensor:
    return sum_in_chunks(images, added, change, gelu)


@channel_sums.register_fake
def _(images: torch.Tensor, added: torch.Tensor | None, change: torch.Tensor | None, gelu: bool) -> torch.Tensor:
    b, c, h, w = images.shape
    layout = Layout.of(h * w, c)
    return images.new_empty((b, layout.chunks, 2, layout.row), dtype=torch.float32)
