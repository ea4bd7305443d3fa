"""Run tests in a fork of a process that has imported the libraries already, but nothing of the package.

A fresh pytest spends seconds on importing torch and pandas; a fork has them at once.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

LIBRARIES = (
    "hypothesis.strategies", "numpy", "numpy.testing", "pandas", "pyarrow.parquet", "scipy.stats", "scipy.optimize",
    "scipy.sparse.csgraph", "scipy.special", "sklearn.linear_model", "sklearn.discriminant_analysis", "sklearn.metrics",
    "statsmodels.api", "numba", "torch", "torch.func", "torch.nn.functional", "torch.utils.flop_counter",
    "torch.distributed", "safetensors.torch", "lightning_fabric", "threadpoolctl", "PIL.Image", "jinja2", "typer",
    "rich.console", "rich.progress", "rich.table", "matplotlib.figure", "fastapi.testclient", "sqlalchemy", "uvicorn",
)  # fmt: skip
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # forks keep but one


class Forks:
    """The process that forks; `run` answers with its exit status (None where time ran out), seconds and last words."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())], env=environment | ONE_THREAD, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(
        self,
        checkout: Path,
        paths: list[str],
        environment: dict[str, str],
        timeout: float,
        tests: list[str] | None = None,
    ) -> dict[str, Any]:
        """tests: these and no others of the files, in this order. Stops at the first that fails."""
        request = {
            "checkout": str(checkout),
            "paths": paths,
            "environment": environment,
            "timeout": timeout,
            "tests": tests,
        }
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve() -> None:
    import pytest

    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what libraries print is no answer
        with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as empty:
            pytest.main(
                ["-p", "no:cacheprovider", empty]
            )  # plugins come in by pytest's importer, or it complains later
        for name in LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        gc.freeze()  # pytest collects garbage several times: not the libraries', in each fork again
        for line in sys.stdin:
            print(json.dumps(run_in_fork(**json.loads(line))), file=answers, flush=True)


def run_in_fork(
    checkout: str, paths: list[str], environment: dict[str, str], timeout: float, tests: list[str] | None
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        said, times = Path(scratch) / "said", Path(scratch) / "seconds"
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            run_tests(
                checkout, paths, environment | {"TMPDIR": scratch, "HYPOTHESIS_STORAGE_DIRECTORY": scratch}, tests
            )
        status = None
        while status is None and time.monotonic() - begin < timeout:
            ended, code = os.waitpid(child, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if ended else None
            time.sleep(0.0 if ended else 0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # a mutant may leave processes behind
        if status is None:
            os.waitpid(child, 0)
        return {
            "status": status,
            "seconds": time.monotonic() - begin,
            "said": said.read_text(encoding="utf-8", errors="replace")[-3000:] if said.is_file() else "",
            "times": json.loads(times.read_text()) if times.is_file() else {},
        }


def run_tests(checkout: str, paths: list[str], environment: dict[str, str], tests: list[str] | None) -> NoReturn:
    """In the fork: as `python -m pytest` in the checkout would, as far as tests can tell."""
    import pytest

    status = 70
    try:
        os.setsid()
        scratch = Path(environment["TMPDIR"])
        for number, name, flags in ((0, os.devnull, os.O_RDONLY), (1, str(scratch / "said"), os.O_WRONLY | os.O_CREAT)):
            os.dup2(os.open(name, flags), number)
        os.dup2(1, 2)
        os.environ.update(environment)
        os.chdir(checkout)
        tempfile.tempdir = None
        sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
        sys.modules["numba"].core.config.reload_config()
        sys.modules["__main__"] = ModuleType("__main__")  # spawned processes look for this file otherwise
        sys.path[:] = [checkout, f"{checkout}/src", *(path for path in sys.path if path != str(Path(__file__).parent))]
        chosen = Chosen(tests)
        status = int(
            pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *paths], plugins=[chosen])
        )
        (scratch / "seconds").write_text(json.dumps(chosen.seconds))
        sys.stdout.flush()
    finally:
        os._exit(status)


class Chosen:
    """A plugin of pytest: these tests in this order, and how long each took."""

    def __init__(self, tests: list[str] | None) -> None:
        self.tests = tests
        self.seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        found = {item.nodeid: item for item in items}
        if self.tests is not None and found.keys() >= set(self.tests):  # else the mutant changed their names: run all
            items[:] = [found[test] for test in self.tests]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = round(self.seconds.get(report.nodeid, 0.0) + report.duration, 3)


if __name__ == "__main__":
    serve()
