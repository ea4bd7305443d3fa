"""Compressed files, opened here and nowhere else: a small one can hold zeros for more memory than there is.

What a file unpacks to is bounded before it is read, or while it streams. The environment variable EXEMPLAR_UNPACK_GB raises the
bound.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from exemplar.errors import UserError

if TYPE_CHECKING:
    from numpy.lib.npyio import NpzFile

VARIABLE = "EXEMPLAR_UNPACK_GB"
MOST_GB = 4.0  # SlimageNet64, the largest data set that is read whole, has 2.5
OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


def most_bytes() -> int:
    said = os.environ.get(VARIABLE, "")
    try:
        most = float(said or MOST_GB)
    except ValueError:
        most = math.nan
    if not 0 < most < math.inf:
        raise UserError(f"{VARIABLE} must be a number of gigabytes above 0, got {said!r}: fix or unset it")
    return int(most * 1e9)


def check_unpacked(path: Path | str, n_bytes: int, *, least: bool = False) -> None:
    """Refuse a file that unpacks to more than may be. least: to this or more, as far as it was read."""
    most = most_bytes()
    if n_bytes > most:
        raise UserError(
            f"{path} unpacks to {'more than ' * least}{n_bytes / 1e9:.1f} GB, the limit is {most / 1e9:g}: if you trust it and "
            f"have the memory, set {VARIABLE} to {'more' if least else math.ceil(n_bytes / 1e9)}"
        )


def open_zip(file: Path | IO[bytes], only: Collection[str] | None = None) -> zipfile.ZipFile:
    """A zip whose members (those named, or all) may be read. What is stored as it is takes its own size and does not count."""
    archive = zipfile.ZipFile(file)
    try:
        wanted = [info for info in archive.infolist() if only is None or info.filename in only]
        check_unpacked(_name(file), sum(info.file_size for info in wanted if info.compress_type != zipfile.ZIP_STORED))
    except BaseException:
        archive.close()
        raise
    return archive


@contextmanager
def open_npz(file: Path | IO[bytes]) -> Iterator[NpzFile]:
    """An npz whose arrays may be read; nothing in it is unpickled."""
    import numpy as np

    open_zip(file).close()
    if not isinstance(file, Path):
        file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        yield stored


def open_stream(path: Path) -> IO[bytes]:
    """A file's bytes, decompressed where it is gzip, bzip2 or xz by its first bytes: as a stream, that ends with a UserError
    where it becomes too long."""
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((opener for magic, opener in OPENERS.items() if start.startswith(magic)), None)
    if opener is None:
        return path.open("rb")
    return cast(IO[bytes], io.BufferedReader(_Bounded(cast(IO[bytes], opener(path)), path)))


def inflate(packed: bytes, n_bytes: int) -> bytes:
    """What raw deflate packed, if it is n_bytes long; a longer one is not unpacked."""
    found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, n_bytes + 1)
    if len(found) != n_bytes:
        raise zlib.error(f"it should unpack to {n_bytes} bytes, and does not")
    return found


def inflate_file(path: Path) -> bytes:
    """What zlib packed into a whole file."""
    unpacking, most = zlib.decompressobj(), most_bytes()
    found = unpacking.decompress(path.read_bytes(), most + 1)
    check_unpacked(path, len(found), least=True)
    if not unpacking.eof:
        raise zlib.error("it ends too early")
    return found


class _Bounded(io.RawIOBase):
    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.stream, self.path, self.n_bytes = stream, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        content = self.stream.read(len(view))
        view[: len(content)] = content
        self.n_bytes += len(content)
        check_unpacked(self.path, self.n_bytes, least=True)
        return len(content)

    def close(self) -> None:
        self.stream.close()
        super().close()


def _name(file: Path | IO[bytes]) -> str:
    return str(file) if isinstance(file, Path) else "a kept result"
