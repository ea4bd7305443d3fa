"""How many participants a machine holds: simulated browsers at human pace, against real server processes that may be killed.

Every acknowledged trial is written down by the client and compared with the database afterwards, row by row.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.answers import Answer, format_pairs
from exemplar.errors import UserError
from exemplar.lab.load_client import Browser, Call, Servers
from exemplar.lab.server import LabSettings, open_lab
from exemplar.lab.storage import SESSIONS, TRIALS

START_S = 600.0  # how long a server may take until it answers: on a busy machine starting takes long
CODE = "from exemplar.cli import main; import sys; sys.argv[0] = 'exemplar'; main()"


@dataclass(frozen=True)
class LoadConfig:
    """participants: at once; trials: of each; pace_s: mean time between the trials of one; kills: of a server, at random
    times; servers: processes on one database; images: whether browsers load the images, too."""

    participants: int = 200
    trials: int = 100
    pace_s: float = 1.2
    kills: int = 0
    servers: int = 1
    images: bool = True
    database: str | None = None
    seed: int = 0


@dataclass(eq=False)
class LoadResult:
    """calls: every request, in the order of their answers; down: (from, to) when a server was down, s; lost, doubled, strange:
    numbers of trials; unfinished: sessions; logs: what clients saw acknowledged; seconds: in all; server_cpu: CPU seconds of
    the server processes, their starts not counted."""

    calls: list[Call] = field(default_factory=list)
    down: list[tuple[float, float]] = field(default_factory=list)
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    strange: int = 0
    unfinished: int = 0
    logs: dict[tuple[str, int], str] = field(default_factory=dict)
    seconds: float = 0.0
    server_cpu: float = 0.0

    @property
    def ok(self) -> bool:
        return not (self.lost or self.doubled or self.strange or self.unfinished)

    def percentile(self, q: float, path: str = "/api/trials") -> float:
        """Of the answer times of requests outside of restarts, ms."""
        times = [
            1000 * (call.end - call.start)
            for call in self.calls
            if call.path.startswith(path) and not any(call.start < to and call.end > since for since, to in self.down)
        ]
        return float(np.percentile(times, q)) if times else float("nan")


def run_load(config: LoadConfig) -> LoadResult:
    """Start the servers, let everyone take part, kill as asked, and compare what was acknowledged with what is kept."""
    with TemporaryDirectory() as name:
        place = Path(name)
        experiments = [
            {"type": "learning", "name": "load", "subtasks": 8, "sessions": 1, "trials": config.trials,
             "prescreening": False, "warmups": 0}
        ]  # fmt: skip
        (place / "experiments.json").write_text(json.dumps(experiments), encoding="utf-8")
        database = config.database or str(place / "lab.sqlite")
        fleet = Fleet(place, database, config.servers)
        lab = open_lab(LabSettings(database, str(place / "lab-images"), tuple(experiments)))
        try:
            if config.images:
                lab.pictures.draw_all()  # as a server has done some minutes after its first start
            fleet.start_all()
            result = asyncio.run(everyone(config, fleet))
        finally:
            fleet.stop()
            lab.storage.close()
        result.server_cpu = fleet.cpu
        _compare(lab, result, config)
        lab.storage.close()
    return result


class Fleet:
    """The server processes."""

    def __init__(self, place: Path, database: str, n: int) -> None:
        self.place, self.database, self.cpu = place, database, 0.0
        self.at_start = [0.0] * n  # CPU seconds that each took until it answered, which are not counted
        self.ports = [find_port() for _ in range(n)]
        self.processes: list[subprocess.Popen[bytes] | None] = [None] * n

    def start(self, number: int) -> None:
        words = ["lab", "serve", "--port", str(self.ports[number]), "--database", self.database, "--requests", "0"]
        words += ["--experiments", str(self.place / "experiments.json"), "--no-draw-ahead"]
        log = (self.place / f"server{number}.log").open("ab")
        self.processes[number] = subprocess.Popen(
            [sys.executable, "-c", CODE, *words], cwd=self.place, stdout=log, stderr=log, env=os.environ.copy()
        )
        log.close()

    def start_all(self) -> None:
        for number in range(len(self.ports)):
            self.start(number)
        for number in range(len(self.ports)):
            self.wait(number)

    def wait(self, number: int) -> None:
        until = time.monotonic() + START_S
        while not self.answers(number):
            process = self.processes[number]
            if time.monotonic() > until or process is None or process.poll() is not None:
                said = (self.place / f"server{number}.log").read_text(errors="replace")[-500:]
                raise UserError(f"The server did not start: {said}")
            time.sleep(0.05)
        process = self.processes[number]
        assert process is not None
        self.at_start[number] = _cpu_of(process.pid)

    def answers(self, number: int) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.ports[number]), timeout=5) as sock:
                sock.sendall(b"GET /healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return sock.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def kill(self, number: int) -> None:
        process = self.processes[number]
        assert process is not None
        self.cpu += _cpu_of(process.pid) - self.at_start[number]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process, at_start in zip(self.processes, self.at_start, strict=True):
            if process is not None and process.poll() is None:
                self.cpu += _cpu_of(process.pid) - at_start
                process.kill()
                process.wait()


async def everyone(config: LoadConfig, fleet: Fleet) -> LoadResult:
    """All browsers from registration to the end, while servers are killed."""
    servers, result = Servers([("127.0.0.1", port) for port in fleet.ports]), LoadResult()
    browsers = [
        Browser(
            servers,
            number,
            config.pace_s,
            seeds.rng("lab load", config.seed, number),
            result.calls,
            images=config.images,
        )
        for number in range(config.participants)
    ]
    started = time.monotonic()
    all_done = asyncio.gather(*(browser.take_part("load") for browser in browsers))
    killer = asyncio.create_task(_kill(config, fleet, servers, result, started, all_done))
    await all_done
    await killer
    result.seconds = time.monotonic() - started
    result.logs = {key: text for browser in browsers for key, text in browser.log.items()}
    return result


async def _kill(
    config: LoadConfig,
    fleet: Fleet,
    servers: Servers,
    result: LoadResult,
    started: float,
    all_done: asyncio.Future[Any],
) -> None:
    """At random times of the first nine tenths, and inside requests: the moment one has been sent. No more once everyone is
    done, for then nobody sends anything."""
    rng = seeds.rng("lab load", "kills", config.seed)
    last = 0.9 * config.trials * config.pace_s
    for moment in np.sort(rng.uniform(0.02 * last, last, config.kills)):
        await asyncio.wait([all_done], timeout=max(0.0, started + float(moment) - time.monotonic()))
        sent: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        servers.awaited = sent
        await asyncio.wait([all_done, sent], return_when=asyncio.FIRST_COMPLETED)
        if not sent.done():
            return
        number = sent.result()
        since = time.monotonic()
        fleet.kill(number)
        fleet.start(number)
        await asyncio.to_thread(fleet.wait, number)
        result.down.append((since, time.monotonic() + 1.0))  # and what had piled up


def _compare(lab: Any, result: LoadResult, config: LoadConfig) -> None:
    """The clients' logs against the tables."""
    import sqlalchemy as sa

    with lab.storage.reading() as connection:
        rows = connection.execute(sa.select(TRIALS.c.session, TRIALS.c.trial, TRIALS.c.answer)).all()
        done = connection.execute(sa.select(SESSIONS.c.n_done, SESSIONS.c.n_trials)).all()
    logs: dict[tuple[str, int], str] = result.logs
    kept = {(session, trial): json.loads(answer) for session, trial, answer in rows}
    result.acknowledged = len(logs)
    result.doubled = sum(n - 1 for n in Counter((session, trial) for session, trial, _ in rows).values())
    result.lost = sum(kept.get(key) != json.loads(answer) for key, answer in logs.items())
    result.strange = sum(key not in logs for key in kept)
    finished = sum(n_done == n_trials for n_done, n_trials in done)
    result.unfinished = config.participants - finished


