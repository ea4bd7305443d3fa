"""The network's side of a fetch: what to ask a server, and which of its failures may be gone at the next attempt."""

from __future__ import annotations

import base64
import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, cast

from exemplar.errors import UserError


@dataclass(frozen=True)
class Patience:
    """How long to put up with a server.

    stall_s: seconds without a byte before a connection is given up; attempts: connections made before giving up;
    pause_s: seconds before the second attempt, doubled before each further one.
    """

    stall_s: float = 30.0
    attempts: int = 4
    pause_s: float = 1.0


class Transient(Exception):
    """This attempt failed; the next one may not."""


def read_small(url: str, *, patience: Patience | None = None, limit: int = 1 << 20, again: str = "try again") -> bytes:
    """A small answer, such as a record's JSON: its first `limit` bytes, kept nowhere. again: how the user does."""
    patience = patience or Patience()
    reason = ""
    for _ in attempts(patience):
        try:
            with ask(url, {}, patience.stall_s) as response, on_the_wire():
                return response.read(limit)
        except Transient as problem:
            reason = str(problem)
        except urllib.error.HTTPError as problem:
            with problem:
                reason = f"the server answers {problem.code} {problem.reason}"
            break
    raise UserError(f"{url} could not be read ({reason}): check the connection and {again}")


def attempts(patience: Patience) -> Iterator[None]:
    """As many turns as there are attempts, with a longer pause before each."""
    for k in range(patience.attempts):
        if k:
            time.sleep(patience.pause_s * 2 ** (k - 1))
        yield


def ask(url: str, headers: dict[str, str], stall_s: float) -> http.client.HTTPResponse:
    """Ask; an answer that may be better next time is transient, any other error of the server an HTTPError."""
    request = urllib.request.Request(url, headers={"User-Agent": "exemplar", **headers})
    with on_the_wire():
        try:
            return cast(http.client.HTTPResponse, _OPENER.open(request, timeout=stall_s))
        except urllib.error.HTTPError as problem:
            if problem.code < 500 and problem.code not in (408, 425, 429):
                raise
            with problem:
                raise Transient(f"the server answers {problem.code} {problem.reason}") from problem


class NeverDown(urllib.request.HTTPRedirectHandler):
    """Follows a redirect, but not from https to http, where anybody on the way could answer for the server."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            fp.close()
            raise UserError(
                f"{req.full_url} redirects to {newurl}, which is not encrypted: get the file by hand, and check it"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(NeverDown)


@contextmanager
def on_the_wire() -> Iterator[None]:
    """What goes wrong on the wire is transient; what goes wrong on the disk is met elsewhere."""
    try:
        yield
    except urllib.error.HTTPError:
        raise
    except (http.client.HTTPException, OSError) as problem:
        cause = getattr(problem, "reason", problem)
        stalled = isinstance(cause, TimeoutError)
        raise Transient("the server stalled" if stalled else str(cause) or type(cause).__name__) from problem


def stated_md5(response: http.client.HTTPResponse) -> str | None:
    """The MD5 of the whole file that Google's storage states: "x-goog-hash: crc32c=…,md5=<base64>"."""
    for word in ",".join(response.headers.get_all("x-goog-hash") or []).split(","):
        kind, _, value = word.strip().partition("=")
        if kind == "md5":
            with suppress(ValueError):  # not base64: then nothing is stated
                return "md5:" + base64.b64decode(value, validate=True).hex()
    return None
