"""What Exemplar wrote says so, so that a page or a figure is never written over a file of somebody else."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from exemplar.errors import UserError

MARK = "Made with Exemplar"
MARKED_WITHIN = 4096  # bytes from the beginning of a file
PNG_HEAD = 33  # bytes of a PNG's signature and first chunk


def mark_png(content: bytes) -> bytes:
    """With the mark as a line of text, which no viewer shows."""
    text = b"tEXtSoftware\0" + MARK.encode()
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return content if is_marked(content) else content[:PNG_HEAD] + chunk + content[PNG_HEAD:]


def mark_svg(content: bytes) -> bytes:
    return content if is_marked(content) else f"<!-- {MARK} -->\n".encode() + content


def is_marked(content: bytes) -> bool:
    return MARK.encode() in content[:MARKED_WITHIN]


def is_ours(path: Path) -> bool:
    """Whether Exemplar made this page or figure."""
    try:
        with path.open("rb") as file:
            return is_marked(file.read(MARKED_WITHIN))
    except OSError:
        return False


def check_ours(path: Path) -> None:
    """Refuse to write over what is not ours. Call it before anything long begins, too."""
    if path.is_file() and not is_ours(path):
        raise UserError(f"{path} is there already and was not written by Exemplar: move it, or choose another place.")
