"""Files in a zip, or in the folder it was unpacked to: the same to whoever reads them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from exemplar.files import reading


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
