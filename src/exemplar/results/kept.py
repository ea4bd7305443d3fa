"""What is kept of a result: its scores, and where they come from; and whether it still comes out the same."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import seeds
from exemplar.files import whole_file
from exemplar.records import Score
from exemplar.rooms import ROOMS
from exemplar.runs import read_json

FOLDER = Path(__file__).parent
LABELS = ("name", "agent", "concept", "space", "variant")
DOORS = {"exemplar", *(f"exemplar.{room}" for room in ROOMS)}
RENAMES = FOLDER / "renames.json"  # result → column → label as it was kept → label as it is now


@dataclass(frozen=True)
class Kept:
    """A kept result. provenance: versions, duration, commit, modules (a hash of the sources it imports), data (fingerprints)
    and machine; `reconstructed` says how, where these were found out afterwards."""

    scores: list[Score]
    seed: int
    provenance: dict[str, Any]


def load_kept(name: str) -> Kept | None:
    """What is kept of a result, its labels as they are now; None if nothing is."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    kept, renames = read_json(path), read_json(RENAMES).get(name, {})
    scores = []
    for row in kept["scores"]:
        lo, hi = (np.nan if end is None else end for end in row["ci95"])
        given = {key: row.get(key, "") for key in LABELS}
        labels = {key: renames.get(key, {}).get(word, word) for key, word in given.items()}
        scores.append(Score(**labels, value=row["value"], ci95=(lo, hi), n=row["n"]))
    return Kept(scores, kept["seed"], kept["provenance"])


def keep_result(name: str, scores: Sequence[Score], provenance: dict[str, Any], compute: Callable[..., Any]) -> Path:
    """Keep a result's scores with where they come from; the name of the machine and the day are left out."""
    about = {key: provenance[key] for key in ("exemplar", "python", "libraries", "duration_s", "data")}
    git, host = provenance.get("git"), provenance["host"]
    about["commit"] = None if git is None else git["commit"] + (" with changes" if git["changed"] else "")
    about["modules"] = hash_modules(compute.__module__)
    about["machine"] = f"{host['system'].partition('-')[0]}, {host['cores']} cores"
    path = FOLDER / f"{name}.json"
    write_kept(path, [score.row() for score in scores], provenance["seed"], about)
    return path


def write_kept(path: Path, rows: Sequence[Mapping[str, Any]], seed: int, about: Mapping[str, Any]) -> None:
    """One line per score, without empty labels and to 12 digits: a quarter of the bytes, and a diff that can be read."""
    lines = [json.dumps({key: _short(v) for key, v in row.items() if v != ""}, ensure_ascii=False) for row in rows]
    rest = json.dumps({"seed": seed, "provenance": about}, indent=1, ensure_ascii=False)
    with whole_file(path) as part:
        part.write_text('{"scores": [\n' + ",\n".join(lines) + "\n],\n" + rest[2:] + "\n", encoding="utf-8")


def _short(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_short(part) for part in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def differences(kept: Sequence[Score], now: Sequence[Score], tolerance: float = 1e-6) -> list[str]:
    """A sentence for each score that is not what it was, is new, or is gone."""
    before, after = ({tuple(getattr(s, key) for key in LABELS): s for s in side} for side in (kept, now))
    found = [f"{' '.join(filter(None, key))} is gone" for key in before.keys() - after.keys()]
    found += [f"{' '.join(filter(None, key))} is new" for key in after.keys() - before.keys()]
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if not np.allclose((old.value, *old.ci95), (new.value, *new.ci95), rtol=0, atol=tolerance, equal_nan=True):
            found.append(f"{' '.join(filter(None, key))} was {old.value:.6g}, is {new.value:.6g}")
    return sorted(found)


@cache
def hash_modules(module: str) -> str:
    """A hash of the sources of a module and of every module of the package that it imports, directly or not."""
    found = sorted(imported_modules(module))
    return seeds.digest([(name, Path(str(find_spec(name).origin)).read_bytes()) for name in found])  # type: ignore[union-attr]


def imported_modules(module: str) -> set[str]:
    """Names of the package's modules that a module imports, itself included; imports inside functions count too, those for
    type checkers do not, and front doors, which could lead anywhere, are not followed."""
    found, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in DOORS and _source(name) is not None:
            found.add(name)
            waiting += _imports(name)
    return found


def _imports(module: str) -> Iterator[str]:
    source = _source(module)
    assert source is not None
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for block in [node for node in ast.walk(tree) if isinstance(node, ast.If)]:
        if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            block.body = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name.split(".")[0] == "exemplar")


@cache
def _source(module: str) -> Path | None:
    """The file of a module; None where the name is no module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None
