"""The strict mode: every call of a learner's methods is a process of its own, forked from one that has done nothing yet.

A process of ours makes the learner once and never calls it. For each support set, and for the targets, it forks; the child is
given the state and the images through a pipe, does that one thing, sends back arrays, and is gone. Classes, modules, closures,
threads and global variables carry nothing from one set to the next, and targets are not in memory while support sets are
shown. While the learner's code runs, opening files for writing, starting processes and sockets are refused (an audit hook);
while it learns or predicts, so is reading files that are not code. Nothing is unpickled, on either side.

This guards against mistakes and ordinary cheating. It is no wall against native code written to get around it.
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
from exemplar.recall.states import State
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
        }
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", "from exemplar.recall.strict_worker import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd(), env=environment,
        )  # fmt: skip
        self.make(source)

    def make(self, source: dict[str, Any]) -> None:
        """Put another learner in the place of this one."""
        self._ask({"make": source})

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
    content = pack(message)
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    content = stream.read(LENGTH.unpack(head)[0])
    found: dict[str, Any] = unpack(content)
    return found
