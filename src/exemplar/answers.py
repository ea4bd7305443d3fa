"""What a verb returns: what the command line prints as JSON, the text it prints for people, a short form for notebooks."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exemplar.records import Score, Scores

NOTEBOOK_ROWS = 12  # scores in the notebook's table; `scores` has them all


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Answer:
    """The answer of a verb.

    values: what `--json` prints, by name; answer["diversity"] is one of them. text: what the command prints for people.
    scores: a checked table, whose `frame` is a pandas DataFrame; None where there is nothing to score. warnings: what may be a
    mistake, a sentence each. folder: of the run, with every record; page: to open in a browser; figures: name → file. ok: False
    where a command should exit with 1.
    """

    values: Mapping[str, Any]
    text: str
    scores: Scores | None = None
    warnings: tuple[str, ...] = ()
    folder: Path | None = None
    page: Path | None = None
    figures: Mapping[str, Path] = field(default_factory=dict)
    ok: bool = True

    def __getitem__(self, name: str) -> Any:
        if name not in self.values:
            near = get_close_matches(str(name), list(self.values), n=3, cutoff=0.5) or list(self.values)
            raise KeyError(f"there is no {name!r} in this answer; there is {', '.join(near)}")
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> KeysView[str]:
        return self.values.keys()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.values)}>"

    def json(self) -> dict[str, Any]:
        """Everything, in plain values."""
        from exemplar.runs import plain

        found: dict[str, Any] = plain(dict(self.values))
        return found

    def _repr_html_(self) -> str:
        """The first scores with their intervals, the warnings, the first figure, and where the rest is."""
        parts = [f"<p><b>Warning</b>: {html.escape(sentence)}</p>" for sentence in self.warnings]
        if self.scores is not None:
            parts.append(_html_table(list(self.scores)))
        elif self.text:
            parts.append(f"<pre>{html.escape(self.text)}</pre>")
        for name, path in list(self.figures.items())[:1]:
            if path.is_file():
                parts.append(_html_figure(path, name))
        for what, place in (("Run folder", self.folder), ("Page", self.page)):
            if place is not None:
                parts.append(f"<p>{what}: <code>{html.escape(str(place))}</code></p>")
        return "\n".join(parts)


def by_name(scores: Iterable[Score]) -> dict[str, Any]:
    """Scores as JSON has them where each name stands for one."""
    return {score.name: score.json() for score in scores}


def as_rows(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Scores as JSON has them where a name stands for several: each with all its labels."""
    return [score.row() for score in scores]


def format_scores(scores: Sequence[Score], *, digits: int = 4) -> str:
    """The one table of scores for people: with a column for who and what, where scores have such labels."""
    header, labels = ["score", "value", "95 %", "n"], [score.label for score in scores]
    rows = [[s.name, f"{s.value:.{digits}f}", format_interval(s.ci95, digits), f"{s.n:,}"] for s in scores]
    if len({score.name for score in scores}) < len(scores):
        header.insert(1, "of")
        for row, label in zip(rows, labels, strict=True):
            row.insert(1, label)
    return format_table(header, rows)


def format_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as they must be, under a rule."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    lines = [header, ["─" * width for width in widths], *cells]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def format_pairs(values: Mapping[str, object]) -> str:
    """One line per value, names aligned."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in values.items())


def format_interval(ci95: tuple[float, float], digits: int = 4) -> str:
    """An interval as people write it; nothing where there is none."""
    return "" if ci95[0] != ci95[0] else f"[{ci95[0]:.{digits}f}, {ci95[1]:.{digits}f}]"


def _html_table(scores: Sequence[Score]) -> str:
    overall = [score for score in scores if not score.concept and not score.space]
    shown = (overall or scores)[:NOTEBOOK_ROWS]
    rows = "".join(
        f"<tr><td>{html.escape(score.name.replace('_', ' '))}</td><td>{html.escape(score.label)}</td><td>{score.value:.3f}</td>"
        f"<td>{format_interval(score.ci95, 3)}</td><td>{score.n}</td></tr>"
        for score in shown
    )
    left = len(scores) - len(shown)
    more = f"<p>{left} more in <code>.scores</code></p>" if left else ""
    return f"<table><tr><th>score</th><th>of</th><th>value</th><th>95 %</th><th>n</th></tr>{rows}</table>{more}"


def _html_figure(path: Path, name: str) -> str:
    if path.suffix == ".svg":
        return path.read_text(encoding="utf-8")
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img src="data:image/png;base64,{content}" alt="{html.escape(name)}">'
