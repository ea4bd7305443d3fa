"""Files in a zip, or in the folder it was unpacked to: the same to whoever reads them.

Thousands of small files take Python's zipfile longer than their content takes to be unpacked, so a plain archive (deflated or
stored, one disk, no encryption, under 4 GB) is read here; whatever is not plain is left to zipfile.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from exemplar.files import reading

# What the format says of a member in the list at the archive's end: signature, flags, method, CRC, size packed and unpacked,
# lengths of name, extra field and comment, and where its own header is; which has a signature and two lengths again.
LISTED, HEADER, END = struct.Struct("<4s4xHH4xIIIHHH8xI"), struct.Struct("<4s22xHH"), struct.Struct("<4s4xHHII2x")
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
ANY_NAME = 1 << 11  # flag: the name is UTF-8, which ASCII is as well
LARGE = 0xFFFFFFFF  # says that the number stands elsewhere
Member = tuple[str, int, int, int, int, int]  # name, method, CRC, size packed and unpacked, where


def read_tree(folder: Path, name: str, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, bytes]]:
    """The files of an archive whose path, parts joined by /, fits the pattern as a whole: match, path (inside the archive
    for name.zip), content. Taken from folder/name.zip, or from folder/name where it was unpacked; nothing if neither is there.
    """
    archive = folder / f"{name}.zip"
    if archive.is_file():
        with reading(archive, "a zip archive"):
            content, where = archive.read_bytes(), str(archive)
            members = _list_members(content)
            for name, *about in members or ():
                found = _fits(pattern, name)
                if found:
                    yield found, f"{where}/{name}", _unpack(content, name, *about)
            if members is None:
                yield from _read_slowly(archive, pattern)
    else:
        for path in sorted((folder / name).rglob("*")):
            found = pattern.fullmatch(path.relative_to(folder).as_posix())
            if found and path.is_file():
                with reading(path, "a file"):
                    content = path.read_bytes()
                yield found, str(path), content


def _fits(pattern: re.Pattern[str], name: str) -> re.Match[str] | None:
    """__MACOSX/ is what a Mac adds when it packs."""
    return None if name.startswith("__MACOSX/") else pattern.fullmatch(name)


def _read_slowly(archive: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            found = _fits(pattern, member.filename)
            if found:
                yield found, f"{archive}/{member.filename}", opened.read(member)


def _list_members(content: bytes) -> list[Member] | None:
    """The members of an archive, in its order; None where it is not plain (or damaged, which zipfile says better)."""
    if len(content) < END.size or content[-END.size : -END.size + 4] != b"PK\x05\x06":  # or it ends with a comment
        return None
    _, here, n, size, at = END.unpack_from(content, len(content) - END.size)
    if here != n or at + size != len(content) - END.size:
        return None
    found: list[Member] = []
    for _ in range(n):
        signature, flags, method, crc, packed, unpacked, n_name, n_more, n_said, start = LISTED.unpack_from(content, at)
        name, at = content[at + LISTED.size : at + LISTED.size + n_name], at + LISTED.size + n_name + n_more + n_said
        plain = signature == b"PK\x01\x02" and not flags & ~ANY_NAME and method in (STORED, DEFLATED) and name.isascii()
        if not plain or LARGE in (packed, unpacked, start):
            return None
        found.append((name.decode("ascii"), method, crc, packed, unpacked, start))
    return found if at == len(content) - END.size else None


def _unpack(content: bytes, name: str, method: int, crc: int, packed: int, unpacked: int, start: int) -> bytes:
    signature, n_name, n_extra = HEADER.unpack_from(content, start)
    begin = start + HEADER.size + n_name + n_extra
    found = content[begin : begin + packed]
    if method == DEFLATED:
        found = zlib.decompress(found, -zlib.MAX_WBITS)
    if signature != b"PK\x03\x04" or len(found) != unpacked or zlib.crc32(found) != crc:
        raise zipfile.BadZipFile(f"bad CRC-32 for file {name!r}")
    return found
