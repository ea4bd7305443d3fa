"""What a newcomer gets and waits for: the wheel in a fresh environment, its size, and the first commands cold and warm.

    python release/trial.py            # about ten minutes, most of them pip's; prints what README says under "Install"

Everything happens in a temporary folder, without EXEMPLAR_DATA and with an empty cache; nothing of the checkout is imported.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COMMANDS = (
    "--help",
    "learn human",
    "draw score redraw@2 --data glyphs",
    "learn run --stage efficientnet-lite0/head --rule square --subtasks 8",
    "tour --out tour",
)


def install(place: Path) -> Path:
    """The wheel of this checkout in a new environment; returns the command `exemplar`."""
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    python = place / "venv/bin/python"
    clean = place / "source"  # without what an earlier build left
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        clean.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, clean)
    shutil.copytree(ROOT / "src", clean / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    subprocess.run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place / "wheel", clean], check=True)
    (wheel,) = (place / "wheel").glob("exemplar_lab-*.whl")
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
    return place / "venv/bin/exemplar"


def newcomer(place: Path) -> dict[str, str]:
    """An environment that knows nothing of this machine's data, caches and sources."""
    (place / "home").mkdir(exist_ok=True)
    hidden = ("EXEMPLAR_DATA", "EXEMPLAR_CACHE", "XDG_CACHE_HOME", "PYTHONPATH", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {"HOME": str(place / "home")}


def timed(command: Path, words: str, place: Path) -> tuple[float, float, str]:
    """Seconds on the clock and of CPU, and what it printed; it must end well."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work = place / "empty"
    work.mkdir(exist_ok=True)
    done = subprocess.run([command, *words.split()], cwd=work, env=newcomer(place), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, f"exemplar {words}: {done.stderr}"
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu, done.stdout


def megabytes(folder: Path) -> int:
    return round(
        sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        command = install(place)
        sizes: dict[str, Any] = {
            "wheel": megabytes(place / "wheel"),
            "environment": megabytes(place / "venv"),
            "torch": megabytes(next((place / "venv/lib").glob("python*/site-packages/torch"))),
        }
        print(json.dumps({"megabytes": sizes}))
        for words in COMMANDS:
            cold, warm = (timed(command, words, place)[:2] for _ in range(2))
            print(
                f"exemplar {words}: {cold[0]:.1f} s ({cold[1]:.1f} CPU) the first time, {warm[0]:.1f} s ({warm[1]:.1f}) then"
            )


if __name__ == "__main__":
    main()
