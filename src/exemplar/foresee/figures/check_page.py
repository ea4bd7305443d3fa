"""The page of `check`: the pictures, what accuracy to expect, which classes will be confused, what to label next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Plot

from exemplar.foresee.photos import Photos, thumbnails
from exemplar.report.figures import INK, styled
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.sheets import sheet_png
from exemplar.report.tables import Cell, Table, format_percent

if TYPE_CHECKING:
    from exemplar.foresee.checking import Outlook

PAGE = "index.html"
N_SHOWN = 8  # photographs of a class


@styled
def plot_confusion(confusion: np.ndarray, names: Sequence[str]) -> Plot:
    """Rows: classes; columns: what they will be called."""
    n = len(names)
    side = max(2.6, 0.5 * n + 1.6)
    plot = Plot(figsize=(side + 1.2, side), layout="constrained")
    axis = plot.subplots()
    axis.imshow(confusion, cmap="Reds", vmin=0, vmax=1)
    for a in range(n):
        for b in range(n):
            if n <= 12:
                colour = "white" if confusion[a, b] > 0.55 else INK
                axis.text(b, a, f"{100 * confusion[a, b]:.0f}", ha="center", va="center", color=colour, fontsize=9)
    axis.set(xticks=range(n), yticks=range(n), ylabel="class", xlabel="will be called")
    axis.set_xticklabels(names, rotation=40, ha="right")
    axis.set_yticklabels(names)
    return plot


def write_check_page(
    folder: Path, outlook: Outlook, photos: Photos, warnings: Sequence[str], made: Sequence[tuple[str, str]]
) -> Path:
    task, best = outlook.task, outlook.trusted
    how = (
        "says the calibrated predictor"
        if best.name == "predicted_accuracy"
        else "judging by your own labelled photographs, left out in turn"
    )
    verdict = (
        f"About {format_percent(best)} of new photographs like these will be named correctly, {how} (brackets: 95 % "
        "interval)."
    )
    rows = [
        (
            name,
            Cell.of_number(int(n), str(int(n))),
            Cell.of_number(float(outlook.confusion[k, k]), f"{100 * outlook.confusion[k, k]:.0f} %"),
        )
        for k, (name, n) in enumerate(zip(task.names, task.counts, strict=True))
    ]
    pairs = [(a, b, Cell.of_number(share, f"{100 * share:.0f} %")) for a, b, share in outlook.pairs]
    scores = [score for score in (outlook.predicted, outlook.left_out) if score is not None]
    chapters = [
        Chapter(
            "What to expect",
            (
                "“Predicted accuracy” comes from a predictor that was calibrated on other classes; “left-out accuracy” is "
                "measured on your labelled photographs, one of each class left out in turn and named by a classifier that was "
                "trained on the others.",
            ),
            (
                Figure.of_plot(
                    plot_confusion(outlook.confusion, task.names),
                    "Of each class's photographs (rows), how many in a hundred are expected to be given each name (columns).",
                    name="confusion",
                ),
            ),
            scores,
            tables=[
                Table(("class", "labelled", "expected accuracy"), rows),
                *[Table(("photographs of", "will be called", "share"), pairs, "The confusions to expect most.")]
                * bool(pairs),
            ],
            notes=[f"Warning: {sentence}" for sentence in warnings],
        ),
        Chapter("Your photographs", ("The first of each class.",), (_class_sheet(outlook, photos),)),
    ]
    if outlook.order:
        after = (
            ""
            if outlook.after is None
            else f" After labelling as many, about {100 * outlook.after:.0f} % is to be expected."
        )
        named = [photos.paths[len(task.labels) + row].name for row in outlook.order]
        text = f"These unlabelled photographs stand for many others whose class is uncertain.{after}"
        figure = Figure.of_png(
            _sheet(photos, len(task.labels) + np.array(outlook.order)),
            "In this order: " + ", ".join(named) + ".",
            name="label-next",
        )
        chapters.append(Chapter("Label these next", (text,), (figure,)))
    lead = f"{len(task.labels)} labelled photographs of {task.n_ways} classes, {task.n_queries} unlabelled."
    return write_page(folder / PAGE, "How well will this classifier do?", lead, chapters, verdict=verdict, made=made)


def _class_sheet(outlook: Outlook, photos: Photos) -> Figure:
    labels = [f"{name}: {100 * outlook.confusion[k, k]:.0f} % expected" for k, name in enumerate(outlook.task.names)]
    rows = [np.flatnonzero(outlook.task.labels == k)[:N_SHOWN] for k in range(outlook.task.n_ways)]
    pictures = [thumbnails(photos, row) for row in rows]
    sheet = np.full((len(rows), max(map(len, rows)), *pictures[0].shape[1:]), 255, np.uint8)
    for k, some in enumerate(pictures):
        sheet[k, : len(some)] = some
    return Figure.of_png(sheet_png(sheet, labels, drawn=False), "A row per class.", name="classes")


def _sheet(photos: Photos, rows: np.ndarray) -> bytes:
    pictures = thumbnails(photos, rows)
    columns = min(len(pictures), N_SHOWN)
    n = -(-len(pictures) // columns) * columns
    blank = np.full((n - len(pictures), *pictures.shape[1:]), 255, np.uint8)
    return sheet_png(np.concatenate([pictures, blank]).reshape(-1, columns, *pictures.shape[1:]), drawn=False)
