"""The strict mode: every call of a learner's methods is a process of its own, forked from one that ran nothing of the user's.

For each support set, and for the targets, that process forks; the child makes the learner, is given the state and the images,
does that one thing, sends back arrays, and is killed. Modules are imported in the child, so that classes, globals, closures,
threads, pipes and shared memory carry nothing from one set to the next; the process that scores never runs the learner's code,
not for its costs either. Targets are not in memory while support sets are shown. A child has no file of ours open. While it
runs, an audit hook refuses writing, processes and sockets by name, and reading files that are not code once the learner is
made; on Linux x86-64 a filter in the kernel refuses them to native code as well (`sandbox`). Nothing is unpickled, on either
side.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from exemplar.errors import UserError
from exemplar.recall.meters.costs import Costs
from exemplar.recall.states import State
from exemplar.recall.stream import TaskImages
from exemplar.store import pack, unpack

LENGTH = struct.Struct(">Q")
BROUGHT_BACK = "error"


class LearnerFailed(Exception):
    """The learner itself raised; the run can go on with the next task."""


class StrictHost:
    """A `Host` whose learners are processes. source: what makes the learner, as `agents.sources` reads it again there."""

    def __init__(self, source: dict[str, Any], who: str) -> None:
        self.who = who
        self.folder = tempfile.TemporaryDirectory(prefix="recall-")
        hidden = ("EXEMPLAR_DATA",)
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "HOME": self.folder.name,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", "from exemplar.recall.strict_worker import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd(), env=environment,
        )  # fmt: skip
        try:
            self.make(source)
        except BaseException:
            self.close()
            raise

    def make(self, source: dict[str, Any]) -> None:
        """Put another learner in the place of this one."""
        try:
            made = self._ask({"make": source})
        except LearnerFailed as problem:
            raise UserError(f"{self.who} cannot be made: {problem}") from problem
        self.read, self.closed = list(made["read"]), bool(made["closed"])

    def snapshot(self, n_labels: int, seed: tuple[Any, ...]) -> State:
        return self._state(self._ask({"do": "snapshot", "n_labels": n_labels, "seed": list(seed)}))

    def observe(
        self, n_labels: int, seed: tuple[Any, ...], state: State | None, images: np.ndarray, labels: np.ndarray
    ) -> State:
        asked = {
            "do": "observe",
            "n_labels": n_labels,
            "seed": list(seed),
            "state": state,
            "images": images,
            "labels": labels,
        }
        return self._state(self._ask(asked))

    def predict(self, n_labels: int, seed: tuple[Any, ...], state: State, images: np.ndarray) -> np.ndarray:
        asked = {"do": "predict", "n_labels": n_labels, "seed": list(seed), "state": state, "images": images}
        return np.asarray(self._ask(asked)["log_p"])

    def costs(self, task: TaskImages) -> Costs:
        """What a task costs, measured in a process of its own."""
        found: Any = self._ask({"costs": vars(task)})["costs"]
        return Costs(**found | {name: tuple(found[name]) for name in ("macs_per_set", "unknown")})

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        self.process.wait(timeout=60)
        self.folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            send(self.process.stdin, asked)
            answer = receive(self.process.stdout)
        except (BrokenPipeError, EOFError) as problem:
            raise UserError(
                f"{self.who} ended its process, or was killed (out of memory?): make it smaller"
            ) from problem
        if "user_error" in answer:
            raise UserError(answer["user_error"])
        if BROUGHT_BACK in answer:
            raise LearnerFailed(answer[BROUGHT_BACK])
        return answer

    @staticmethod
    def _state(answer: dict[str, Any]) -> State:
        found: State = answer["state"]
        return found


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    forward(stream, pack(message))


def forward(stream: IO[bytes], content: bytes) -> None:
    """A message that is packed already."""
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    content = stream.read(LENGTH.unpack(head)[0])
    found: dict[str, Any] = unpack(content)
    return found
