"""A Triton kernel that sums over the px of channels-last images, for `normalising`; of no use where Triton is not there.

A program takes some rows of one image: a row is one px or three with all their channels, which lie next to each other in
memory. It leaves its sums for others to add up, in an order that is always the same.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    images, added, change, out, n_rows, n_chunks,
    CHANNELS: tl.constexpr, ROW: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, TIMES: tl.constexpr,
    HAS_ADDED: tl.constexpr, HAS_CHANGE: tl.constexpr, GELU: tl.constexpr,
):  # fmt: skip
    image, chunk = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, PADDED)
    known = column < ROW
    start = image.to(tl.int64) * n_rows * ROW
    plain = tl.zeros((ROWS, PADDED), tl.float32)
    by_value = tl.zeros((ROWS, PADDED), tl.float32)
    for time in range(TIMES):
        row = (chunk * TIMES + time) * ROWS + tl.arange(0, ROWS)
        there = (row < n_rows)[:, None] & known[None, :]
        place = start + row[:, None] * ROW + column[None, :]
        value = tl.load(images + place, mask=there, other=0.0).to(tl.float32)
        if HAS_ADDED:
            shift = tl.load(added + image * CHANNELS + column % CHANNELS, mask=known, other=0.0).to(tl.float32)
            value = tl.where(there, value + shift[None, :], 0.0)
        if GELU:
            value = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
        factor = value
        if HAS_CHANGE:
            factor = tl.load(change + place, mask=there, other=0.0).to(tl.float32)
        plain += factor
        by_value += factor * value
    place = out + ((image * n_chunks + chunk) * 2) * ROW + column
    tl.store(place, tl.sum(plain, 0), mask=known)
    tl.store(place + ROW, tl.sum(by_value, 0), mask=known)


def sum_in_chunks(
    images: torch.Tensor, added: torch.Tensor | None, change: torch.Tensor | None, gelu: bool
) -> torch.Tensor:
    """(b, chunks, 2, px in a row · c) float32: over a chunk's rows, the sums of `change` and of change · v, or of v and v²."""
    images = images.contiguous(memory_format=torch.channels_last)
    b, c, h, w = images.shape
    layout = Layout.of(h * w, c)
    out = torch.empty((b, layout.chunks, 2, layout.row), dtype=torch.float32, device=images.device)
    shift = images if added is None else added.contiguous()
    factor = images if change is None else change.contiguous(memory_format=torch.channels_last)
    _sum[(b, layout.chunks)](
        images, shift, factor, out, h * w * c // layout.row, layout.chunks, CHANNELS=c, ROW=layout.row, PADDED=layout.padded,
        ROWS=layout.rows, TIMES=N_TIMES, HAS_ADDED=added is not None, HAS_CHANGE=change is not None, GELU=gelu,
    )  # fmt: skip
    return out


@dataclass(frozen=True)
class Layout:
    """How an image is read. row: numbers in a row; padded: the power of two that a program reads for it; rows: at a time;
    chunks: programs per image."""

    row: int
    padded: int
    rows: int
    chunks: int

    @classmethod
    def of(cls, n_px: int, channels: int) -> Layout:
        rows = [k * channels for k in (1, 3) if n_px % k == 0]
        row = min(rows, key=lambda row: _padded(row) / row)  # what is wasted
        at_a_time = max(N_NUMBERS // _padded(row), 1)
        return cls(row, _padded(row), at_a_time, -(-n_px * channels // (row * at_a_time * N_TIMES)))


def _padded(row: int) -> int:
    return max(16, 1 << (row - 1).bit_length())
