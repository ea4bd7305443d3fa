"""A web server on this machine that misbehaves on demand, for the tests of fetching."""

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Home:
    """files: path → content. moods: how to answer the next requests, one each; once they are used up, properly."""

    files: dict[str, bytes]
    etag: str | None = '"v1"'
    stated_md5: str | None = None
    moods: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)  # the Range of each request so far
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    @property
    def n_requests(self) -> int:
        return len(self.ranges)


def goog_md5(content: bytes) -> str:
    """As Google's storage states it."""
    return base64.b64encode(hashlib.md5(content).digest()).decode()


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())


class _Handler(BaseHTTPRequestHandler):
    home: Home
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        home, self.close_connection = self.home, True
        wanted = self.headers.get("Range")
        home.ranges.append(wanted)
        mood = home.moods.pop(0) if home.moods else "proper"
        content = home.files.get(self.path)
        if mood.isdecimal() or content is None:
            self.answer(int(mood) if mood.isdecimal() else 404, b"")
            return
        if mood == "redirect":
            self.answer(302, b"", Location=self.path)
            return
        if mood == "corrupt":
            content = content[:-1] + bytes([content[-1] ^ 1])
        start, status, extra = 0, 200, {}
        condition = self.headers.get("If-Range")
        if wanted and mood != "ignore-range" and (condition is None or condition == home.etag):
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(content):
                self.answer(416, b"", **{"Content-Range": f"bytes */{len(content)}"})
                return
            if mood == "wrong-range":
                start += 1
            extra["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        if mood == "claims-more":
            self.answer(status, body, length=len(body) + 10, **extra)
        elif mood == "claims-less":
            self.answer(status, body, length=len(body) - 10, **extra)
        elif mood == "no-length":
            self.answer(status, body, length=None, **extra)
        elif mood in ("truncate", "stall"):
            self.answer(status, body[: len(body) // 2], length=len(body), **extra)
            if mood == "stall":
                self.wfile.flush()
                home.released.wait(20)
        else:
            self.answer(status, body, **extra)

    def answer(self, status: int, body: bytes, length: int | None = -1, **headers: str) -> None:
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
        if self.home.etag and status in (200, 206):
            self.send_header("ETag", self.home.etag)
        if self.home.stated_md5 and status in (200, 206):
            self.send_header("x-goog-hash", f"crc32c=AAAAAA==,md5={self.home.stated_md5}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up on a lie is what these tests are about."""


@contextmanager
def served(**files: bytes) -> Iterator[Home]:
    """Files by name, at HOME.url + "/" + name, until the block ends."""
    home = Home({f"/{name}": content for name, content in files.items()})
    handler = type("Handler", (_Handler,), {"home": home})
    server = _Server(("127.0.0.1", 0), handler)
    home.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield home
    finally:
        home.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
