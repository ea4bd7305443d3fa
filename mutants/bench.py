"""Where mutants are tried: copies of the checkout, one per worker, kept in .mutants/ as long as nothing changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from forking import Forks
from recording import Record, record_lines
from sampling import Mutant, apply, source_files

COPIED = ("src", "tests", "speed", "docs", "pyproject.toml", "README.md", "Makefile")


class Bench:
    """compiled: code that numba compiles elsewhere, so that nobody sees which lines a test executes."""

    def __init__(
        self, root: Path, module: str, sources: list[str], tests: list[str], compiled: bool, workers: int
    ) -> None:
        self.root, self.tests, self.compiled = root, tests, compiled
        self.files = source_files(root, sources)
        self.place = root / ".mutants" / module
        self.forks = [Forks(os.environ | {"EXEMPLAR_DATA": _data(root)}) for _ in range(workers)]
        try:
            self._prepare(workers)
        except BaseException:
            self.close()
            raise

    def _prepare(self, workers: int) -> None:
        key = hashlib.sha256(repr((self.tests, self.files, workers, _state(self.root))).encode()).hexdigest()
        known = self.place / "record.json"
        kept = json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}
        if kept.get("key") != key:
            shutil.rmtree(self.place, ignore_errors=True)
            for worker in range(workers):
                copy_checkout(self.root, self._checkout(worker))
            with ThreadPoolExecutor(workers) as pool:  # both also fill caches: compiled tests, compiled functions
                plain = pool.submit(self._run, 0, None, self._place(0) / "numba", timeout=3600.0, cached=True)
                last = workers - 1
                environment = self._environment(last, self._place(last) / "numba")
                lines = pool.submit(
                    record_lines, self._checkout(last), self.files, self.tests, os.environ | environment
                )
                found = plain.result()
                if found["status"] != 0:
                    sys.exit(f"The tests fail without any mutant:\n{found['said']}")
                kept = {"key": key, "seconds": found["times"], "tests": lines.result()}
            known.write_text(json.dumps(kept), encoding="utf-8")
        self.record = Record(kept["seconds"], kept["tests"])
        for worker in range(workers):
            for file in self.files:  # one that was stopped may have left a mutant
                shutil.copy2(self.root / file, self._checkout(worker) / file)

    def judge(self, worker: int, mutant: Mutant) -> dict:
        """Its outcome: "noticed", "timeout" (noticed, too) or "survived"."""
        chosen = self.record.tests_of(self.root, mutant.file, mutant.line, self.compiled)
        if not chosen:
            return {"outcome": "survived", "tests": 0, "seconds": 0.0}
        target = self._checkout(worker) / mutant.file
        after = apply(self.root, mutant)
        assert after is not None
        alone = sum(self.record.seconds[test] for test in chosen)
        try:
            target.write_text(after, encoding="utf-8")
            with self._compiled(worker, mutant.file) as numba:
                found = self._run(worker, chosen, numba, timeout=30 + 5 * alone)
        finally:
            shutil.copy2(self.root / mutant.file, target)
        outcome = {None: "timeout", 0: "survived"}.get(found["status"], "noticed")
        return {"outcome": outcome, "tests": len(chosen), "seconds": round(found["seconds"], 1)}

    def close(self) -> None:
        for forks in self.forks:
            forks.close()

    def _place(self, worker: int) -> Path:
        return self.place / str(worker)

    def _checkout(self, worker: int) -> Path:
        return self._place(worker) / "checkout"

    def _run(
        self, worker: int, chosen: list[str] | None, numba: Path, timeout: float, cached: bool = False
    ) -> dict[str, Any]:
        paths = self.tests if chosen is None else list(dict.fromkeys(test.split("::")[0] for test in chosen))
        environment = self._environment(worker, numba) | ({} if cached else {"PYTHONDONTWRITEBYTECODE": "1"})
        return self.forks[worker].run(self._checkout(worker), paths, environment, timeout, chosen)

    def _environment(self, worker: int, numba: Path) -> dict[str, str]:
        return {
            "PYTHONPATH": str(self._checkout(worker) / "src"),
            "NUMBA_CACHE_DIR": str(numba),
            "EXEMPLAR_DATA": _data(self.root),
        }

    @contextlib.contextmanager
    def _compiled(self, worker: int, file: str) -> Iterator[Path]:
        """A copy of what numba compiled without mutants; nothing where this file could be part of it."""
        warm = self._place(worker) / "numba"
        name = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch) / "numba"
            if warm.is_dir() and not any(name in text or path == file for path, text in self._jitted().items()):
                shutil.copytree(warm, place)
            yield place

    def _jitted(self) -> dict[str, str]:
        texts = {
            str(path.relative_to(self.root)): path.read_text(encoding="utf-8") for path in self.root.glob("src/**/*.py")
        }
        return {path: text for path, text in texts.items() if "njit" in text}


def copy_checkout(root: Path, place: Path) -> None:
    """The checkout as it is; weights are linked, not copied."""
    place.mkdir(parents=True)
    ignored = shutil.ignore_patterns("weights", "__pycache__", "*.egg-info")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, place / name, ignore=ignored)
        elif (root / name).is_file():
            shutil.copy2(root / name, place / name)
    (place / "src/exemplar/weights").symlink_to(root / "src/exemplar/weights")


def _data(root: Path) -> str:
    return os.environ.get("EXEMPLAR_DATA", str((root / "../shared/data").resolve()))


def _state(root: Path) -> str:
    """A hash of the sources and tests."""
    found = hashlib.sha256()
    for path in sorted([*root.glob("src/**/*.py"), *root.glob("tests/**/*.py"), *root.glob("mutants/**/*.py")]):
        found.update(path.read_bytes())
    return found.hexdigest()
