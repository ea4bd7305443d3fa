"""Whether a file is the one it should be: checksums "md5:…" and "sha256:…", and pins that keep one beside its file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from exemplar.errors import UserError

DIGITS = {"sha256": 64, "md5": 32}  # hexadecimal digits of each


def matches(path: Path, checksum: str) -> bool:
    """checksum: "md5:…" or "sha256:…", in hexadecimal."""
    algorithm, _, wanted = checksum.partition(":")
    if algorithm not in DIGITS:
        raise ValueError(f"a checksum is md5:… or sha256:…, not {checksum!r}")
    return checksum_of(path, algorithm) == f"{algorithm}:{wanted.lower()}"


def checksum_of(path: Path, algorithm: str = "md5") -> str:
    """ "md5:…" or "sha256:…" of a file's content."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False))
    return f"{algorithm}:{digest.hexdigest()}"


def pin(path: Path, checksum: str) -> None:
    """Keep a checksum beside its file as NAME.md5 or NAME.sha256, in the format that md5sum and sha256sum read."""
    algorithm, _, digits = checksum.partition(":")
    beside = path.with_name(f"{path.name}.{algorithm}")
    draft = beside.with_name(beside.name + ".part")
    draft.write_text(f"{digits}  {path.name}\n", encoding="utf-8")
    draft.replace(beside)


def pinned(path: Path) -> str | None:
    """The checksum kept beside a file, if one is."""
    for algorithm, digits in DIGITS.items():
        beside = path.with_name(f"{path.name}.{algorithm}")
        if not beside.is_file():
            continue
        found = re.match(r"[0-9a-f]+\b", beside.read_text(encoding="utf-8", errors="replace").lower())
        if found is None or len(found[0]) != digits:
            raise UserError(f"{beside} does not begin with {digits} hexadecimal digits: fix it, or move it away")
        return f"{algorithm}:{found[0]}"
    return None


def stands(path: Path, *, checksum: str | None = None, size: int | None = None, again: str = "fetch it again") -> bool:
    """Whether the file is there. One that is there but wrong is an error: it is not ours to replace.

    It is held against checksum, and against the pin beside it, if there are such; size: bytes; again: as `fetch` takes it.
    """
    if not path.exists():
        return False
    if not path.is_file():
        raise UserError(f"{path} is in the way of a file of that name: move it away")
    if size is not None and path.stat().st_size != size:
        raise UserError(f"{path} has {path.stat().st_size} bytes instead of {size}: move it away, then {again}")
    for wanted in filter(None, {checksum, pinned(path)}):
        if not matches(path, wanted):
            raise UserError(f"{path} does not have the checksum {wanted}: move it away, then {again}")
    return True
