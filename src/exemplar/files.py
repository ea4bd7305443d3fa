"""Files that are whole or not there: written beside their place and moved into it, read or refused in one sentence."""

from __future__ import annotations

import lzma
import os
import struct
import tarfile
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import IO

import numpy as np

from exemplar.errors import NO_ROOM, NoRoom, UserError, shortened
from exemplar.unpacking import open_zip

PART = ".part"  # the ending of what is still being written
SAID = 120  # characters of what a library says that one of our sentences takes in

# What NumPy, zipfile, tarfile, gzip and Pillow raise for a file that was cut, altered, or never was what its name says
# (RuntimeError: a zip with a password).
DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, OSError, EOFError,
    ValueError, TypeError, KeyError, IndexError, AttributeError, SyntaxError, OverflowError, MemoryError, RuntimeError,
)  # fmt: skip
KINDS = {"b": "true/false", "i": "whole numbers", "u": "whole numbers", "f": "numbers", "U": "text"}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to that becomes `path` only if all went well; until then `path` keeps what it had.

    Folders are made for it where there are none, and go again if nothing comes to lie in them.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    made: list[Path] = []
    try:
        made.extend(takewhile(lambda place: not place.exists(), path.parents))
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as problem:
        raise _cannot_be_written(path, problem) from problem
    finally:
        with suppress(OSError):  # it has been moved, or could not be there at all: a name too long, no such place
            part.unlink()
        for folder in made:  # the innermost first
            with suppress(OSError):  # it holds the file, or something of others
                folder.rmdir()


def write_all(files: Mapping[Path, bytes]) -> None:
    """Several files that belong together: all of them, or none. The last is moved into its place last."""
    with ExitStack() as whole:
        for path, content in reversed(list(files.items())):  # what is entered first is left last
            whole.enter_context(whole_file(path)).write_bytes(content)


def _cannot_be_written(path: Path, problem: OSError) -> UserError:
    full = problem.errno in NO_ROOM
    advice = "make room, or choose another place" if full else "choose another place"
    return (NoRoom if full else UserError)(f"{path} cannot be written ({problem.strerror or problem}): {advice}")


def check_place(path: Path) -> None:
    """Refuse, before anything long begins, a place where no file can be written; nothing is made there."""
    check_folder(path.parent)
    with suppress(OSError):  # a name too long is found out when it is written
        if path.is_dir():
            raise UserError(f"{path} is a folder: give the file in it a name")


def check_folder(folder: Path) -> None:
    """See that the folder can be written to, or made where it is to be: better now than after hours. Nothing is left there."""
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists() or place.is_symlink())
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as problem:
        raise _cannot_be_written(folder, problem) from problem


def write_npz(path: Path, arrays: dict[str, np.ndarray], *, compressed: bool = True) -> None:
    """The same bytes for the same arrays. compressed: whether to spend time on a smaller file."""
    save = np.savez_compressed if compressed else np.savez
    with whole_file(path) as part, part.open("wb") as file:
        save(file, **arrays)  # type: ignore[arg-type]


@contextmanager
def reading(path: Path | str, what: str) -> Iterator[None]:
    """What goes wrong inside, while `path` is read as `what` ("an npz archive"), becomes a UserError."""
    try:
        yield
    except FileNotFoundError as problem:
        raise UserError(f"{path} is missing: put it there, or make or fetch it again") from problem
    except DAMAGE as problem:
        raise UserError(f"{path} cannot be read as {what} ({first_line(problem)}): make or fetch it again") from problem


def read_npz(path: Path, /, **arrays: tuple[str, int | None]) -> dict[str, np.ndarray]:
    """Named arrays of an npz file, each checked before it is read; the others stay on disk.

    arrays: name → (kinds of number allowed, one letter each as in `dtype.kind`; number of dimensions, None for any).
    Nothing is unpickled.
    """
    there = npz_names(path)
    missing = [name for name in arrays if name not in there]
    if missing:
        raise UserError(
            f"{path} has no array {shortened(missing)} (it holds {shortened(there)}): it is another file, or another version"
        )
    members = [f"{name}.npy" for name in arrays]
    with reading(path, "an npz archive"), open_zip(path, members) as archive:
        return {name: _read_array(archive, path, name, kinds, ndim) for name, (kinds, ndim) in arrays.items()}


def npz_names(path: Path) -> list[str]:
    """The arrays an npz file holds, in its order."""
    with reading(path, "an npz archive"), open_zip(path, ()) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def _read_array(archive: zipfile.ZipFile, path: Path, name: str, kinds: str, ndim: int | None) -> np.ndarray:
    member = f"{name}.npy"
    with archive.open(member) as stream:
        shape, dtype, start = read_npy_header(stream)
    if dtype.kind not in kinds or (ndim is not None and len(shape) != ndim):
        wanted = " or ".join(dict.fromkeys(KINDS[kind] for kind in kinds)) + (f" in {ndim} dimensions" if ndim else "")
        raise UserError(
            f"{path}: {name} must be {wanted}, it is {shape} {dtype}: it is another file, or another version"
        )
    # A header may promise more than the file holds: look before allocating.
    promised = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if promised != archive.getinfo(member).file_size:
        raise UserError(f"{path}: {name} is cut off or longer than its header says: make or fetch it again")
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


def first_line(problem: BaseException) -> str:
    """What an exception says, short enough for a sentence: cut after one of its own, or else after a word."""
    text = " ".join(str(problem).split())
    if len(text) <= SAID:
        return text or type(problem).__name__
    head = text[: SAID + 1]
    sentence = head.rpartition(". ")[0]
    if len(sentence) > SAID // 2:  # one that ends early may be no more than a number or a place
        return sentence
    return (head.rpartition(" ")[0] or text[:SAID]) + " …"
