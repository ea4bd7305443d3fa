"""A result as a section of docs/results.md: its text, its command, and its scores in tables that can be read.

A row is what was scored, a column a score. Things that have about the same scores stand in one table; where there is one score
only, the label with the fewest values makes the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from exemplar.records import Score
from exemplar.report.tables import count_decimals, format_number, format_range
from exemplar.results.kept import Kept
from exemplar.rooms import KeptResult, Number

WIDEST = 8  # columns of scores in a table; more of them make another one
LONGEST = 40  # rows that are shown at once; of a longer table the reader opens the rest
WHAT = ("agent", "concept", "space", "variant")
Key = tuple[str, ...]
Others = Mapping[
    str, Mapping[tuple[str, str], Number]
]  # what others found: where it comes from → (score, agent) → value


@dataclass(frozen=True)
class Layout:
    """rows: one per thing scored, its name → column → score."""

    columns: list[str]
    rows: dict[str, dict[str, Score]]


def format_section(name: str, result: KeptResult, kept: Kept) -> str:
    """One result: its text, the command, and every score beside what others found."""
    others = {
        head: numbers for head, numbers in (("published", result.published), ("released weights", result.released))
    }
    parts = [f"## {result.title}", result.text, f"`exemplar results run {name} --seed {kept.seed}`"]
    parts += [_format_table(layout, others) for layout in lay_out(kept.scores)]
    return "\n\n".join([*parts, _made(kept)]) + "\n"


def lay_out(scores: Sequence[Score]) -> list[Layout]:
    """Tables that hold every score once, in the order in which things were first scored."""
    by_thing: dict[Key, list[Score]] = {}
    for score in scores:
        by_thing.setdefault(tuple(getattr(score, key) for key in WHAT), []).append(score)
    groups: list[tuple[set[str], list[Score]]] = []
    for found in by_thing.values():
        names = {score.name for score in found}
        alike = [group for group in groups if 2 * len(group[0] & names) >= len(group[0] | names)]
        if alike:
            alike[0][0].update(names)
            alike[0][1].extend(found)
        else:
            groups.append((names, found))
    return [layout for _, group in groups for layout in _lay_out_alike(group)]


def _lay_out_alike(scores: Sequence[Score]) -> list[Layout]:
    """Of things that have about the same scores."""
    names = list(dict.fromkeys(score.name for score in scores))
    if len(names) > 1:
        parts = [names[start : start + WIDEST] for start in range(0, len(names), WIDEST)]
        chosen = ([score for score in scores if score.name in part] for part in parts)
        return [_lay_out(part, lambda score: score.label or "all", lambda score: score.name) for part in chosen]
    label = _shortest_label(scores)
    if label is None:
        return [_lay_out(scores, lambda score: score.label or "all", lambda score: score.name)]
    rest = [key for key in WHAT if key != label]
    row = lambda score: ", ".join(filter(None, (getattr(score, key) for key in rest))) or "all"  # noqa: E731
    return [_lay_out(scores, row, lambda score: f"{score.name}: {getattr(score, label) or 'all'}")]


def _shortest_label(scores: Sequence[Score]) -> str | None:
    """The label of one score that makes the fewest columns, and fills at least half of them; None where none does."""
    counts: dict[str, int] = {}
    for key in WHAT:
        columns = len({getattr(score, key) for score in scores})
        rows = len({tuple(getattr(score, other) for other in WHAT if other != key) for score in scores})
        if 1 < columns <= WIDEST and rows * columns <= 2 * len(scores) and 1 < rows < len(scores):
            counts[key] = columns
    return min(counts, key=lambda key: counts[key], default=None)


def _lay_out(scores: Iterable[Score], row: Callable[[Score], str], column: Callable[[Score], str]) -> Layout:
    layout = Layout([], {})
    for score in scores:
        if column(score) not in layout.columns:
            layout.columns.append(column(score))
        layout.rows.setdefault(row(score), {})[column(score)] = score
    return layout


def _format_table(layout: Layout, others: Others) -> str:
    """Markdown; of a long table all but the first rows are folded. n is said once per row if that can be, else per column."""
    heads = {column: _others_of(layout, column, others) for column in layout.columns}
    counts = {who: {score.n for score in row.values()} for who, row in layout.rows.items()}
    by_row = all(len(found) == 1 for found in counts.values())
    by_column = {column: {row[column].n for row in layout.rows.values() if column in row} for column in layout.columns}
    once = {column: by_row or len(found) == 1 for column, found in by_column.items()}
    header = ["who"]
    for column in layout.columns:
        count = f" (n = {min(by_column[column])})" if once[column] and not by_row else ""
        header += [column.replace("_", " ") + count, *heads[column]]
    header += ["n"] * by_row
    lines = []
    for who, row in layout.rows.items():
        cells = [cell for one in layout.columns for cell in _cells(row.get(one), heads[one], others, not once[one])]
        lines.append(_line([who, *cells, *([str(min(counts[who]))] * by_row)]))
    top = "\n".join([_line(header), _line(["---"] * len(header))])
    if len(lines) <= LONGEST:
        return "\n".join([top, *lines])
    rest = "\n".join([top, *lines[LONGEST // 2 :]])
    more = f'<details markdown="1"><summary>{len(lines) - LONGEST // 2} more rows</summary>\n\n{rest}\n\n</details>'
    return "\n".join([top, *lines[: LONGEST // 2]]) + "\n\n" + more


def _others_of(layout: Layout, column: str, others: Others) -> list[str]:
    found = [row[column] for row in layout.rows.values() if column in row]
    return [head for head, numbers in others.items() if any((score.name, score.agent) in numbers for score in found)]


def _cells(score: Score | None, heads: list[str], others: Others, count: bool) -> list[str]:
    """A score with its interval (and its n, where nothing else says it), and what others found."""
    if score is None:
        return [""] * (1 + len(heads))
    decimals = count_decimals(score)
    told = [others[head].get((score.name, score.agent)) for head in heads]
    words = [
        format_number(score.value, decimals),
        format_range(score.ci95, decimals),
        f"(n = {score.n})" if count else "",
    ]
    return [" ".join(filter(None, words)), *("" if one is None else f"{one.value:g} ({one.source})" for one in told)]


def _made(kept: Kept) -> str:
    made = kept.provenance
    where = [f"Exemplar {made['exemplar']}", f"seed {kept.seed}"]
    if made.get("commit"):
        where.append(f"commit {made['commit'][:10]}{' with changes' * ('with changes' in made['commit'])}")
    if made.get("machine"):
        where.append(made["machine"])
    after = f" (provenance reconstructed: {made['reconstructed']})" if "reconstructed" in made else ""
    return f"Made with {', '.join(where)}, in {made['duration_s']:.0f} s{after}."


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
