"""What tests share: real data where there is any, and the command line as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from exemplar.images import sources

torch.set_num_threads(1)  # two threads on two busy cores wait for each other
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and theirs, do not hear Ctrl-C


@pytest.fixture(scope="session")
def real_data() -> Any:
    """real_data("omniglot") → its folder; skips, saying so, where it is absent."""

    def folder(name: str) -> Path:
        found = sources.find(name)
        if found is None:
            pytest.skip(f"{name} is not on this machine: set EXEMPLAR_DATA")
        return found

    return folder


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def exemplar() -> Any:
    """exemplar("data", "list", cwd=…, env={…}) runs the command as a user does, in a process of its own."""

    def run(*words: str | Path, cwd: Path | None = None, env: dict[str, str | None] | None = None) -> Said:
        changed = {**os.environ, **(env or {})}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "from exemplar.cli import main; main()", *map(str, words)],
            capture_output=True, text=True, cwd=cwd, timeout=900,
            env={name: value for name, value in changed.items() if value is not None},
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return run


def mistake(said: Said) -> str:
    """The sentence of a user's mistake: exit code 2, one line on standard error, nothing on standard output."""
    assert said.code == 2, said
    assert said.out == ""
    lines = said.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("exemplar: "), said.err
    return lines[0]
