"""A Triton kernel that sums over the px of channels-last images, for `normalising`; of no use where Triton is not there.

A program takes some px of one image with all their channels, which lie next to each other in memory. It leaves its sums for
others to add up, in an order that is always the same.
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


N_NUMBERS = 2048  # that a program reads at a time
N_TIMES = 8


@jit
def _sum(  # type: ignore[no-untyped-def]
    images, added, change, out, n_px, n_chunks,
    CHANNELS: tl.constexpr, PADDED: tl.constexpr, PX: tl.constexpr, TIMES: tl.constexpr,
    HAS_ADDED: tl.constexpr, HAS_CHANGE: tl.constexpr, GELU: tl.constexpr,
):  # fmt: skip
    image, chunk = tl.program_id(0), tl.program_id(1)
    channel = tl.arange(0, PADDED)
    known = channel < CHANNELS
    start = image.to(tl.int64) * n_px * CHANNELS
    plain = tl.zeros((PX, PADDED), tl.float32)
    by_value = tl.zeros((PX, PADDED), tl.float32)
    for time in range(TIMES):
        px = (chunk * TIMES + time) * PX + tl.arange(0, PX)
        there = (px < n_px)[:, None] & known[None, :]
        place = start + px[:, None] * CHANNELS + channel[None, :]
        value = tl.load(images + place, mask=there, other=0.0).to(tl.float32)
        if HAS_ADDED:
            shift = tl.load(added + image * CHANNELS + channel, mask=known, other=0.0).to(tl.float32)
            value = tl.where(there, value + shift[None, :], 0.0)
        if GELU:
            value = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
        factor = value
        if HAS_CHANGE:
            factor = tl.load(change + place, mask=there, other=0.0).to(tl.float32)
        plain += factor
        by_value += factor * value
    place = out + ((image * n_chunks + chunk) * 2) * CHANNELS + channel
    tl.store(place, tl.sum(plain, 0), mask=known)
    tl.store(place + CHANNELS, tl.sum(by_value, 0), mask=known)


def sum_in_chunks(
    images: torch.Tensor, added: torch.Tensor | None, change: torch.Tensor | None, gelu: bool
) -> torch.Tensor:
    """(b, chunks, 2, c) float32: over a chunk's px, the sums of `change` and of change · v, or of v and v²."""
    images = images.contiguous(memory_format=torch.channels_last)
    b, c, h, w = images.shape
    chunks, padded = count_chunks(h * w, c), _padded(c)
    out = torch.empty((b, chunks, 2, c), dtype=torch.float32, device=images.device)
    shift = images if added is None else added.contiguous()
    factor = images if change is None else change.contiguous(memory_format=torch.channels_last)
    _sum[(b, chunks)](
        images, shift, factor, out, h * w, chunks, CHANNELS=c, PADDED=padded, PX=_px(padded), TIMES=N_TIMES,
        HAS_ADDED=added is not None, HAS_CHANGE=change is not None, GELU=gelu,
    )  # fmt: skip
    return out


def count_chunks(n_px: int, channels: int) -> int:
    return -(-n_px // (_px(_padded(channels)) * N_TIMES))


def _padded(channels: int) -> int:
    return max(16, 1 << (channels - 1).bit_length())


def _px(padded: int) -> int:
    return max(N_NUMBERS // padded, 1)
