"""Leaderboards as pages: the rows of a kept result, and those that were submitted and scored again. The verb `leaderboards`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import rooms, seeds
from exemplar.answers import Answer
from exemplar.errors import UserError
from exemplar.files import check_folder, whole_file
from exemplar.records import Score
from exemplar.report.tables import count_decimals, format_number, format_range
from exemplar.results import kept
from exemplar.results.kept import load_kept, write_kept
from exemplar.rooms import Leaderboard, Room
from exemplar.runs import read_json

SUBMITTED = "submitted"  # the folder beside the kept results
INDEX = """# Leaderboards

Made by `make results` from the scores in `src/exemplar/results/`; do not edit. Each board is one task with fixed settings. Its
rows are a kept result of the project, and what others have submitted: records, scored again here by the same code.

{boards}

## Submit your own

A submission is a run's folder: what your agent did, item by item, with the scores that follow from it. Run the command that
stands above the board's table, then

```text
exemplar results pack mine             # one file, mine.zip: records and scores, with a SHA-256 of each
exemplar results check mine.zip        # as the maintainers will: exit code 0, and where it stands
```

and send `mine.zip`. `check` refuses what is truncated or was changed after it was packed, another task (exemplars, split,
suite, settings), columns that do not belong, values that are missing or out of range, and spaces that have seen the concepts.
Then it scores the records again: the numbers on the board are those, never the ones sent, and if the two differ the submission
is refused. The maintainers keep it with `--commit`.

Hashes and scores show that the records are whole and agree with each other. They do not show where records come from: who makes
records up, consistently, is not found out. `check` says so in each answer, and a row marked *submitted* is worth what its code
and weights are worth to you. Names of machines, folders and commits are left out of what is packed.
"""


@dataclass(frozen=True)
class Row:
    """scores: by column; submitted: by someone else, scored again here."""

    name: str
    scores: Mapping[str, Score]
    submitted: bool = False


def row_of(scores: Iterable[Score], board: Leaderboard) -> dict[str, Score]:
    """The board's columns of one agent: each over all concepts, and over all spaces where there are several."""
    found: dict[str, Score] = {}
    for score in sorted(scores, key=lambda score: score.space != ""):
        if score.name in board.columns and not score.concept:
            found.setdefault(score.name, score)
    if board.columns[0] not in found:
        raise UserError(
            f"The run has no score {board.columns[0]}, by which its leaderboard ranks: it is of another task."
        )
    return {name: found[name] for name in board.columns if name in found}


def list_rows(name: str, board: Leaderboard) -> list[Row]:
    """The best first, where that can be said."""
    result = load_kept(board.result)
    by_name: dict[str, dict[str, Score]] = {}
    for score in [] if result is None else result.scores:
        if score.name in board.columns and board.shows(score):
            by_name.setdefault(", ".join(filter(None, (score.agent, score.space))), {})[score.name] = score
    rows = [Row(who, scores) for who, scores in by_name.items()]
    for path in sorted((kept.FOLDER / SUBMITTED).glob(f"{_file_name(name)}--*.json")):
        about = read_json(path)
        scores = [
            Score(row["name"], row["value"], _ends(row), row["n"], row.get("agent", "")) for row in about["scores"]
        ]
        rows.append(Row(scores[0].agent, {score.name: score for score in scores}, submitted=True))
    return rows if board.lowest is None else sorted(rows, key=lambda row: _merit(row.scores, board))


def place_among(row: Mapping[str, Score], name: str, board: Leaderboard) -> dict[str, Any]:
    """place: 1 for the best, None where nobody is; of: rows, this one included; overlapping: rows whose interval of the first
    column shares values with this one's, so that the place says little."""
    others = list_rows(name, board)
    if board.lowest is None:
        return {"place": None, "of": len(others) + 1, "overlapping": []}
    first, merit = row[board.columns[0]], _merit(row, board)
    ends = [(other.name, other.scores[first.name].ci95) for other in others if first.name in other.scores]
    overlapping = [who for who, (low, high) in ends if low <= first.ci95[1] and first.ci95[0] <= high]
    better = sum(_merit(other.scores, board) < merit for other in others)
    return {"place": better + 1, "of": len(others) + 1, "overlapping": overlapping}


