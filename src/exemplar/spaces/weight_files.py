"""Files of weights: safetensors as it is, or packed without loss, as those that ship are.

A bfloat16 number's first byte says next to nothing that its neighbours' do not, its second is noise: apart from each other they
deflate to two thirds, together hardly.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from exemplar.unpacking import inflate_file

PLAIN, PACKED = ".safetensors", ".safetensors.z"


def list_stems(folder: Path) -> set[str]:
    """Names of what has weights in a folder."""
    return {path.name.removesuffix(ending) for ending in (PLAIN, PACKED) for path in folder.glob(f"*{ending}")}


def find_weights(stem: Path | str) -> Path | None:
    """The file of weights, packed or not; stem: its path without an ending."""
    # os.path answers for names too long for a file system, too
    return next((Path(f"{stem}{end}") for end in (PLAIN, PACKED) if os.path.isfile(f"{stem}{end}")), None)  # noqa: PTH113


def read_weights(path: Path) -> bytes:
    """The bytes of a safetensors file, whether it is packed or not."""
    return unpack(inflate_file(path)) if path.name.endswith(PACKED) else path.read_bytes()


def pack(content: bytes) -> bytes:
    return zlib.compress(content[0::2] + content[1::2], 9)


def unpack(apart: bytes) -> bytes:
    """What `pack` packed, from what it deflated."""
    content, half = bytearray(len(apart)), (len(apart) + 1) // 2
    content[0::2], content[1::2] = apart[:half], apart[half:]
    return bytes(content)
