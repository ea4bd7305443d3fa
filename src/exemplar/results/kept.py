"""What is kept of a result: its scores, and where they come from; and whether it still comes out the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.files import whole_file
from exemplar.records import Score
from exemplar.results.sources import hash_modules
from exemplar.runs import read_json

FOLDER = Path(__file__).parent
LABELS = ("name", "agent", "concept", "space", "variant")
SAME = 1e-9  # of a score: what moves by less was rounded otherwise
ZERO = 1e-12  # what is 0 but for rounding
RENAMES = FOLDER / "renames.json"  # result → column → label as it was kept → label as it is now


@dataclass(frozen=True)
class Kept:
    """A kept result. provenance: versions, duration, CPU time, commit, modules (a hash of the sources
    that gave these scores last), data (fingerprints)
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


def keep_sources(name: str, compute: Callable[..., Any], cpu_s: float) -> None:
    """Note that today's sources give the scores that are kept, which stay as they are, and what that costs."""
    path = FOLDER / f"{name}.json"
    kept = read_json(path)
    about = kept["provenance"] | {"modules": hash_modules(compute.__module__), "cpu_s": round(cpu_s, 1)}
    write_kept(path, kept["scores"], kept["seed"], about)


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


def differences(kept: Sequence[Score], now: Sequence[Score]) -> list[str]:
    """A sentence for each score that is not what it was, is new, or is gone."""
    before, after = ({tuple(getattr(s, key) for key in LABELS): s for s in side} for side in (kept, now))
    found = [f"{' '.join(filter(None, key))} is gone" for key in before.keys() - after.keys()]
    found += [f"{' '.join(filter(None, key))} is new" for key in after.keys() - before.keys()]
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if not _is_same(old, new):
            ends = [f"{s.value:.6g} [{s.ci95[0]:.6g}, {s.ci95[1]:.6g}], n = {s.n}" for s in (old, new)]
            found.append(f"{' '.join(filter(None, key))} was {ends[0]}, is {ends[1]}")
    return sorted(found)


def _is_same(old: Score, new: Score) -> bool:
    """Up to rounding: results are kept to 12 digits, and a library may add up in another order, which moves a float64 by about
    1e-16 of what is added. A score whose meaning changed moves by far more than one part in 1e9."""
    numbers = ((old.value, *old.ci95), (new.value, *new.ci95))
    return old.n == new.n and np.allclose(*numbers, rtol=SAME, atol=ZERO, equal_nan=True)
