"""What is released: metadata that is true, pins in step with what is asked for, and the wheel in a fresh environment."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import exemplar

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_constraints_are_in_step_with_what_is_asked_for() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    constraints = script("constraints")
    extras = PROJECT["optional-dependencies"]
    optional = {
        constraints.plain(re.split(r"[<>=\[]", line)[0]) for extra in ("cluster", "encoders") for line in extras[extra]
    }
    for wanted in constraints.asked():
        name = constraints.plain(wanted.name)
        if name in optional and name not in pinned:
            continue  # not where the pins were made
        assert name in pinned, f"{name} has no pin: make constraints"
        assert wanted.specifier.contains(pinned[name], prereleases=True), f"{name}: make constraints"
    assert list(pinned) == sorted(pinned)


def test_version_name_and_pythons_are_told_once_and_alike() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert PROJECT["name"] == "exemplar-lab" and PROJECT["version"] == exemplar.__version__
    assert f"version: {exemplar.__version__}\n" in citation
    claimed = {line.rpartition(":: ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert matrix is not None and claimed == set(re.findall(r"[\d.]+", matrix[1]))
    assert PROJECT["requires-python"] == f">={min(claimed, key=lambda text: int(text[2:]))}"


def test_what_ships_is_in_the_wheel_s_list() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["exemplar"]
    package = Path(exemplar.__file__ or "").parent
    listed = {path for pattern in patterns for path in package.glob(pattern)}
    there = {path for path in package.rglob("*") if path.is_file() and path.suffix != ".py"}
    assert not {path for path in there - listed if "__pycache__" not in path.parts}
    counts = package / "learn" / "people_counts"
    text = (counts / "README.md").read_text(encoding="utf-8")
    assert "Lee & DiCarlo (2023)" in text and "MIT" in text and len(list(counts.glob("*.npz"))) == 2


@pytest.mark.long
def test_the_wheel_tours_in_a_fresh_environment(tmp_path: Path) -> None:
    trial = script("trial")
    command = trial.install(tmp_path)
    assert trial.megabytes(tmp_path / "wheel") < 50
    for words in ("--version", "learn human", "tour --out tour"):
        assert trial.timed(command, words, tmp_path)[2]
    assert (tmp_path / "empty" / "tour" / "index.html").is_file()
    assert sys.prefix not in (command.read_text(encoding="utf-8").splitlines()[0])
