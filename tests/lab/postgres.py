"""A PostgreSQL server of the tests' own, where its binaries exist."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exemplar.lab.under_load import find_port


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty database; as root the server runs as the user postgres, since initdb refuses root."""
    if not shutil.which("initdb") or not shutil.which("pg_ctl"):
        pytest.skip("PostgreSQL's initdb and pg_ctl are not on this machine")
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    port = find_port()
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        place = Path(name)
        if user:
            shutil.chown(place, "postgres")
        data = str(place / "data")

        def run(*words: str) -> None:
            done = subprocess.run([*user, *words], cwd=place, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr

        run("initdb", "-D", data, "-U", "lab", "--auth=trust", "-E", "UTF8")
        run("pg_ctl", "-D", data, "-w", "-l", str(place / "log"), "-o", f"-p {port} -k {place} -h 127.0.0.1", "start")
        try:
            yield f"postgresql://lab@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
