"""Black and white PNG files, thousands at once: what is inside is unpacked file by file, and unfiltered together.

Most of what Pillow does for a small image is not decoding it. Whatever is not plainly black on white (one bit per pixel, not
interlaced) is left to Pillow.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEAD = SIGNATURE + b"\x00\x00\x00\x0dIHDR"
END = b"\x00\x00\x00\x00IEND\xaeB`\x82"
PLAIN = b"\x01\x00\x00\x00\x00"  # one bit per pixel, grey, deflated, filtered row by row, not interlaced
IN_CACHE = 128  # images repacked at once
NONE, SUB, UP, AVERAGE, PAETH = range(5)


def scan_lines(content: bytes, shape: tuple[int, int]) -> bytes | None:
    """The rows of a PNG file, each after the byte that says how it is filtered; None where the file is of another kind or
    size, or damaged (zlib's own checksum tells)."""
    height, width = shape
    if content[:16] != HEAD or content[16:29] != struct.pack(">II", width, height) + PLAIN:
        return None
    packed = _image_data(content)
    wanted = height * (1 + -(-width // 8))
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(packed, wanted + 1)  # a larger one is not unpacked
    except zlib.error:
        return None
    return found if len(found) == wanted and reader.eof else None


def _image_data(content: bytes) -> bytes:
    """All that is deflated, of the parts of a file; nothing where a part says what cannot be ignored."""
    end = 45 + int.from_bytes(content[33:37], "big")
    if content[37:41] == b"IDAT" and content[end:] == END:  # as nearly all are
        return content[41 : end - 4]
    found, at = [], 33
    while at + 12 <= len(content):
        kind, end = content[at + 4 : at + 8], at + 8 + int.from_bytes(content[at : at + 4], "big")
        if kind == b"tRNS":  # one of the two levels is transparent
            return b""
        if kind == b"IDAT":
            found.append(content[at + 8 : end])
        at = end + 4
    return b"".join(found)


def unfilter(lines: np.ndarray) -> np.ndarray:
    """lines: (n, height, 1 + ⌈width / 8⌉) uint8, of `scan_lines` → (height, n, ⌈width / 8⌉), rows packed into bytes.

    The first rows of all images come first, then the second ones: each adds to those above it in one sweep through memory,
    since most rows are kept as the difference to the one above. Raises ValueError where a row is filtered in a way there is
    not.
    """
    kinds = np.ascontiguousarray(lines[:, :, 0].T)
    if kinds.max(initial=0) > PAETH:
        raise ValueError(f"a row is filtered in way {kinds.max()}: there are {PAETH + 1}")
    rows = np.ascontiguousarray(lines[:, :, 1:].transpose(1, 0, 2))
    if not kinds.any():  # as libpng keeps images of one bit unless told otherwise
        return rows
    above = np.zeros(rows.shape[1:], np.uint8)
    for row, kind in zip(rows, kinds, strict=True):
        others = np.flatnonzero(kind != UP)
        given, up = row[others], above[others]
        if len(others) < len(row):
            row += above
        row[others] = given
        for one in (SUB, AVERAGE, PAETH):
            some = np.flatnonzero(kind[others] == one)
            if len(some):
                row[others[some]] = _restore(one, given[some], up[some])
        above = row
    return rows


def _restore(kind: int, row: np.ndarray, above: np.ndarray) -> np.ndarray:
    """(n, bytes): what was left of a row by its filter, and the row above it → the row."""
    if kind == SUB:
        return np.cumsum(row, axis=1, dtype=np.uint8)
    wide, up = row.astype(np.int32), above.astype(np.int32)
    left = upper_left = np.zeros(len(row), np.int32)
    for place in range(row.shape[1]):
        guess = (left + up[:, place]) // 2 if kind == AVERAGE else _nearest(left, up[:, place], upper_left)
        wide[:, place] = (wide[:, place] + guess) & 255
        left, upper_left = wide[:, place], up[:, place]
    return wide.astype(np.uint8)


def _nearest(left: np.ndarray, up: np.ndarray, upper_left: np.ndarray) -> np.ndarray:
    """Paeth's: of the three, the one nearest to left + up − upper left; of equally near ones the first."""
    target = left + up - upper_left
    to_left, to_up, to_corner = abs(target - left), abs(target - up), abs(target - upper_left)
    return np.where((to_left <= to_up) & (to_left <= to_corner), left, np.where(to_up <= to_corner, up, upper_left))


def pack_ink(rows: np.ndarray, width: int) -> np.ndarray:
    """rows: (height, n, ⌈width / 8⌉), paper 1 → (n, ⌈height · width / 8⌉), ink 1, without the bits that fill up rows."""
    height, n, _ = rows.shape
    found = np.empty((n, -(-height * width // 8)), np.uint8)
    for start in range(0, n, IN_CACHE):
        ink = np.unpackbits(~rows[:, start : start + IN_CACHE].transpose(1, 0, 2), axis=2, count=width)
        found[start : start + IN_CACHE] = np.packbits(ink.reshape(len(ink), -1), axis=1)
    return found
