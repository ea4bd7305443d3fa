"""Agents that take part as people do: through a server, or without one. The same seed leaves the same records either way."""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from exemplar.answers import Answer
from exemplar.errors import UserError
from exemplar.lab.experiments import make_experiment
from exemplar.lab.exporting import write_export
from exemplar.lab.guessing import look
from exemplar.lab.players import Places, Player, agent_name, make_player
from exemplar.lab.server import LabSettings, open_lab
from exemplar.lab.serving import read_experiments
from exemplar.lab.sessions import Lab, Participant, Refused, find_experiment

TAB = "bot"
PATIENCE_S = 120.0  # how long a bot goes on trying to reach a server that does not answer


class Host(Protocol):
    """Whoever poses the tasks: a server, or the lab in this process."""

    def register(self, experiment: str, agent: str, seed: int) -> str: ...

    def claim(self) -> dict[str, Any]: ...

    def answer(self, session: str, trial: int, answer: Mapping[str, Any]) -> dict[str, Any]: ...

    def guess(self, session: str, trial: int, places: Places) -> dict[str, Any]: ...

    def image(self, address: str) -> bytes: ...

    def close(self) -> None: ...


class InProcess:
    """The lab itself, without HTTP."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.person: Participant | None = None

    def register(self, experiment: str, agent: str, seed: int) -> str:
        name, token = self.lab.register(experiment, {}, agent=agent, seed=seed)
        self.person = self.lab.find(token)
        return name

    def claim(self) -> dict[str, Any]:
        assert self.person is not None
        return self.lab.claim(self.person, TAB)

    def answer(self, session: str, trial: int, answer: Mapping[str, Any]) -> dict[str, Any]:
        assert self.person is not None
        return self.lab.answer(self.person, session, trial, TAB, answer)

    def guess(self, session: str, trial: int, places: Places) -> dict[str, Any]:
        assert self.person is not None
        return look(self.lab, self.person, session, trial, TAB, [list(place) for place in places])

    def image(self, address: str) -> bytes:
        return self.lab.pictures.read(address.rpartition("/")[2].removesuffix(".png"))

    def close(self) -> None:
        pass


class Http:
    """A server, over one connection that is opened again when it breaks. Requests are sent until they are answered."""

    def __init__(self, server: str) -> None:
        parts = urllib.parse.urlsplit(server if "//" in server else f"//{server}")
        try:
            name, port = parts.hostname, parts.port
        except ValueError:  # a port that is no number
            name, port = None, None
        if not name:
            raise UserError(f"{server} is no address of a server: give one like http://127.0.0.1:8000.")
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self.connection = kind(name, port or (443 if secure else 80), timeout=30)
        self.server, self.token = server, ""

    def register(self, experiment: str, agent: str, seed: int) -> str:
        bot = {"agent": agent, "seed": seed}
        made = self.send("POST", "/api/participants", {"experiment": experiment, "consent": True, "bot": bot})
        self.token = made["token"]
        return str(made["participant"])

    def claim(self) -> dict[str, Any]:
        return self.send("POST", "/api/sessions", {"tab": TAB})

    def answer(self, session: str, trial: int, answer: Mapping[str, Any]) -> dict[str, Any]:
        body = {"session": session, "trial": trial, "tab": TAB, "answer": dict(answer)}
        return self.send("POST", "/api/trials", body)

    def guess(self, session: str, trial: int, places: Places) -> dict[str, Any]:
        body = {"session": session, "trial": trial, "tab": TAB, "places": [list(place) for place in places]}
        return self.send("POST", "/api/guess", body)

    def image(self, address: str) -> bytes:
        return self.request("GET", address, None)

    def close(self) -> None:
        self.connection.close()

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.request(method, path, json.dumps(body).encode()))
        return found

    def request(self, method: str, path: str, body: bytes | None) -> bytes:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        pause, until = 0.25, time.monotonic() + PATIENCE_S
        while True:
            try:
                self.connection.request(method, path, body, headers)
                response = self.connection.getresponse()
                content, status = response.read(), response.status
            except (OSError, http.client.HTTPException) as problem:
                self.connection.close()
                content, status = b"", 503
                if time.monotonic() > until:
                    raise UserError(f"{self.server} does not answer ({problem}): is it running?") from problem
            if status < 300:
                return content
            if status not in (429, 502, 503, 504) or time.monotonic() > until:
                raise UserError(f"{self.server} refused: {_sentence(content, status)}")
            time.sleep(pause)
            pause = min(2 * pause, 5.0)


def take_part(host: Host, player: Player, experiment: str, agent: str, seed: int) -> str:
    """One bot from registration to the end; its participant's name."""
    name = host.register(experiment, agent, seed)
    while (session := host.claim())["state"] == "session":
        plan = session["plan"]
        player.begin(plan, seed=seed, number=session["number"])
        for trial in range(session["n_trials"]):
            partner = partial(host.guess, session["session"], trial)
            answer = player.answer(plan["trials"][trial], host.image, partner)
            if trial >= session["next"]:
                host.answer(session["session"], trial, answer)
    return name


def simulate_bots(
    experiment: str,
    agent: str,
    stage: str,
    n: int,
    server: str | None,
    experiments: Path | str | None,
    out: Path | str | None,
    seed: int,
) -> Answer:
    """n bots, one after the other, whose seeds are seed, seed + 1, …"""
    if (server is None) == (out is None):
        raise UserError("Give --server, where the records are kept, or --out, the folder for them.")
    folder = None if out is None else Path(out).expanduser()
    if folder is not None and folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise UserError(f"{folder} already exists: give --out a new folder, or remove this one.")
    offered = read_experiments(experiments)
    settings = (
        tuple(one for one in offered if make_experiment(one).name == experiment) or offered
    )  # no need to load others
    name, names = agent_name(agent), []
    with tempfile.TemporaryDirectory() as place:
        lab = open_lab(LabSettings(str(Path(place) / "lab.sqlite"), place, settings, bots=True))
        player = make_player(find_experiment(lab.experiments, experiment), agent, stage)
        for number in range(n):
            print(f"bot {number + 1} of {n} …", file=sys.stderr)
            with closing(InProcess(lab) if server is None else Http(server)) as host:
                try:
                    names.append(take_part(host, player, experiment, name, seed + number))
                except Refused as problem:
                    raise UserError(problem.text) from problem
        if folder is not None:
            write_export(lab, experiment, folder)
        lab.storage.close()
    where = server if folder is None else str(folder)
    values = {"experiment": experiment, "agent": name, "participants": names, "seed": seed, "where": where}
    return Answer(
        values=values, text=f"{n} bots took part in {experiment}; their records are in {where}.", folder=folder
    )


def _sentence(content: bytes, status: int) -> str:
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {status}"
