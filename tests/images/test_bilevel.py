"""Black and white PNG files read without Pillow: as Pillow reads them, or not at all."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from exemplar import seeds
from exemplar.images.bilevel import SIGNATURE, pack_ink, scan_lines, unfilter

SHAPE = (9, 21)
INK = seeds.rng("bilevel").random(SHAPE) < 0.4


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(
    lines: bytes, *, depth: int = 1, colour: int = 0, interlaced: int = 0, extra: bytes = b"", parts: int = 1
) -> bytes:
    head = struct.pack(">IIBBBBB", SHAPE[1], SHAPE[0], depth, colour, 0, 0, interlaced)
    packed = zlib.compress(lines)
    step = -(-len(packed) // parts)
    data = b"".join(chunk(b"IDAT", packed[at : at + step]) for at in range(0, len(packed), step))
    return SIGNATURE + chunk(b"IHDR", head) + extra + data + chunk(b"IEND", b"")


def filtered(rows: np.ndarray, kinds: list[int]) -> bytes:
    """By the standard's formulas, byte by byte."""
    said, above = b"", [0] * rows.shape[1]
    for row, kind in zip(rows.tolist(), kinds, strict=True):
        line = bytearray([kind])
        for place, byte in enumerate(row):
            left, corner = (row[place - 1], above[place - 1]) if place else (0, 0)
            up = above[place]
            target = left + up - corner
            nearest = min((abs(target - one), order, one) for order, one in enumerate((left, up, corner)))[2]
            line.append((byte - (0, left, up, (left + up) // 2, nearest)[kind]) % 256)
        said, above = said + bytes(line), row
    return said


def ours(content: bytes) -> np.ndarray:
    lines = scan_lines(content, SHAPE)
    assert lines is not None
    packed = unfilter(np.frombuffer(lines, np.uint8).reshape(1, SHAPE[0], -1))
    return np.unpackbits(packed[:, 0], axis=1, count=SHAPE[1]) == 0


@given(st.lists(st.integers(0, 4), min_size=SHAPE[0], max_size=SHAPE[0]), st.integers(0, 99))
def test_every_filter_is_undone_as_pillow_undoes_it(kinds, seed):
    ink = seeds.rng("bilevel", seed).random(SHAPE) < 0.5
    content = png(filtered(np.packbits(~ink, axis=1), kinds), parts=1 + seed % 3)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content)).convert("L")) < 128, ink)
    np.testing.assert_array_equal(ours(content), ink)


def test_ink_is_packed_without_the_bits_that_fill_up_a_row():
    ink = seeds.rng("bilevel", "packed").random((300, *SHAPE)) < 0.5
    np.testing.assert_array_equal(
        pack_ink(np.packbits(~ink, axis=2).transpose(1, 0, 2), SHAPE[1]), np.packbits(ink.reshape(300, -1), axis=1)
    )


def test_many_files_are_unfiltered_as_each_alone():
    rng = seeds.rng("bilevel", "many")
    lines = rng.integers(0, 256, (50, *SHAPE), dtype=np.uint8)
    lines[:, :, 0] %= 5
    together = unfilter(lines)
    for place, alone in enumerate(lines):
        np.testing.assert_array_equal(together[:, place], unfilter(alone[None])[:, 0])


def test_a_file_that_pillow_wrote_is_read():
    file = io.BytesIO()
    Image.fromarray(~INK).save(file, "png")
    np.testing.assert_array_equal(ours(file.getvalue()), INK)


ROWS = filtered(np.packbits(~INK, axis=1), [0] * SHAPE[0])
TRANSPARENT = chunk(b"tRNS", b"\x00\x01")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a",
        png(ROWS)[:-20],
        png(ROWS, depth=8),
        png(ROWS, colour=3),
        png(ROWS, interlaced=1),
        png(ROWS, extra=TRANSPARENT),
        png(ROWS[:-1]),
        png(ROWS + b"\x00"),
        png(ROWS).replace(b"IDAT", b"IDAS"),
        png(ROWS)[:60] + b"\xff" + png(ROWS)[61:],
    ],
    ids=["empty", "gif", "cut", "grey", "palette", "interlaced", "transparent", "short", "long", "no data", "damaged"],
)
def test_what_is_not_plain_is_left_to_pillow(content):
    assert scan_lines(content, SHAPE) is None


def test_a_file_of_another_size_is_left_to_pillow():
    assert scan_lines(png(ROWS), (SHAPE[0], SHAPE[1] + 1)) is None


def test_a_filter_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="filtered in way 5"):
        unfilter(np.full((1, 2, 3), 5, np.uint8))
