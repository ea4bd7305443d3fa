"""How commands answer: a small table for people, or exactly one JSON object on standard output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same bytes.")]


def answer(result: dict[str, Any], *, as_json: bool, text: str) -> None:
    """Print the result as JSON, or else as this text."""
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else text)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as they must be, under a rule."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    lines = [header, ["─" * width for width in widths], *cells]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def pairs(values: dict[str, object]) -> str:
    """One line a value, names aligned."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in values.items())


def ends(ci95: tuple[float, float], digits: str = ".4f") -> str:
    """An interval as people write it; nothing where there is none."""
    return "" if ci95[0] != ci95[0] else f"[{ci95[0]:{digits}}, {ci95[1]:{digits}}]"
