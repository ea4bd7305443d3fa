"""Fetch one file from its public home: resumed, checked and put in place in one step, or not at all.

While it grows the file is called NAME.part, and NAME.part.json says where its bytes come from. An interrupted fetch
resumes where it stopped, one that changed on the server starts over, and what fails its checksum never gets the name.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import sys
import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import cast

from exemplar.errors import UserError
from exemplar.images.checksums import checksum_of, matches, pin, pinned, stands
from exemplar.images.wire import Patience, Transient, ask, attempts, on_the_wire, stated_md5
from exemplar.progress import SECONDS_PER_LINE

if sys.platform != "win32":
    import fcntl

BLOCK = 1 << 16  # bytes read at once
Show = Callable[[int, int | None], None]  # bytes so far, bytes in all


@dataclass(frozen=True)
class Origin:
    """Where the bytes of a partial file come from, as the server described it (length in bytes)."""

    url: str
    etag: str | None
    last_modified: str | None
    length: int | None
    checksum: str | None

    @property
    def validator(self) -> str | None:
        """What If-Range may ask for: a strong ETag, else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


def fetch(
    url: str,
    target: Path,
    *,
    checksum: str | None = None,
    size: int | None = None,
    progress: bool | None = None,
    patience: Patience | None = None,
    again: str = "fetch it again",
) -> Path:
    """The file at `url`, as `target`; nothing is downloaded if it is there already and right.

    checksum: "md5:…" or "sha256:…" in hexadecimal, or "server" for the MD5 the server states (x-goog-hash), which is
    then pinned beside the file; size: bytes; progress: a bar on standard error, by default where that is a terminal;
    again: how the user starts the same fetch once more, for the advice in an error. Unless a SHA-256 was given, that of
    what came is pinned beside the file, and what comes another time must have it.
    """
    known = None if checksum == "server" else checksum
    try:
        if stands(target, checksum=known, size=size):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        part, note = (target.with_name(target.name + end) for end in (".part", ".part.json"))
        with locked(part) as file:
            if _size(file) and not note.exists():  # a note is always written before the first byte
                raise UserError(f"{part} was not left by a fetch of ours: move it away, then {again}")
            finished = False
            try:
                if not stands(target, checksum=known, size=size):  # another process may just have finished it
                    work = _Download(url, target, part, note, file, checksum, size, patience or Patience(), again)
                    with _bar(target.name, progress) as show:
                        held_against = work.persist(show)
                    os.fsync(file.fileno())
                    if not stands(target, checksum=known, size=size):  # nor is one that came meanwhile overwritten
                        part.replace(target)
                        if checksum == "server" and held_against is not None:
                            pin(target, held_against)
                        if checksum is None or not checksum.startswith("sha256:"):
                            pin(target, checksum_of(target, "sha256"))
                finished = True
            finally:
                if finished or not _size(file):
                    if _is_at(file, part):
                        part.unlink()
                    note.unlink(missing_ok=True)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        advice = f"make room or choose another folder, then {again}"
        raise UserError(f"{target} cannot be read or written ({reason}): {advice}") from problem
    return target


