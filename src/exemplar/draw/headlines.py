"""The six scores a reader needs first, with those of the data's own drawers beside them; every other is in the answer."""

from __future__ import annotations

from collections.abc import Sequence

from exemplar.answers import format_interval, format_table
from exemplar.draw.measures.sides import CEILING, distance_name
from exemplar.records import Score

BESIDE = (CEILING, "null_")  # how a score of the data's own drawers is named: theirs, or what chance makes of them


def headline_scores(scores: Sequence[Score], agent: str, drawers: str) -> list[tuple[Score, Score | None]]:
    """Diversity, recognizability among few and among all, originality, the distance to the drawers and the share of copies,
    each with the drawers' own where there is one. scores: overall ones."""
    own = {score.name: score for score in reversed(scores) if score.agent == agent}
    every = {score.name: score for score in reversed(scores)}
    ways = [name for name in own if name.startswith("recognizability_") and name.endswith("_way")]
    wanted = ("diversity", *reversed(ways), "originality", distance_name(drawers), "copy_rate")
    beside = [next((every[start + name] for start in BESIDE if start + name in every), None) for name in wanted]
    return [(own[name], other) for name, other in zip(wanted, beside, strict=True) if name in own]


def format_headlines(scores: Sequence[Score], agent: str, drawers: str) -> str:
    """A row per headline, and how many scores there are besides; the drawers have columns where they have scores."""
    shown = headline_scores(scores, agent, drawers)
    beside = any(other is not None for _, other in shown)
    rows = []
    for score, other in shown:
        row = [score.name, f"{score.value:.4f}", format_interval(score.ci95)]
        if beside:
            row += ["", ""] if other is None else [f"{other.value:.4f}", format_interval(other.ci95)]
        rows.append([*row, f"{score.n:,}"])
    table = format_table(["score", "value", "95 %", *([drawers, "95 %"] if beside else []), "n"], rows)
    left = len(scores) - len(shown) - sum(other is not None for _, other in shown)
    return f"{table}\n{left} more with --all" if left > 0 else table
