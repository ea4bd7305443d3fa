"""The page of `compare`: who is ahead, what each learner scores and costs, and every difference, paired by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exemplar.recall.figures.plots import learners_on_front, plot_forgetting, plot_pareto
from exemplar.recall.figures.words import FORGETTING_CAPTION, LEAD, PARETO_CAPTION, TERMS, macs_cell
from exemplar.records import Score
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table, format_percent, format_range

PAGE = "index.html"
LEVEL = 0.05  # below which p is told as a finding
PAIRED = (
    "The first less the second, paired by task, with 95 % intervals over tasks. p: of no difference, by flipping the signs of "
    "tasks, corrected for all pairs (Holm)."
)


@dataclass(frozen=True)
class Pair:
    """accuracy, cross_entropy: the first less the second; p: corrected for all pairs."""

    first: str
    second: str
    accuracy: Score
    cross_entropy: Score
    p: float


def write_compare_page(
    folder: Path,
    scores: Mapping[str, Sequence[Score]],
    macs: Sequence[float],
    pairs: Sequence[Pair],
    chance: float,
    runs: Sequence[Path],
) -> Path:
    """scores: learner → those of its run; macs: of a task, in the same order; runs: their folders."""
    names = list(scores)
    found = {name: {score.name: score for score in mine if not score.concept} for name, mine in scores.items()}
    accuracy = [found[name]["accuracy"] for name in names]
    atm = [found[name]["atm"].value for name in names]
    columns = ["accuracy", *(name for name in ("backward_transfer",) if any(name in f for f in found.values())), "atm"]
    rows: list[list[str | Cell]] = [
        [name, *(Cell.of(found[name].get(column)) for column in columns), macs_cell(cost)]
        for name, cost in zip(names, macs, strict=True)
    ]
    heads: list[str | Cell] = ["learner", *(Cell(TERMS[column][0], number=True) for column in (*columns, "macs_task"))]
    small = f"95 % intervals over {accuracy[0].n:,} tasks."
    each = Table(heads, rows, small, terms={TERMS[c][0]: TERMS[c][1] for c in (*columns, "macs_task")})
    figures = [
        Figure.of_plot(plot_forgetting(scores, chance=chance), FORGETTING_CAPTION, name="forgetting"),
        Figure.of_plot(plot_pareto(names, accuracy, atm, macs), PARETO_CAPTION, name="pareto"),
    ]
    chapters = [Chapter("Each learner", figures=figures, tables=[each])]
    chapters.append(Chapter("Differences", tables=[_differences(pairs)]))
    return write_page(
        folder / PAGE, "Learners on the same tasks", LEAD, chapters, "The runs themselves hold every prediction.",
        verdict=find_verdict(names, accuracy, atm, macs, pairs), made=how_made([folder, *runs]),
    )  # fmt: skip


def find_verdict(
    names: Sequence[str], accuracy: Sequence[Score], atm: Sequence[float], macs: Sequence[float], pairs: Sequence[Pair]
) -> str:
    """The most accurate learner and whether it is ahead of the next, and who is on the Pareto front. Bounds are no learners."""
    front = learners_on_front(names, [score.value for score in accuracy], atm, macs)
    of = dict(zip(names, accuracy, strict=True))
    ranked = sorted((n for n in names if not _is_bound(n)), key=lambda name: -of[name].value) or list(names)
    best = ranked[0]
    said = f"{best} is the most accurate: {format_percent(of[best])} of targets named correctly"
    if len(ranked) > 1:
        second = ranked[1]
        pair = next(p for p in pairs if {p.first, p.second} == {best, second})
        sign = 1 if pair.first == best else -1
        ends = sorted(100 * sign * end for end in pair.accuracy.ci95)
        ahead = f"{100 * abs(pair.accuracy.value):.1f} points {format_range((ends[0], ends[1]), 1)}"
        told = f"{ahead} ahead of {second}" if pair.p < LEVEL else f"but not told apart from {second} ({ahead})"
        said += f", {told}, p = {pair.p:.3f}"
    best_kept = [name for name, on_front in zip(names, front, strict=True) if on_front and not _is_bound(name)]
    return f"{said}. On the Pareto front of accuracy, memory and computation: {', '.join(best_kept)}."


def _is_bound(name: str) -> bool:
    return name.partition(" (")[0] in ("chance", "joint-oracle") or name.endswith("(joint)")


def _differences(pairs: Sequence[Pair]) -> Table:
    rows: list[list[str | Cell]] = [
        [
            pair.first,
            pair.second,
            Cell.of_difference(pair.accuracy),
            Cell.of_difference(pair.cross_entropy),
            Cell.of_number(pair.p),
        ]
        for pair in pairs
    ]
    numbers = [Cell(head, number=True) for head in ("accuracy", "cross-entropy (nats)", "p of accuracy")]
    return Table(["first", "second", *numbers], rows, PAIRED)