@dataclass(frozen=True)
class _Download:
    """One file on its way: `file` is `part`, open and locked."""

    url: str
    target: Path
    part: Path
    note: Path
    file: FileIO
    checksum: str | None
    size: int | None
    patience: Patience
    again: str

    def persist(self, show: Show) -> str | None:
        """Attempt until the partial file is whole and right. Returns the checksum it was held against."""
        reason = ""
        for _ in attempts(self.patience):
            resumed = _size(self.file) > 0
            try:
                origin = self.transfer(show)
            except Transient as problem:
                reason = str(problem)
                continue
            wanted = origin.checksum if self.checksum == "server" else self.checksum
            kept = pinned(self.target)
            got = _size(self.file)
            if self.size is not None and got != self.size:
                reason = f"{got} bytes came instead of {self.size}"
            elif wanted is not None and not matches(self.part, wanted):
                reason = f"what came does not have the checksum {wanted}"
            elif kept is not None and not matches(self.part, kept):
                beside = f"{self.target.name}.{kept.partition(':')[0]}"
                reason = f"an earlier fetch left its checksum in {beside}, and what came does not have it"
            else:
                return wanted
            self.file.truncate(0)
            if not resumed:  # a clean download came out wrong: another will too
                raise UserError(f"{self.url} is not the file it should be ({reason}): {self.advice('later')}")
        when = "to resume" if _size(self.file) else "later"
        raise UserError(f"{self.url} could not be fetched ({reason}): {self.advice(when)}")

    def advice(self, when: str) -> str:
        return f"{self.again} {when}, or put {self.target.name} into {self.target.parent} by hand"

    def transfer(self, show: Show) -> Origin:
        """One connection, to the end of what it brings; whatever came stays in the partial file."""
        have, origin = _size(self.file), self.known()
        # Without a validator a changed file would go unseen, unless a checksum known beforehand guards the whole.
        guard = None if self.checksum == "server" else self.checksum
        if origin is None or not (origin.validator or guard):
            self.file.truncate(0)
            have = 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and origin is not None and origin.validator:
            headers["If-Range"] = origin.validator
        try:
            with ask(self.url, headers, self.patience.stall_s) as response:
                if response.status == 206 and have and origin is not None:
                    self.check_range(response, have, origin)
                elif response.status == 200:
                    origin = self.begin(response)
                else:
                    raise Transient(f"the server answers {response.status}")
                self.copy(response, origin, show)
                return origin
        except urllib.error.HTTPError as problem:
            with problem:
                if problem.code == 416 and have and origin is not None:  # no more to send: all is here, or it changed
                    length = (problem.headers.get("Content-Range") or "").rpartition("/")[2]
                    if length == str(have) or (guard and matches(self.part, guard)):
                        return origin
                    self.file.truncate(0)
                    raise Transient("the file changed on the server") from problem
                answer = f"the server answers {problem.code} {problem.reason}"
                raise UserError(f"{self.url} cannot be had ({answer}): {self.advice('later')}") from problem

    def known(self) -> Origin | None:
        """Where the partial file's bytes came from, if that is this address."""
        try:
            origin = Origin(**json.loads(self.note.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return origin if origin.url == self.url else None

    def begin(self, response: http.client.HTTPResponse) -> Origin:
        """The whole file comes: forget the bytes received, and note where the new ones come from before the first."""
        stated = response.headers.get("Content-Length")
        length = int(stated) if stated and stated.isdecimal() else None
        if self.size is not None and length not in (None, self.size):
            difference = f"offers {length} bytes where {self.size} are expected"
            raise UserError(f"{self.url} {difference}, so it is another file: {self.advice('later')}")
        chunked = (response.headers.get("Transfer-Encoding") or "").lower() == "chunked"
        md5 = stated_md5(response)
        guard = md5 if self.checksum == "server" else self.checksum
        if not (length is not None or chunked or self.size or guard):
            raise UserError(f"{self.url} does not say how long it is, so a cut would not show: download it by hand")
        self.file.truncate(0)
        origin = Origin(self.url, response.headers.get("ETag"), response.headers.get("Last-Modified"), length, md5)
        self.note.write_text(json.dumps(asdict(origin)), encoding="utf-8")
        return origin

    def check_range(self, response: http.client.HTTPResponse, have: int, origin: Origin) -> None:
        """A partial answer must resume exactly where we stopped, in the same file."""
        place, _, total = (response.headers.get("Content-Range") or "").partition("/")
        etag = response.headers.get("ETag")
        moved = not place.startswith(f"bytes {have}-")
        longer = origin.length is not None and total not in ("*", str(origin.length))
        if moved or longer or (etag and origin.etag and etag != origin.etag):
            self.file.truncate(0)
            raise Transient("the file changed on the server")

    def copy(self, response: http.client.HTTPResponse, origin: Origin, show: Show) -> None:
        """Append what comes to the partial file."""
        have = _size(self.file)
        while True:
            show(have, origin.length)
            with on_the_wire():
                block = response.read1(BLOCK)
            if not block:
                break
            left = memoryview(block)
            while left:  # an unbuffered write may take a part only
                left = left[self.file.write(left) :]
            have += len(block)
        if origin.length is not None and have < origin.length:
            raise Transient(f"the connection closed after {have} of {origin.length} bytes")


def _size(file: FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether this open file is (still) the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def locked(part: Path) -> Iterator[FileIO]:
    """A file, made if need be, open at its end and ours alone: waits while another process holds it. Whoever holds it may
    remove it or give it another name."""
    while True:
        with cast(FileIO, part.open("ab", buffering=0)) as file:
            if sys.platform != "win32":
                try:
                    fcntl.flock(file, fcntl.LOCK_EX)
                except OSError as problem:  # some cluster file systems have no locks; the checksum still guards
                    if problem.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                        raise
            if _is_at(file, part):  # else whoever held it gave it another name: look again
                yield file
                return


@contextmanager
def _bar(name: str, progress: bool | None) -> Iterator[Show]:
    """Gives a function that shows how far the download is: a bar, or where nobody watches one a line every half minute."""
    if progress is False:
        yield lambda have, total: None
        return
    if not (progress or sys.stderr.isatty()):
        yield _lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda have, total: bar.update(task, completed=have, total=total)


def _lines(name: str) -> Show:
    last = time.monotonic()

    def show(have: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_PER_LINE:
            last = time.monotonic()
            print(
                f"{name}: {have / 1e6:.0f} MB{f' of {total / 1e6:.0f}' if total else ''}", file=sys.stderr, flush=True
            )

    return show
