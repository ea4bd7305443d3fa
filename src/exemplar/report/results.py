"""The numbers the project stands by: kept in the package as JSON, shown in docs/results.md beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.files import whole_file
from exemplar.records import Score
from exemplar.runs import read_json, write_json

FOLDER = Path(__file__).parent.parent / "results"
Published = Mapping[tuple[str, str], tuple[float, str]]
HEAD = """# Results

Made by `make results` from the scores in `src/exemplar/results/`; do not edit. Every number has a 95 % interval, and the
command above its table prints it again. Where a value was published, it stands beside ours.
"""


@dataclass(frozen=True)
class Kept:
    """A committed result."""

    scores: list[Score]
    seed: int
    provenance: dict[str, Any]


def committed(name: str) -> Kept | None:
    """What is kept of a result; None if nothing is."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    kept = read_json(path)
    ends = [tuple(np.nan if end is None else end for end in row["ci95"]) for row in kept["scores"]]
    scores = [Score(**{**row, "ci95": pair}) for row, pair in zip(kept["scores"], ends, strict=True)]
    return Kept(scores, kept["seed"], kept["provenance"])


def commit_result(name: str, scores: Sequence[Score], provenance: dict[str, Any]) -> Path:
    """Keep a result's scores with where they come from; what differs from machine to machine and day to day is left out."""
    rows = [
        {"name": s.name, "agent": s.agent, "concept": s.concept, "space": s.space, "variant": s.variant, **s.json()}
        for s in scores
    ]
    about = {key: provenance[key] for key in ("exemplar", "python", "libraries", "duration_s")}
    write_json(FOLDER / f"{name}.json", {"scores": rows, "seed": provenance["seed"], "provenance": about})
    return FOLDER / f"{name}.json"


def differences(kept: Sequence[Score], now: Sequence[Score], tolerance: float = 1e-6) -> list[str]:
    """A sentence for each score that is not what it was, is new, or is gone."""
    before = {(s.name, s.agent, s.concept, s.space, s.variant): s for s in kept}
    after = {(s.name, s.agent, s.concept, s.space, s.variant): s for s in now}
    found = [f"{' '.join(filter(None, key))} is gone" for key in before.keys() - after.keys()]
    found += [f"{' '.join(filter(None, key))} is new" for key in after.keys() - before.keys()]
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if not np.allclose((old.value, *old.ci95), (new.value, *new.ci95), rtol=0, atol=tolerance, equal_nan=True):
            found.append(f"{' '.join(filter(None, key))} was {old.value:.6g}, is {new.value:.6g}")
    return sorted(found)


def write_results(path: Path, results: Mapping[str, tuple[str, str, Published]]) -> Path:
    """results: name → title, what it is, what was published."""
    parts = [HEAD]
    for name, (title, about, published) in results.items():
        kept = committed(name)
        if kept is not None:
            parts.append(section(name, title, about, published, kept))
    with whole_file(path) as part:
        part.write_text("\n".join(parts), encoding="utf-8")
    return path


def section(name: str, title: str, about: str, published: Published, kept: Kept) -> str:
    lines = [f"## {title}", "", about, "", f"`exemplar results run {name} --seed {kept.seed}`", ""]
    lines += ["| score | who | ours | 95 % interval | n | published |", "|---|---|---|---|---|---|"]
    for score in kept.scores:
        value, source = published.get((score.name, score.agent), (None, ""))
        other = f"{value:g} ({source})" if value is not None else ""
        who = ", ".join(filter(None, (score.agent, score.concept, score.space, score.variant)))
        interval = "" if np.isnan(score.ci95[0]) else f"{score.ci95[0]:.4f} – {score.ci95[1]:.4f}"
        lines.append(
            f"| {score.name.replace('_', ' ')} | {who} | {score.value:.4f} | {interval} | {score.n} | {other} |"
        )
    made = kept.provenance
    lines += ["", f"Made with Exemplar {made['exemplar']}, seed {kept.seed}, in {made['duration_s']:.0f} s.", ""]
    return "\n".join(lines)
