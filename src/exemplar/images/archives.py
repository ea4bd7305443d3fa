"""Files in a zip, or in the folder it was unpacked to: the same to whoever reads them."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from exemplar.files import reading
from exemplar.unpacking import inflate, open_zip

ENCRYPTED = 1  # flag


def read_tree(folder: Path, name: str, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, bytes]]:
    """The files of an archive whose path, parts joined by /, fits the pattern as a whole: match, path (inside the archive
    for name.zip), content. Taken from folder/name.zip, or from folder/name where it was unpacked; nothing if neither is there.
    """
    archive = folder / f"{name}.zip"
    if archive.is_file():
        with reading(archive, "a zip archive"), open_zip(archive) as opened:
            content = archive.read_bytes()
            for member in opened.infolist():
                found = pattern.fullmatch(member.filename)
                if found and not member.filename.startswith("__MACOSX/"):  # what a Mac adds when it packs
                    yield found, f"{archive}/{member.filename}", _read_member(opened, content, member)
    else:
        for path in sorted((folder / name).rglob("*")):
            found = pattern.fullmatch(path.relative_to(folder).as_posix())
            if found and path.is_file():
                with reading(path, "a file"):
                    content = path.read_bytes()
                yield found, str(path), content


def _read_member(opened: zipfile.ZipFile, content: bytes, member: zipfile.ZipInfo) -> bytes:
    """As `ZipFile.read`, which takes several times as long for a small file; what is not plain is left to it."""
    at = member.header_offset
    plain = content[at : at + 4] == b"PK\x03\x04" and not member.flag_bits & ENCRYPTED
    if not plain or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return opened.read(member)
    begin = (
        at
        + 30
        + int.from_bytes(content[at + 26 : at + 28], "little")
        + int.from_bytes(content[at + 28 : at + 30], "little")
    )
    found = content[begin : begin + member.compress_size]
    if member.compress_type == zipfile.ZIP_DEFLATED:
        found = inflate(found, member.file_size)
    if len(found) != member.file_size or zlib.crc32(found) != member.CRC:
        raise zipfile.BadZipFile(f"bad CRC-32 for file {member.filename!r}")
    return found
