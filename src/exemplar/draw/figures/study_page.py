"""The page of one study of drawing, in its run folder: its scores, and its figures, which are also there as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from exemplar.draw.figures.drawers import drawers_of
from exemplar.draw.figures.studies import Show, StudyRecord
from exemplar.draw.figures.study_verdicts import study_verdict
from exemplar.draw.figures.tables import words
from exemplar.draw.tasks import PEOPLE
from exemplar.files import npz_names, read_npz
from exemplar.records import Score
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Cell, Table, score_table
from exemplar.rooms import Numbers
from exemplar.runs import describe_run, load_scores

LEAD = "Bars and brackets are 95 % intervals, over concepts and, where there are several seeds, over critics."


def write_study(
    folder: Path, title: str, text: str, show: Show, published: Numbers | None = None, made_by: str = "",
    conclude: Callable[[StudyRecord], str] = study_verdict,
) -> Path:  # fmt: skip
    """`index.html` in a study's run folder, and figures/NAME.png and .svg.

    title, text: of the page, what it asks; show: its figures (`studies.SHOW` has those of each study by name); published: what
    others found on this data; made_by: who made the data, people or simulated drawers; conclude: what it found, in a
    sentence.
    """
    record = replace(read_study(folder, published), made_by=made_by)
    figures = [
        Figure.of_plot(shown.figure, shown.caption, name=shown.name, pixels=shown.pixels) for shown in show(record)
    ]
    chapter = Chapter(
        f"On {record.data}", (text,), figures, tables=[scores_beside_published(record)] if record.scores else []
    )
    return write_page(
        folder / "index.html", title, LEAD, [chapter], "The run folder holds every record and score.",
        verdict=conclude(record), made=[("study", record.name), *how_made([folder])],
    )  # fmt: skip


def read_study(folder: Path, published: Numbers | None = None) -> StudyRecord:
    """What a study left in its run folder."""
    about = describe_run(folder)
    name = str(about["config"].get("study", ""))
    path = folder / f"{name}.npz"
    kinds = {array: ("fiuU", None) for array in npz_names(path)} if path.is_file() else {}
    arrays = read_npz(path, **kinds) if kinds else {}
    return StudyRecord(name, ", ".join(about["data"]), load_scores(folder), arrays, published or {})


def scores_beside_published(record: StudyRecord) -> Table:
    """All scores over all critics; where others found a value, it stands beside ours with its source."""
    scores = [score for score in record.scores if not score.space] or list(record.scores)
    table = score_table([_say_who(score, record) for score in scores])
    found = [record.published.get((score.name, score.agent)) for score in scores]
    if not any(found):
        return table
    cells = [Cell(f"{n.value:g}", n.value, n.source, number=True) if n else Cell("", number=True) for n in found]
    rows = [[*row, cell] for row, cell in zip(table.rows, cells, strict=True)]
    return Table(
        [*table.header, Cell("by others", hint="published, or measured with released weights", number=True)], rows
    )


def _say_who(score: Score, record: StudyRecord) -> Score:
    """A score whose labels do not call simulated drawers people. Where the agent is a data set, its own drawers count."""
    drawers = drawers_of([score.agent]) if "/" in score.agent else record.drawers
    agent, variant = score.agent.replace(PEOPLE, drawers.agent), drawers.in_words(score.variant)
    return replace(score, name=words(score.name, drawers), agent=agent, variant=variant)