def describe_load(config: LoadConfig) -> Answer:
    """The verb: run, and say it."""
    result = run_load(config)
    per_s = len(result.calls) / result.seconds
    values: dict[str, Any] = {
        "participants": config.participants,
        "trials_acknowledged": result.acknowledged,
        "lost": result.lost,
        "doubled": result.doubled,
        "unexplained": result.strange,
        "sessions_unfinished": result.unfinished,
        "kills": len(result.down),
        "seed": config.seed,
        "seconds": round(result.seconds, 1),
        "requests_per_second": round(per_s, 1),
        "trial_ms_median": round(result.percentile(50), 2),
        "trial_ms_99": round(result.percentile(99), 2),
        "any_request_ms_99": round(result.percentile(99, "/"), 2),
        "server_cpu_share": round(result.server_cpu / result.seconds, 3),
    }
    text = f"{format_pairs(values)}\n\n{_estimate(result, config)}"
    return Answer(values=values, text=text, ok=result.ok)


def _estimate(result: LoadResult, config: LoadConfig) -> str:
    share = result.server_cpu / result.seconds
    held = config.participants / max(share, 1e-9)
    return (
        f"At this pace the servers took {share:.2f} cores, their starts not counted: one core holds about {held:,.0f} "
        f"participants, and 10,000 would need about {10_000 / held:,.0f} cores."
    )


def find_port() -> int:
    """A free port that stays free while its server is down: below those that the system gives to clients, one of whom might
    otherwise be given it, or even be connected to itself."""
    for _ in range(200):
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise UserError("No free port was found between 10,000 and 30,000.")


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process so far, user and system."""
    try:
        parts: Sequence[str] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
