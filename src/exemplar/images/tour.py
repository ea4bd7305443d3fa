"""The images' part of `exemplar tour`: invented characters, hands that vary, and what comparing pixels is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine
from exemplar.images.glyphs import GlyphsConfig, load_glyphs, redraw
from exemplar.images.studies.naming import NamingConfig, name_by_pixels, sample_naming
from exemplar.records import Drawings, Predictions, Score
from exemplar.report.page import Chapter, Figure
from exemplar.report.sheets import sheet_png
from exemplar.report.tables import format_percent, format_score
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

SPREADS = (0.25, 0.5, 1.0, 2.0)


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    """Drawers at several spreads, and naming by pixels."""
    config = NamingConfig(n_tasks=100)
    data = {"glyphs/weak-test": load_glyphs("weak-test").fingerprint}
    with open_run(folder, command="tour images", config=config, seed=seed, data=data, backend=backend) as run:
        if run.finished:
            return
        run.save(_spreads(seed), "drawings-by-spread")
        run.save(_one_task(config, seed), "drawings-of-a-task")
        name_by_pixels(run, [f"glyphs@{spread}" for spread in SPREADS], config, seed=seed)


def write_chapter(folder: Path) -> Chapter:
    spreads = Drawings.load(folder, "drawings-by-spread")
    task = Drawings.load(folder, "drawings-of-a-task")
    answers = Predictions.load(folder)
    answers = answers.subset((answers["agent"] == "pixels on glyphs@1.0") & (answers["task"] == 0))
    scores = load_scores(folder)
    by_spread = {score.agent.rpartition("@")[2]: score for score in scores}
    return Chapter(
        "What is seen",
        (
            "Exemplar invents its own alphabets. A character is a short program of strokes that simulated drawers carry out, "
            "each in a hand of their own; how much hands vary can be set, so that scores can be checked against a known truth.",
            "The simplest task: you have seen one drawing of each of twenty characters; which one is this new drawing of? "
            f"Comparing pixels gets {format_percent(by_spread['1.0'])} right when hands vary as much as people's do; "
            "guessing gets 5 %.",
        ),
        (
            Figure.of_png(
                _task_sheet(task, answers),
                "Top two rows: twenty characters, each seen once. Third row: ten new drawings. Bottom row: the "
                "character chosen "
                "for each by comparing pixels, framed green where that is right and red where it is wrong.",
                name="naming-task",
            ),
            Figure.of_png(
                _spread_sheet(spreads, by_spread),
                "One character by the same six simulated drawers; hands vary more from row to row, and people's "
                "spread is near 1. "
                "With each row the accuracy of comparing pixels: the share of new drawings given to the right one of twenty "
                "characters, with its 95 % interval over 100 tasks.",
                name="spread-of-hands",
            ),
        ),
        beside=True,
        commands="exemplar data show path/to/your/images",
    )  # fmt: skip


def _spreads(seed: int) -> Drawings:
    """A character by ten drawers, at every spread."""
    config = GlyphsConfig(seed=seed)
    concepts = load_glyphs("weak-test", GlyphsConfig(seed=seed, drawers=1)).concept.names[1:2]
    tables = [_drawings(concepts, redraw(concepts, 6, config=config, spread=s), f"spread {s}", seed) for s in SPREADS]
    return Drawings.join(tables)


def _one_task(config: NamingConfig, seed: int) -> Drawings:
    """What is seen in task 0, and what is to be named, in the order of its items."""
    some, label = sample_naming("glyphs@1.0", config, seed, 0)
    images = some.images.reshape(config.ways, 2, 1, *some.shape)
    seen = [some.concept[row] for row in range(0, len(some), 2)]
    new = [seen[place] for place in label]
    return Drawings.join([_drawings(seen, images[:, 0], "seen", seed), _drawings(new, images[label, 1], "new", seed)])


def _drawings(concepts: Sequence[str], images: np.ndarray, agent: str, seed: int) -> Drawings:
    """images: (concepts, n, h, w) uint8."""
    n = images.shape[1]
    columns: dict[str, Any] = {"agent": agent, "data": "glyphs", "exemplar": 0, "seed": seed}
    return Drawings.of(
        **columns,
        concept=np.repeat(np.array(concepts, dtype=object), n),
        index=np.tile(np.arange(n), len(concepts)),
        image=images.reshape(-1, *images.shape[2:]),
    )


def _task_sheet(drawings: Drawings, answers: Predictions) -> bytes:
    """Two rows of what was seen, one of what is new, one of what was chosen."""
    seen, new = (drawings.image[drawings["agent"] == agent] for agent in ("seen", "new"))
    label, predicted = (answers[column].to_numpy()[:10] for column in ("label", "predicted"))
    rows = np.stack([seen[:10], seen[10:20], new[:10], seen[predicted]])
    right = {(3, column): "#2e8b57" if label[column] == predicted[column] else "#c8472b" for column in range(10)}
    return sheet_png(rows, ["seen once", "", "new", "chosen by pixels"], cell=40, frames=right)


def _spread_sheet(drawings: Drawings, by_spread: Mapping[str, Score]) -> bytes:
    """Rows: the character at each spread; columns: drawers."""
    n = int(drawings["index"].max()) + 1
    images = drawings.image.reshape(-1, n, *drawings.image.shape[1:])
    spread = drawings["agent"].astype(str)[::n].str.removeprefix("spread ")
    return sheet_png(images, [f"spread {s}: accuracy {format_score(by_spread[s], 3)}" for s in spread], cell=64)


CHAPTER = TourChapter(make_tour, write_chapter)