def keep_submission(name: str, agent: str, scores: Sequence[Score], seed: int, hashes: Mapping[str, str]) -> Path:
    path = (
        kept.FOLDER / SUBMITTED / f"{_file_name(name)}--{_file_name(agent)}-{seeds.digest(dict(hashes), size=4)}.json"
    )
    rows = [{"name": score.name, "agent": agent, **score.json()} for score in scores]
    write_kept(path, rows, seed, {"leaderboard": name, "files": dict(hashes)})
    return path


def write_leaderboards(out: Path | str) -> Answer:
    """A page per room that has a leaderboard, and their index."""
    folder = Path(out).expanduser()
    check_folder(folder)
    pages = {"index": format_index()} | {
        room.name: format_page(room) for room in rooms.list_rooms() if room.leaderboards()
    }
    for name, text in pages.items():
        with whole_file(folder / f"{name}.md") as part:
            part.write_text(text, encoding="utf-8")
    boards = sum(len(room.leaderboards()) for room in rooms.list_rooms())
    text = f"{folder}: {boards} leaderboards on {len(pages) - 1} pages."
    return Answer(values={"pages": [str(folder / f"{name}.md") for name in pages], "leaderboards": boards}, text=text)


def format_index() -> str:
    listed = []
    for room in rooms.list_rooms():
        boards = room.leaderboards()
        if boards:
            titles = "; ".join(board.title for board in boards.values())
            listed.append(f"- [{room.title}]({room.name}.md): {titles}.")
    return INDEX.format(boards="\n".join(listed))


def format_page(room: Room) -> str:
    boards = room.leaderboards()
    submit = "[How to submit](index.md#submit-your-own)." if any(board.command for board in boards.values()) else ""
    parts = [f"# {room.title}: leaderboards", f"Made by `make results`; do not edit. {submit}".strip()]
    parts += dict.fromkeys(board.reading for board in boards.values() if board.reading)
    for name, board in boards.items():
        parts += [f"## {board.title}", *filter(None, (board.text, board.command and f"`{board.command}`"))]
        parts.append(_format_table(list_rows(name, board), board))
    results = sorted({board.result for board in boards.values()})
    return (
        "\n\n".join([*parts, f"Rows: {', '.join(f'`{name}`' for name in results)} in [Results](../results.md)."]) + "\n"
    )


def _format_table(rows: Sequence[Row], board: Leaderboard) -> str:
    columns = [name for name in board.columns if any(name in row.scores for row in rows)]
    ranked = [board.lowest is not None and board.columns[0] in row.scores for row in rows]
    heads = [*([""] if any(ranked) else []), "who", *(name.replace("_", " ") for name in columns), "n"]
    lines = [heads, ["---"] * len(heads)]
    for number, row in enumerate(rows, 1):
        place = [str(number) if ranked[number - 1] else "–"] if any(ranked) else []
        who = f"{_plain(row.name)} *(submitted)*" if row.submitted else row.name
        n = next(iter(row.scores.values())).n
        lines.append([*place, who, *(_cell(row.scores.get(name)) for name in columns), f"{n:,}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(name: str) -> str:
    """A name from outside that is nothing but text in a table of Markdown.

    >>> _plain("mine | [x](y) <b>")
    'mine \\\\| \\\\[x\\\\](y) &lt;b>'
    """
    return re.sub(r"([\\|\[\]*_`])", r"\\\1", " ".join(name.split())).replace("<", "&lt;")


def _cell(score: Score | None) -> str:
    if score is None:
        return "–"
    decimals = count_decimals(score)
    return " ".join(filter(None, (format_number(score.value, decimals), format_range(score.ci95, decimals))))


def _merit(scores: Mapping[str, Score], board: Leaderboard) -> float:
    """Smaller is better; who lacks the score comes last."""
    score = scores.get(board.columns[0])
    return np.inf if score is None else round(score.value if board.lowest else -score.value, 9)  # as a kept score is


def _ends(row: Mapping[str, Any]) -> tuple[float, float]:
    low, high = (np.nan if end is None else float(end) for end in row["ci95"])
    return low, high


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.@-]+", "-", name)
