"""A browser as far as a server can tell: it loads images, answers trials at human pace, and sends again until acknowledged."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

RETRY = (429, 502, 503, 504)
PAUSE_S, LONGEST_S = 0.25, 5.0


@dataclass(frozen=True)
class Call:
    """One request that was answered. start, end: monotonic s, of the attempt that succeeded."""

    path: str
    start: float
    end: float


@dataclass(eq=False)
class Servers:
    """Where to send. awaited: who wants to know which server was sent a request next, if anybody does."""

    addresses: list[tuple[str, int]]
    awaited: asyncio.Future[int] | None = None

    def was_sent(self, at: int) -> None:
        if self.awaited is not None and not self.awaited.done():
            self.awaited.set_result(at)


class Browser:
    """One participant. log: (session, trial) → answer, of everything that was acknowledged."""

    def __init__(
        self,
        servers: Servers,
        number: int,
        pace_s: float,
        rng: np.random.Generator,
        calls: list[Call],
        *,
        images: bool,
    ) -> None:
        self.servers, self.pace_s, self.rng, self.calls, self.images = servers, pace_s, rng, calls, images
        self.at = number % len(servers.addresses)
        self.tab, self.token = f"tab{number}", ""
        self.log: dict[tuple[str, int], str] = {}
        self.stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def take_part(self, experiment: str) -> None:
        await asyncio.sleep(float(self.rng.uniform(0, self.pace_s * 5)))  # nobody comes at the same instant
        made = await self.send("POST", "/api/participants", {"experiment": experiment, "consent": True})
        self.token = made["token"]
        while (session := await self.send("POST", "/api/sessions", {"tab": self.tab}))["state"] == "session":
            trials = session["plan"]["trials"]
            if self.images:
                for trial in trials:
                    await self.send("GET", trial["image"], None)
            for number in range(session["next"], session["n_trials"]):
                await asyncio.sleep(float(self.rng.gamma(4.0, self.pace_s / 4.0)))
                await self.answer(session["session"], number, len(trials))
        if self.stream is not None:
            self.stream[1].close()

    async def answer(self, session: str, trial: int, n: int) -> None:
        answer = {
            "choice": int(self.rng.integers(2)),
            "timed_out": False,
            "reaction_time_ms": round(float(self.rng.gamma(4.0, 150.0)), 1),
            "refresh_hz": 60.0,
            "dropped_frames": 0,
        }
        got = await self.send(
            "POST", "/api/trials", {"session": session, "trial": trial, "tab": self.tab, "answer": answer}
        )
        assert got["accepted"] and got["next"] == trial + 1, got
        self.log[(session, trial)] = json.dumps(answer)

    async def send(self, method: str, path: str, body: Any) -> Any:
        """Until it is answered; another server is tried after each failure."""
        pause = PAUSE_S
        while True:
            start = time.monotonic()
            status, content = await self.attempt(method, path, body)
            if status < 300:
                self.calls.append(Call(path, start, time.monotonic()))
                return json.loads(content) if path.startswith("/api") else None
            if status not in RETRY:
                raise RuntimeError(f"{method} {path}: {status} {content[:200]!r}")
            self.at = (self.at + 1) % len(self.servers.addresses)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_S)

    async def attempt(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        """(status, content); 503 where the connection broke."""
        at = self.at
        try:
            if self.stream is None or self.stream[1].is_closing() or self.stream_at != at:
                self.stream, self.stream_at = await asyncio.open_connection(*self.servers.addresses[at]), at
            reader, writer = self.stream
            data = b"" if body is None else json.dumps(body).encode()
            head = f"{method} {path} HTTP/1.1\r\nHost: lab\r\nContent-Length: {len(data)}\r\n"
            head += "Content-Type: application/json\r\n" + (
                f"Authorization: Bearer {self.token}\r\n" if self.token else ""
            )
            writer.write(head.encode() + b"\r\n" + data)
            await writer.drain()
            self.servers.was_sent(at)
            return await _read(reader)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            if self.stream is not None:
                self.stream[1].close()
            self.stream = None
            return 503, b""


async def _read(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:")), 0)
    return int(head[0].split()[1]), await reader.readexactly(length)
