"""Reading other people's archives: whatever is missing, cut off or foreign becomes one sentence that names the file."""

from __future__ import annotations

import lzma
import re
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from PIL import UnidentifiedImageError

from exemplar.errors import UserError, shortened

# What zipfile, tarfile, gzip, NumPy and Pillow raise for a damaged file (RuntimeError: a zip with a password).
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    UnidentifiedImageError,
    ValueError,
    TypeError,
    EOFError,
    OSError,
    KeyError,
    SyntaxError,
    OverflowError,
    MemoryError,
    RuntimeError,
)

KINDS = {"b": "true/false", "i": "whole numbers", "u": "whole numbers", "f": "numbers", "U": "text"}


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """What goes wrong inside, while `path` is read as `what` ("an npz archive"), becomes a UserError."""
    try:
        yield
    except FileNotFoundError as problem:
        raise UserError(f"{path} is missing: put it there, or fetch the data set again") from problem
    except BROKEN as problem:
        reason = " ".join(str(problem).split())[:120] or type(problem).__name__
        raise UserError(f"{path} cannot be read as {what} ({reason}): fetch it again, or remove it") from problem


def read_npz(path: Path, /, **arrays: tuple[str, int]) -> dict[str, np.ndarray]:
    """Named arrays of an npz file, each checked before it is read; the others stay on disk.

    arrays: name → (kinds of number allowed, one letter each as in `dtype.kind`; number of dimensions).
    """
    there = npz_names(path)
    missing = [name for name in arrays if name not in there]
    if missing:
        raise UserError(
            f"{path} has no array {shortened(missing)} (it holds {shortened(there)}): "
            "it is another file, or another version of it, so fetch the data set again"
        )
    with reading(path, "an npz archive"), zipfile.ZipFile(path) as archive:
        return {name: _read_array(archive, path, name, kinds, ndim) for name, (kinds, ndim) in arrays.items()}


def npz_names(path: Path) -> list[str]:
    """The arrays an npz file holds, in its order."""
    with reading(path, "an npz archive"), zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def _read_array(archive: zipfile.ZipFile, path: Path, name: str, kinds: str, ndim: int) -> np.ndarray:
    member = f"{name}.npy"
    with archive.open(member) as stream:
        shape, dtype, start = read_npy_header(stream)
    if dtype.kind not in kinds or len(shape) != ndim:
        wanted = " or ".join(dict.fromkeys(KINDS[kind] for kind in kinds))
        raise UserError(f"{path}: {name} must be {wanted} in {ndim} dimensions, it is {shape} {dtype}: fetch it again")
    # A header may promise more than the file holds: look before allocating.
    promised = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if promised != archive.getinfo(member).file_size:
        raise UserError(f"{path}: {name} is cut off or longer than its header says: fetch it again")
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def read_npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, type and length in bytes of the header of an npy file at its beginning."""
    version = np.lib.format.read_magic(stream)
    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if header is None:
        raise ValueError(f"npy version {version} is not known")
    shape, _, dtype = header(stream)
    return shape, dtype, stream.tell()


def read_tree(folder: Path, name: str, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], Path, bytes]]:
    """The files of an archive whose path, parts joined by /, fits the pattern as a whole: match, path (inside the archive
    for name.zip), content. Taken from folder/name.zip, or from folder/name where it was unpacked; nothing if neither is there.
    """
    archive = folder / f"{name}.zip"
    if archive.is_file():
        with reading(archive, "a zip archive"), zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                found = pattern.fullmatch(member)
                if found and not member.startswith("__MACOSX/"):  # what a Mac adds when it packs
                    yield found, archive / member, opened.read(member)
    else:
        for path in sorted((folder / name).rglob("*")):
            found = pattern.fullmatch(path.relative_to(folder).as_posix())
            if found and path.is_file():
                with reading(path, "a file"):
                    content = path.read_bytes()
                yield found, path, content
