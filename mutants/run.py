"""Break a module on purpose, once at a time, and see whether its tests notice.

    make mutants MODULE=stats            # the first sample, drawn before tests are written
    make mutants MODULE=stats SAMPLE=2   # a fresh one, by which the module is judged

Works in a copy of the checkout; each outcome is kept in mutants/results/ as it comes, and a sample that was stopped goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from sampling import SIZE, Mutant, apply, describe_change, sample_mutants

HERE = Path(__file__).parent
ROOT = HERE.parent
COPIED = ("src", "tests", "speed", "docs", "pyproject.toml", "README.md", "Makefile")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("module", choices=sorted(modules()))
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    about = modules()[asked.module]
    path = HERE / "results" / f"{asked.module}-{asked.sample}.json"
    kept: dict[str, dict] = json.loads(path.read_text()) if path.is_file() else {}
    mutants = [
        mutant
        for mutant in sample_mutants(ROOT, about["sources"], asked.module, asked.sample)
        if mutant.key not in kept
    ]
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for worker in range(asked.workers):
            copies.put(copy_checkout(Path(folder) / f"{worker}" / "checkout"))
        first = copies.get()
        outcome, seconds, said = run_tests(first, about["tests"], timeout=1800)
        copies.put(first)
        if outcome != "survived":
            sys.exit(f"The tests of {asked.module} fail without any mutant:\n{said}")
        print(
            f"{asked.module}: {len(mutants)} of {SIZE} mutants to try, {seconds:.0f} s each where none is noticed",
            flush=True,
        )

        def judge(mutant: Mutant) -> tuple[Mutant, dict]:
            copy = copies.get()
            try:
                return mutant, try_mutant(copy, mutant, about["tests"], 60 + 5 * seconds)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(asked.workers) as pool:
            for mutant, found in pool.map(judge, mutants):
                kept[mutant.key] = found
                write(path, kept)
                print(
                    f"{found['outcome']:9} {mutant.file}:{mutant.line} {found['before']}  →  {found['after']}",
                    flush=True,
                )
    noticed = sum(found["outcome"] != "survived" for found in kept.values())
    print(f"{noticed} of {len(kept)} noticed")


def modules() -> dict[str, dict]:
    return tomllib.loads((HERE / "modules.toml").read_text())


def copy_checkout(place: Path) -> Path:
    """The checkout as it is, with real data beside it; weights are linked, not copied."""
    place.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("weights", "__pycache__", "*.egg-info"))
        elif source.is_file():
            shutil.copy(source, place / name)
    (place / "src/exemplar/weights").symlink_to(ROOT / "src/exemplar/weights")
    return place


def try_mutant(copy: Path, mutant: Mutant, tests: list[str], timeout: float) -> dict:
    before = (copy / mutant.file).read_text(encoding="utf-8")
    after = apply(copy, mutant)
    if after is None:
        return {"line": mutant.line, "operator": mutant.operator, "before": "", "after": "", "outcome": "unchanged"}
    try:
        (copy / mutant.file).write_text(after, encoding="utf-8")
        outcome, seconds, _ = run_tests(copy, tests, timeout)
    finally:
        (copy / mutant.file).write_text(before, encoding="utf-8")
    change = describe_change(before, after)
    return {
        "line": mutant.line,
        "operator": mutant.operator,
        **change,
        "outcome": outcome,
        "seconds": round(seconds, 1),
    }


def run_tests(copy: Path, tests: list[str], timeout: float) -> tuple[str, float, str]:
    """ "noticed", "timeout" (noticed too) or "survived"; hypothesis tries the same examples each time."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | {
            "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
            "EXEMPLAR_DATA": os.environ.get("EXEMPLAR_DATA", str((ROOT / "../shared/data").resolve())), "TMPDIR": scratch,
            "NUMBA_CACHE_DIR": str(Path(scratch) / "numba"),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(
            command, cwd=copy, env=environment, text=True, start_new_session=True, **pipes
        ) as process:
            try:
                said, _ = process.communicate(timeout=timeout)
                outcome = "survived" if process.returncode == 0 else "noticed"
            except subprocess.TimeoutExpired:
                said, outcome = "", "timeout"
            finally:
                end_group(process.pid)
    return outcome, time.monotonic() - begin, said[-3000:]


def end_group(pid: int) -> None:
    """A mutant may leave processes behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def write(path: Path, kept: dict[str, dict]) -> None:
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(found, ensure_ascii=False)}" for key, found in kept.items())
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    main()
