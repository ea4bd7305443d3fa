"""The page of one result in its run folder: what was asked and found, and its scores beside what others found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from exemplar.records import Score
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, write_page
from exemplar.report.tables import Cell, Table, score_table
from exemplar.results.kept import differences, load_kept
from exemplar.rooms import KeptResult, Number

LEAD = (
    "Intervals are 95 %. What is said here was written about the committed scores; exemplar results page shows those."
)


def write_result(name: str, folder: Path, result: KeptResult, scores: Sequence[Score]) -> Path:
    """`index.html`, from what the run left."""
    text = [paragraph for paragraph in plain_text(result.text).split("\n\n") if not paragraph.startswith("![")]
    chapters = [
        Chapter("What was asked, and found", text),
        Chapter("Every score", tables=[beside_others(result, scores)]),
    ]
    return write_page(
        folder / "index.html", result.title, LEAD, chapters, "The run folder holds every record and score.",
        verdict=find_verdict(name, scores), made=how_made([folder]),
    )  # fmt: skip


def beside_others(result: KeptResult, scores: Sequence[Score]) -> Table:
    """Every score, and the value that others found where there is one, with its source."""
    table = score_table(scores)
    found = [_number(result, score) for score in scores]
    if not any(found):
        return table
    cells = [Cell(f"{n.value:g}", n.value, n.source, number=True) if n else Cell("", number=True) for n in found]
    rows = [[*row, cell] for row, cell in zip(table.rows, cells, strict=True)]
    return Table([*table.header, Cell("by others", number=True)], rows, table.small)


def find_verdict(name: str, scores: Sequence[Score]) -> str:
    """Whether the scores are those that are committed."""
    kept = load_kept(name)
    if kept is None:
        return f"{len(scores):,} scores; none are committed under this name."
    changed = differences(kept.scores, scores)
    if not changed:
        return f"All {len(scores):,} scores came out as they are committed."
    return f"{len(changed):,} of {len(scores):,} scores differ from the committed ones: {changed[0]}."


def plain_text(markdown: str) -> str:
    """Without the marks of code, emphasis and links."""
    linked = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", markdown)
    return re.sub(r"[`*]", "", linked)


def _number(result: KeptResult, score: Score) -> Number | None:
    key = (score.name, score.agent)
    return result.published.get(key) or result.released.get(key)
