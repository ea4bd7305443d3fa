"""Results of jobs, kept as they come under a hash of job and code; no pickles, and a file that a kill leaves whole."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.errors import NoRoom, UserError
from exemplar.unpacking import open_npz

CANNOT_WRITE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)  # what is there is good


class Store:
    """Packed results by key, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, isolation_level=None)
            try:
                connection.execute("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, packed BLOB NOT NULL)")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as problem:
            if getattr(problem, "sqlite_errorcode", 0) & 0xFF in CANNOT_WRITE:
                raise NoRoom(
                    f"{self.path} cannot be written ({problem}): make room on the disk, and the same command resumes with "
                    "what it holds"
                ) from problem
            raise UserError(
                f"{self.path} cannot be used ({problem}): remove it, what it held is computed again"
            ) from problem

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        wanted = set(keys)
        with self._open() as connection:
            rows = (
                connection.execute("SELECT key, packed FROM results WHERE key = ?", (key,)).fetchone() for key in wanted
            )
            return {row[0]: row[1] for row in rows if row is not None}

    def put(self, key: str, packed: bytes) -> None:
        with self._open() as connection:
            connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, packed))


def pack(result: Any) -> bytes:
    """A result as bytes: its shape as JSON, its arrays as npz. Nothing that reads it can run code."""
    arrays: dict[str, np.ndarray] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            arrays[f"a{len(arrays)}"] = value
            return {"array": f"a{len(arrays) - 1}"}
        if isinstance(value, list | tuple):
            return [plain(entry) for entry in value]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: plain(entry) for key, entry in value.items()}}
        raise TypeError(
            f"a job must return numbers, text, arrays, or lists and dicts of these, not {type(value).__name__}"
        )

    tree = json.dumps(plain(result))
    buffer = io.BytesIO()
    np.savez(buffer, tree=np.frombuffer(tree.encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(packed: bytes) -> Any:
    """What `pack` packed."""
    with open_npz(io.BytesIO(packed)) as file:

        def whole(value: Any) -> Any:
            if isinstance(value, list):
                return [whole(entry) for entry in value]
            if isinstance(value, dict):
                if "array" in value:
                    return file[value["array"]]
                return {key: whole(entry) for key, entry in value["dict"].items()}
            return value

        return whole(json.loads(file["tree"].tobytes()))


def code_of(function: Callable[[Any], Any]) -> str:
    """A hash of the package's sources and of the function's own file: when either changes, stored results are stale."""
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    own = Path(file).read_bytes() if file and Path(file).is_file() else b""
    return seeds.digest(package_sources(), function.__qualname__, own)


@cache
def package_sources() -> str:
    """A hash of every Python file of the package."""
    root = Path(__file__).parent
    return seeds.digest([(str(p.relative_to(root)), p.read_bytes()) for p in sorted(root.rglob("*.py"))])
