"""constraints.txt: the exact version of everything that this environment's tests ran with, from pyproject.toml down.

make constraints                                   # write it, from .venv
pip install -c constraints.txt exemplar-lab        # the same versions elsewhere
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
HEAD = "# Exact versions, for reproduction: pip install -c constraints.txt exemplar-lab. Made by `make constraints`.\n"


def asked() -> list[Requirement]:
    """What pyproject.toml asks for, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return [Requirement(line) for line in lines]


def pins() -> dict[str, str]:
    """Name → version of these, and of all that they need here; those that are not installed are left out."""
    found: dict[str, str] = {}
    waiting = asked()
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        key = (plain(wanted.name), frozenset(wanted.extras))
        if key in done or not applies(wanted, ("",)):
            continue
        done.add(key)
        try:
            there = metadata.distribution(wanted.name)
        except metadata.PackageNotFoundError:
            continue
        found[key[0]] = there.version.partition("+")[0]  # torch 2.13.0+cpu is 2.13.0, with CUDA or without
        inner = [Requirement(line) for line in there.requires or ()]
        waiting += [one for one in inner if applies(one, ("", *wanted.extras))]
    return dict(sorted(found.items()))


def applies(wanted: Requirement, extras: tuple[str, ...]) -> bool:
    return wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    text = HEAD + "".join(f"{name}=={version}\n" for name, version in pins().items())
    (ROOT / "constraints.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
