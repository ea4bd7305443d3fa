"""docs/speed.md, made from what the scripts beside this one left in speed/results/.

Run: python speed/page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exemplar.files import whole_file
from record import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
HEAD = """# Speed

Made by `make speed-page` from the JSON files in `speed/results/`; do not edit. `make speed` runs every script in `speed/`, each
of which writes such a file. What counts are ratios to a peer measured in the same run, in CPU time on one core (the cores these
were written on are shared, so absolute times say little), or wall time on a GPU.
"""


def make_page() -> str:
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    overview = ["| script | what | seen |", "|---|---|---|"]
    overview += [f"| [`{name}`](#{name}) | {about['what']} | {about['seen']} |" for name, about in found.items()]
    return "\n".join([HEAD, *overview, "", *(section(name, about) for name, about in found.items())])


def section(name: str, about: dict[str, Any]) -> str:
    """One script: its numbers, and when, where and with what they were measured."""
    what = about["what"]
    lines = [f"## {name}", "", f"{what[0].upper()}{what[1:]}. `{about['command']}`; {about['clock']}.", ""]
    if about["rows"]:
        compared = any("ratio" in row for row in about["rows"])
        header = ["what", "value", "unit", *(["peer", "its value", "ratio"] if compared else [])]
        lines += [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
        lines += [_row(row, compared) for row in about["rows"]] + [""]
    lines += [f"{note}\n" for note in about["notes"]]
    versions = ", ".join(f"{library} {version}" for library, version in about["versions"].items())
    lines += [f"Measured {about['measured']} on {about['machine']}{f' ({versions})' if versions else ''}.", ""]
    return "\n".join(lines)


def _row(row: dict[str, Any], compared: bool) -> str:
    cells = [row["what"], _number(row["value"]) if "value" in row else "", row.get("unit", "")]
    if compared:
        ratio = f"{_ratio(row['ratio'])} ×" if "ratio" in row else ""
        cells += [row.get("peer", ""), _number(row["peer_value"]) if "peer_value" in row else "", ratio]
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(value: float) -> str:
    """Two digits, from a hundred on all."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def main() -> None:
    with whole_file(PAGE) as part:
        part.write_text(make_page(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
