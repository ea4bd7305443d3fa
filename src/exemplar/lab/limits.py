"""What stands before every request, as plain ASGI: limits on size and rate, and headers that keep browsers safe."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2**20  # a drawing of 20,000 points is about half of this
MOST_ADDRESSES = 10_000
PAGES = ("/images/", "/static/")  # cheap, cached, and asked for a hundred at a time


HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class TooLarge(Exception):
    pass


class SafeHeaders:
    """Adds HEADERS to every answer, and keeps pages and records out of caches."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        kept = [] if scope["path"].startswith(PAGES) else [(b"cache-control", b"no-store")]
        if scope.get("scheme") == "https":  # as the proxy says
            kept.append((b"strict-transport-security", b"max-age=31536000"))

        async def safer(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message.get("headers", ())}
                added = [pair for pair in (*self.headers, *kept) if pair[0] not in there]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        await self.app(scope, receive, safer)


class BodyLimit:
    """Refuses a body of more than MOST_BYTES, whether or not it says so beforehand."""

    def __init__(self, app: ASGIApp, most: int = MOST_BYTES) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.most:
            await _refuse(send, 413, f"A request may have {self.most:,} bytes at most.")
            return
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self.most:
                raise TooLarge
            return message

        async def unless_too_large(message: Message) -> None:
            if total <= self.most:
                await send(message)

        with suppress(TooLarge):  # which the application may have turned into an answer of its own
            await self.app(scope, counted, unless_too_large)
        if total > self.most:
            await _refuse(send, 413, f"A request may have {self.most:,} bytes at most.")


class Buckets:
    """A bucket of requests for each of those who ask, filled at a steady rate; 0 for no limit. Each process counts for itself:
    behind several, or behind a proxy that does the same, the limit is a protection, not a promise."""

    def __init__(self, per_second: float, burst: float = 10.0) -> None:
        self.rate, self.burst = per_second, burst * max(per_second, 1.0)
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, who: str, now: float) -> bool:
        if self.rate <= 0:
            return True
        left, before = self.buckets.pop(who, (self.burst, now))
        left = min(self.burst, left + (now - before) * self.rate)
        self.buckets[who] = (left - 1 if left >= 1 else left, now)
        if len(self.buckets) > MOST_ADDRESSES:
            self.buckets.popitem(last=False)
        return left >= 1


class RateLimit(Buckets):
    """A bucket for each address, before anything else is done."""

    def __init__(self, app: ASGIApp, per_second: float, burst: float = 10.0) -> None:
        super().__init__(per_second, burst)
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.rate > 0 and not scope["path"].startswith(PAGES):
            address = (scope.get("client") or ("",))[0]
            if not self.allows(address, time.monotonic()):
                await _refuse(send, 429, "Too many requests: wait a moment.", wait=True)
                return
        await self.app(scope, receive, send)


async def _refuse(send: Send, status: int, text: str, *, wait: bool = False) -> None:
    body = json.dumps({"error": text}).encode()
    headers: list[tuple[bytes, bytes]] = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if wait:
        headers.append((b"retry-after", b"1"))
    start: dict[str, Any] = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
