"""Files that are whole or not there: written beside their place and moved into it, read or refused in one sentence."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, shortened

PART = ".part"  # the ending of what is still being written


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to that becomes `path` only if all went well; until then `path` keeps what it had."""
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as problem:
        raise UserError(f"{path} cannot be written ({problem.strerror or problem}): choose another place") from problem
    finally:
        if part.is_file():
            part.unlink()


def write_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Compressed; the same bytes for the same arrays."""
    with whole_file(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def read_npz(path: Path, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an npz file: all of them, or those named. Nothing is unpickled."""
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise UserError(f"{path} holds a single array: save it as an npz with names")
            wanted = list(names) if names is not None else file.files
            for name in wanted:
                if name not in file.files:
                    raise UserError(f"{path} has no array {name!r}: it has {shortened(file.files)}")
            return {name: file[name] for name in wanted}
    except DAMAGE as problem:
        reason = first_line(problem)
        raise UserError(f"{path} is damaged, or no npz of plain arrays: make it again ({reason})") from problem


# what NumPy and zipfile raise for a file that was cut, altered, or never was what its name says
DAMAGE = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, SyntaxError, TypeError, MemoryError,
    NotImplementedError, OverflowError, RuntimeError, IndexError, AttributeError,
)  # fmt: skip


def first_line(problem: BaseException) -> str:
    """What an exception says, short enough for a sentence."""
    return (str(problem).splitlines() or [type(problem).__name__])[0][:120]
