"""What the lab's tests share: an application in this process, a client for it, and a server on a real port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from exemplar.lab.server import LabSettings, create_app

TOKEN = "a-token-for-tests-only"
LEARNING = {
    "type": "learning",
    "name": "objects",
    "subtasks": 3,
    "sessions": 2,
    "trials": 6,
    "prescreening": False,
    "warmups": 0,
}
DRAWING = {"type": "drawing", "name": "copy", "concepts": 2, "drawings": 3}
TURING = {"type": "turing", "name": "turing", "trials": 6}
CLICKME = {
    "type": "clickme",
    "name": "clickme",
    "partner": "templates",
    "concepts": 3,
    "drawings": 3,
    "rounds": 9,
}
ALL_OF_IT = [[row, column, 0.0] for row in range(10, 256, 20) for column in range(10, 256, 20)]  # painted
RIGHT = {"choice": 0, "timed_out": False}
LINE = {"strokes": [[[0.1, 0.1, 0.0], [0.8, 0.7, 40.0]], [[0.2, 0.9, 90.0]]]}


def settings(folder: Path, *experiments: Mapping[str, Any], **more: Any) -> LabSettings:
    values = {"database": str(folder / "lab.sqlite"), "folder": str(folder), "token": TOKEN, "requests": 0.0} | more
    return LabSettings(experiments=experiments or (LEARNING,), **values)


class Person:
    """A participant's browser, without one."""

    def __init__(self, client: TestClient, experiment: str, tab: str = "tab1", **more: Any) -> None:
        self.client, self.tab = client, tab
        made = client.post("/api/participants", json={"experiment": experiment, "consent": True, **more})
        assert made.status_code == 201, made.text
        self.name, self.headers = made.json()["participant"], {"Authorization": f"Bearer {made.json()['token']}"}

    def claim(self, tab: str | None = None) -> dict[str, Any]:
        self.tab = tab or self.tab
        found = self.client.post("/api/sessions", json={"tab": self.tab}, headers=self.headers)
        assert found.status_code == 200, found.text
        return dict(found.json())

    def answer(self, session: str, trial: int, answer: Mapping[str, Any], tab: str | None = None) -> Any:
        body = {"session": session, "trial": trial, "tab": tab or self.tab, "answer": dict(answer)}
        return self.client.post("/api/trials", json=body, headers=self.headers)

    def do_all(self, answers: Mapping[str, Any] | None = None, *, right: bool | None = None) -> list[dict[str, Any]]:
        """Every session to the end; right: whether to choose the key that is right."""
        done = []
        while (session := self.claim())["state"] == "session":
            done.append(session)
            for number, trial in enumerate(session["plan"]["trials"]):
                given = answers or {"choice": trial["right"] if right else 1 - trial["right"], "timed_out": False}
                assert self.answer(session["session"], number, given).status_code == 200
        return [*done, session]


@contextmanager
def serving(given: LabSettings) -> Iterator[str]:
    """A server on a free port; its address."""
    server = uvicorn.Server(uvicorn.Config(create_app(given), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def client(given: LabSettings) -> Iterator[TestClient]:
    app = create_app(given)
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found
    app.state.lab.storage.close()
