"""Tables of a page: cells that know what they sort by, and tables whose numbers the reader chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exemplar.records import Score

MISSING = "–"
MANY_ROWS = 30  # a longer table scrolls inside the page

NARROW = 0.002  # below, three decimals do not show a width
WRITTEN = {"mse": "MSE", "mse n": "MSE_n", "root mse n": "√MSE_n", "atm": "ATM", "macs": "MACs", "lr": "LR", "sd": "SD",
           "cpu": "CPU", "roc": "ROC", "loo": "leave-one-out", "egv": "eigenvalue",
           "davies bouldin": "Davies–Bouldin", "d prime": "d′", "left out accuracy": "left-out accuracy", "p": "p",
           "gini": "Gini coefficient", "pearson": "Pearson", "spearman": "Spearman", "logme": "LogME"}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """text: what is shown; value: what its column sorts by, the text unless given; small: fine print under the text; colour:
    of a dot before it; hint: shown when the mouse rests on it; number: belongs to a column of numbers (without a value it
    sorts last)."""

    text: str
    value: float | None = None
    small: str = ""
    colour: str = ""
    hint: str = ""
    number: bool = False

    @classmethod
    def of(cls, score: Score | None) -> Cell:
        """A score with its interval; a dash where there is none."""
        if score is None:
            return cls(MISSING, number=True)
        small = format_range(score.ci95)
        return cls(format_number(score.value), score.value, small, hint=f"n = {score.n:,}", number=True)

    @classmethod
    def of_difference(cls, score: Score) -> Cell:
        """As `of`, with its sign."""
        text = format_number(score.value)
        return replace(cls.of(score), text=f"+{text}" if score.value > 0 and text.strip("0.") else text)

    @classmethod
    def of_number(cls, value: float, text: str = "") -> Cell:
        """text: how it is written, `format_number` unless given."""
        return cls(text or format_number(value), value, number=True)


@dataclass(frozen=True)
class Table:
    """Sortable by each column. header: names or cells (whose hint explains the column); rows: cells or plain text; small:
    print under the table; folded: the words to click on before it opens, always open if empty; terms: column or score → what
    it means, listed under the table."""

    header: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    small: str = ""
    folded: str = ""
    terms: Mapping[str, str] = field(default_factory=dict)

    @property
    def cells(self) -> list[list[Cell]]:
        return [list(map(as_cell, row)) for row in self.rows]

    @property
    def heads(self) -> list[Cell]:
        return list(map(as_cell, self.header))

    @property
    def is_tall(self) -> bool:
        return len(self.rows) > MANY_ROWS


@dataclass(frozen=True)
class ChoiceTable:
    """Rows × columns of scores, of which the reader chooses one kind at a time, filters rows by name, and sorts.

    what: a row's kind ("concept"); rows: their names; pictures: a data URI for each row, or none at all; columns: their names;
    choices: what can be shown; values: (choices, rows, columns), a score or None each.
    """

    what: str
    rows: Sequence[str]
    columns: Sequence[str]
    choices: Sequence[str]
    values: Sequence[Sequence[Sequence[Score | None]]]
    pictures: Sequence[str] = ()

    @property
    def cells(self) -> list[list[Cell]]:
        """Of the first choice: what is shown before anyone chooses, and on paper."""
        return (
            [[Cell.of(score) for score in row] for row in self.values[0]] if self.choices else [[] for _ in self.rows]
        )

    @property
    def plain_values(self) -> list[list[list[list[float | None] | None]]]:
        """(choices, rows, columns) of [value, lo, hi] to four digits, or None, for the page's script."""
        return [[[_plain(score) for score in row] for row in rows] for rows in self.values]


def score_table(scores: Sequence[Score]) -> Table:
    """One row per score; a column for whose it is, where that differs. What all have in common is said once, below."""
    shared = [kind for kind in ("agent", "space", "variant") if len({getattr(score, kind) for score in scores}) == 1]
    common = [getattr(scores[0], kind) for kind in shared] if len(scores) > 1 else []
    blank: dict[str, Any] = dict.fromkeys(shared, "") if len(scores) > 1 else {}
    whose = [replace(score, **blank) for score in scores]
    labelled = any(score.label for score in whose)
    header: list[str | Cell] = [
        "score",
        *(["of"] if labelled else []),
        *(Cell(head, number=True) for head in ("value", "95 %", "n")),
    ]
    rows: list[list[str | Cell]] = [
        [
            score_words(score.name),
            *([_whose(label)] if labelled else []),
            Cell.of_number(score.value, format_number(score.value, count_decimals(score))),
            Cell(format_range(score.ci95, count_decimals(score)), _finite(score.ci95[0]), number=True),
            Cell.of_number(score.n, f"{score.n:,}"),
        ]
        for score, label in zip(scores, whose, strict=True)
    ]
    return Table(header, rows, f"All of {', '.join(filter(None, common))}." if any(common) else "")


