"""Who differs from whom: paired differences between scored runs, and the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from exemplar.answers import format_interval, format_table
from exemplar.draw.measures.differences import Difference, Headline, compare_pairs
from exemplar.draw.scored_runs import ScoredRun

Differences = Sequence[Difference]
CORRECTED = (
    "Paired over the same concepts and critics, of which the interval covers others too; p is corrected (Holm) for all pairs "
    "of a score. The interval is that of the single pair, and the corrected p says who differs from whom."
)


def pair_runs(runs: Sequence[ScoredRun], distance: str) -> tuple[list[Difference], tuple[str, ...]]:
    """Every pair of runs in every main score; a sentence per run that lacks what it takes, and per pair that is the same.

    runs: comparable ones, each of another agent; distance: the name of the score that is the distance to the data's drawers,
    in which these are none of the pairs.
    """
    ready = [run for run in runs if run.headlines]
    headlines: dict[str, dict[str, Headline]] = {}
    for run in ready:
        for name, values in run.headlines.items():
            headlines.setdefault(name, {})[run.agent] = values
    away = {run.agent: run.moved for run in ready if run.moved is not None and run.moved.moved.any()}
    lacking = tuple(
        f"{run.folder} was scored by an earlier version and holds no values by critic: score its drawings again for paired "
        "differences"
        for run in runs
        if run not in ready
    )
    same = [(a.agent, b.agent) for a, b in combinations(ready, 2) if _same_drawings(a, b)]
    said = tuple(
        f"the drawings of {a} and {b} are the same, pixel by pixel: nothing differs between them" for a, b in same
    )
    return compare_pairs(headlines, away, distance, [frozenset(pair) for pair in same]), (*lacking, *said)


def _same_drawings(one: ScoredRun, other: ScoredRun) -> bool:
    """By the digests that the runs recorded, of all drawings in their order."""
    digests = [run.about["config"].get("drawings") for run in (one, other)]
    return None not in digests and digests[0] == digests[1]


def find(differences: Differences, one: str, other: str, score: str) -> Difference | None:
    """Of two agents, whichever comes first."""
    found = (d for d in differences if d.score == score and {d.a, d.b} == {one, other})
    return next(found, None)


def as_json(differences: Differences) -> list[dict[str, Any]]:
    return [asdict(difference) | {"ci95": list(difference.ci95)} for difference in differences]


def format_differences(differences: Differences) -> str:
    """The table for people."""
    rows = [
        [
            d.score,
            f"{d.a} − {d.b}",
            f"{d.difference:+.4f}",
            format_interval(d.ci95),
            format_p(d.p),
            format_p(d.p_corrected),
        ]
        for d in differences
    ]
    return format_table(["score", "difference", "value", "95 %", "p", "p, corrected"], rows)


def format_p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
