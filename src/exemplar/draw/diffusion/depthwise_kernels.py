"""Triton kernels of the depthwise 7×7 convolution, for channels-last images; of no use where Triton is not there.

A program takes one image, some of its px, and some of its channels: neighbours in memory are neighbours in a channel block, and
the 49 reads of a px's surroundings come from the nearest cache.
"""

from __future__ import annotations

from typing import Any

import torch

try:
    import triton
    import triton.language as tl

    jit: Any = triton.jit
except ImportError:  # it comes with torch for GPUs

    def jit(kernel: Any) -> Any:
        return kernel


TAPS = 49
N_PX = 64  # per program of `slide`
N_PX_SUMMED = 32  # at a time, per program of `correlate`
N_CHUNKS = 64  # programs of `correlate` that share the images


@jit
def _slide(  # type: ignore[no-untyped-def]
    images, weight, bias, out, height, width, channels,
    HAS_BIAS: tl.constexpr, PX: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0)
    px = tl.program_id(1) * PX + tl.arange(0, PX)
    channel = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)
    row, column = px // width, px % width
    inside, known = px < height * width, channel < channels
    start = images + image.to(tl.int64) * height * width * channels
    total = tl.zeros((PX, CHANNELS), tl.float32)
    for i in tl.static_range(7):
        for j in tl.static_range(7):
            y, x = row + (i - 3), column + (j - 3)
            there = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            place = (y * width + x)[:, None] * channels + channel[None, :]
            values = tl.load(start + place, mask=there[:, None] & known[None, :], other=0.0)
            factor = tl.load(weight + (i * 7 + j) * channels + channel, mask=known, other=0.0)
            total += values.to(tl.float32) * factor[None, :]
    if HAS_BIAS:
        total += tl.load(bias + channel, mask=known, other=0.0)[None, :]
    place = image.to(tl.int64) * height * width * channels + px[:, None] * channels + channel[None, :]
    tl.store(out + place, total.to(out.dtype.element_ty), mask=inside[:, None] & known[None, :])


@jit
def _correlate(  # type: ignore[no-untyped-def]
    change, images, out, n_images, height, width, channels, n_each,
    PX: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    chunk, i = tl.program_id(0), tl.program_id(1)
    channel = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)
    known = channel < channels
    t0 = tl.zeros((PX, CHANNELS), tl.float32)
    t1 = tl.zeros((PX, CHANNELS), tl.float32)
    t2 = tl.zeros((PX, CHANNELS), tl.float32)
    t3 = tl.zeros((PX, CHANNELS), tl.float32)
    t4 = tl.zeros((PX, CHANNELS), tl.float32)
    t5 = tl.zeros((PX, CHANNELS), tl.float32)
    t6 = tl.zeros((PX, CHANNELS), tl.float32)
    n_px = height * width
    n_tiles = (n_px + PX - 1) // PX
    for step in range(n_each * n_tiles):
        image = chunk * n_each + step // n_tiles
        px = (step % n_tiles) * PX + tl.arange(0, PX)
        row, column = px // width, px % width
        y = row + i - 3
        inside = px < tl.where(image < n_images, n_px, 0)
        start = image.to(tl.int64) * n_px * channels
        mask = inside[:, None] & known[None, :]
        moved = tl.load(change + start + px[:, None] * channels + channel[None, :], mask=mask, other=0.0).to(tl.float32)
        line = inside & (y >= 0) & (y < height)
        base = images + start + (y * width)[:, None] * channels + channel[None, :]
        for j in tl.static_range(7):
            x = column + (j - 3)
            there = (line & (x >= 0) & (x < width))[:, None] & known[None, :]
            product = moved * tl.load(base + x[:, None] * channels, mask=there, other=0.0).to(tl.float32)
            if j == 0:
                t0 += product
            elif j == 1:
                t1 += product
            elif j == 2:
                t2 += product
            elif j == 3:
                t3 += product
            elif j == 4:
                t4 += product
            elif j == 5:
                t5 += product
            else:
                t6 += product
    place = out + (chunk * 49 + i * 7) * channels + channel
    tl.store(place, tl.sum(t0, 0), mask=known)
    tl.store(place + channels, tl.sum(t1, 0), mask=known)
    tl.store(place + 2 * channels, tl.sum(t2, 0), mask=known)
    tl.store(place + 3 * channels, tl.sum(t3, 0), mask=known)
    tl.store(place + 4 * channels, tl.sum(t4, 0), mask=known)
    tl.store(place + 5 * channels, tl.sum(t5, 0), mask=known)
    tl.store(place + 6 * channels, tl.sum(t6, 0), mask=known)


def slide(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """images: (b, c, h, w); weight: (c, 1, 7, 7) → (b, c, h, w), channels last."""
    images = images.contiguous(memory_format=torch.channels_last)
    b, c, h, w = images.shape
    out = torch.empty_like(images, memory_format=torch.channels_last)
    block = _channels(c)
    grid = (b, triton.cdiv(h * w, N_PX), triton.cdiv(c, block))
    taps = weight.reshape(c, TAPS).float().t().contiguous()  # (49, c): a tap's factors lie next to each other
    _slide[grid](
        images, taps, bias if bias is not None else taps, out, h, w, c,
        HAS_BIAS=bias is not None, PX=N_PX, CHANNELS=block,
    )  # fmt: skip
    return out


def correlate(change: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """The gradient of the weights, (c, 1, 7, 7) float32: sums over px in parts, then over the parts, always in this order."""
    change, images = (part.contiguous(memory_format=torch.channels_last) for part in (change, images))
    b, c, h, w = images.shape
    each = triton.cdiv(b, N_CHUNKS)
    chunks, block = triton.cdiv(b, each), _channels(c)
    parts = torch.empty((chunks, TAPS, c), dtype=torch.float32, device=images.device)
    grid = (chunks, 7, triton.cdiv(c, block))
    _correlate[grid](change, images, parts, b, h, w, c, each, PX=N_PX_SUMMED, CHANNELS=block)
    return parts.sum(0).t().reshape(c, 1, 7, 7).contiguous()


def _channels(c: int) -> int:
    """Channels of a program: as few as leave the last block well filled."""
    return 32 if c % 32 == 0 else 16