def wide_table(
    scores: Sequence[Score],
    columns: Mapping[str, str],
    what: str,
    *,
    names: Mapping[str, str] | None = None,
    terms: Mapping[str, str] | None = None,
    small: str = "",
) -> Table:
    """One row per agent, one column per score. columns: score → its head; what: the agents' head; names: agent → what to call
    it, and which are shown."""
    found = {(score.agent, score.name): score for score in scores if score.name in columns}
    agents = list(names or dict.fromkeys(agent for agent, _ in found))
    rows: list[list[str | Cell]] = [
        [(names or {}).get(agent, agent), *(Cell.of(found.get((agent, name))) for name in columns)] for agent in agents
    ]
    heads: list[str | Cell] = [what, *(Cell(head, number=True) for head in columns.values())]
    return Table(heads, rows, small, terms=terms or {})


def score_words(name: str) -> str:
    """A score's name as people write it.

    >>> score_words("root_mse_n"), score_words("pearson_lr_loss"), score_words("told_apart")
    ('√MSE_n', 'Pearson LR loss', 'told apart')
    """
    text = name.replace("_", " ")
    text = text.replace("davies bouldin", WRITTEN["davies bouldin"])
    return WRITTEN.get(text) or " ".join(WRITTEN.get(word, word) for word in text.split(" "))


def _whose(score: Score) -> Cell:
    """The agent and concept; in small print, the space and variant."""
    main, rest = (
        ", ".join(filter(None, pair)) for pair in ((score.agent, score.concept), (score.space, score.variant))
    )
    return Cell(main, small=rest) if main else Cell(rest)


def as_cell(what: str | Cell) -> Cell:
    return what if isinstance(what, Cell) else Cell(what)


def format_number(value: float, decimals: int = 3) -> str:
    """Three decimals unless more are asked for, none from a thousand on, and no minus before a zero.

    >>> format_number(0.12345), format_number(12345.6), format_number(-0.0001), format_number(-0.5)
    ('0.123', '12,346', '0.000', '−0.500')
    """
    text = f"{value:.{decimals}f}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")


def format_range(ci95: tuple[float, float], decimals: int = 3) -> str:
    """An interval; nothing where there is none."""
    low, high = ci95
    return f"[{format_number(low, decimals)}, {format_number(high, decimals)}]" if math.isfinite(low) else ""


def format_score(score: Score, decimals: int = 2) -> str:
    """A score with its interval, as a sentence has it.

    >>> format_score(Score("pearson", -0.359, (-0.457, -0.252), 512))
    '−0.36 [−0.46, −0.25]'
    """
    return f"{format_number(score.value, decimals)} {format_range(score.ci95, decimals)}".rstrip()


def format_percent(score: Score) -> str:
    """A share with its interval, in %.

    >>> format_percent(Score("accuracy", 0.742, (0.668, 0.781), 36))
    '74 % [67, 78]'
    """
    low, high = score.ci95
    decimals = 1 if 0 < high - low < 0.01 or 0 < score.value < 0.01 or 0.99 < score.value < 1 else 0
    ends = f" [{100 * low:.{decimals}f}, {100 * high:.{decimals}f}]" if math.isfinite(low) else ""
    return f"{100 * score.value:.{decimals}f} %{ends}"


def count_decimals(score: Score) -> int:
    """Three; where they would not show an interval, as many as show two digits of its width, or of a small value without one.

    >>> count_decimals(Score("mse_n", 0.00273, (0.0025, 0.0029), 64)), count_decimals(Score("accuracy", 0.8, (0.7, 0.9), 64))
    (5, 3)
    """
    low, high = score.ci95
    shown = high - low if math.isfinite(low) and high > low else abs(score.value)
    return min(1 - math.floor(math.log10(shown)), 6) if 1e-6 < shown < NARROW else 3


def _plain(score: Score | None) -> list[float | None] | None:
    if score is None:
        return None
    return [float(f"{part:.4g}") if math.isfinite(part) else None for part in (score.value, *score.ci95)]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
