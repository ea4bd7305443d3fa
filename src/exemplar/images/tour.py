"""The images' part of `exemplar tour`: invented alphabets, hands that vary, and what comparing pixels is worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import engine
from exemplar.images.glyphs import GlyphsConfig, load_glyphs, redraw
from exemplar.images.studies.naming import NamingConfig, name_by_pixels, sample_naming
from exemplar.records import Drawings, Predictions
from exemplar.report.figures import plot_scores
from exemplar.report.page import Chapter, Figure
from exemplar.report.sheets import sheet_png
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

SPREADS = (0.25, 0.5, 1.0, 2.0)


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    """The images' part of `exemplar tour`: alphabets, drawers at several spreads, and naming by pixels."""
    config = NamingConfig(n_tasks=100)
    data = {"glyphs/weak-test": load_glyphs("weak-test").fingerprint}
    with open_run(folder, command="tour images", config=config, seed=seed, data=data, backend=backend) as run:
        if run.finished:
            return
        run.save(_alphabets(seed))
        run.save(_spreads(seed), "drawings-by-spread")
        run.save(_one_task(config, seed), "drawings-of-a-task")
        name_by_pixels(run, [f"glyphs@{spread}" for spread in SPREADS], config, seed=seed)


def write_chapter(folder: Path) -> Chapter:
    alphabets = Drawings.load(folder)
    spreads = Drawings.load(folder, "drawings-by-spread")
    task = Drawings.load(folder, "drawings-of-a-task")
    answers = Predictions.load(folder)
    answers = answers.subset((answers["agent"] == "pixels on glyphs@1.0") & (answers["task"] == 0))
    scores = load_scores(folder)
    levels = [float(score.agent.rpartition("@")[2]) for score in scores]
    default = scores[levels.index(1.0)]
    return Chapter(
        "What is seen",
        (
            "Exemplar draws its own alphabets, so nothing needs a download. A character is a small program of strokes; the "
            "characters of an alphabet share a vocabulary of strokes, as those of real scripts do.",
            "The drawers are simulated. Each has a hand: slant, size, pen, and how far each stroke strays. How much hands vary "
            "is a knob, so that a score can be checked against a known truth.",
            "The question in its simplest form: you have seen one drawing of each of twenty characters; whose is this new "
            f"one? An agent that only compares pixels is right {100 * default.value:.0f} % of the time when drawers vary as "
            "people do. Guessing gives 5 %. How far people and learning machines get beyond that is what the rooms measure.",
        ),
        (
            Figure.of_png(
                _task_sheet(task, answers),
                "The task: above, twenty characters, each seen once; below, ten new drawings, and under each the character "
                "that pixels alone chose for it, green where that is right.",
            ),
            Figure.of_png(
                _alphabet_sheet(alphabets), "Three invented alphabets, every character by the same simulated drawer."
            ),
            Figure.of_png(
                _spread_sheet(spreads),
                "The same drawing by the same ten hands; from one row to the next hands vary more. People are near 1.",
            ),
            Figure(
                "Naming a new drawing among twenty characters, each seen once, by comparing pixels. Bars are 95 % intervals "
                "over tasks.",
                svg=plot_scores(levels, scores, xlabel="how much hands vary", ylabel="named right", chance=1 / 20),
            ),
        ),
        scores,
        "exemplar data list\nexemplar data sheet glyphs --out sheet.png\nexemplar data show path/to/your/images",
    )


def _alphabets(seed: int) -> Drawings:
    """One drawing of every character of three alphabets."""
    data = load_glyphs("all", GlyphsConfig(seed=seed, drawers=1, alphabets=3))
    return _drawings(data.concept.names, data.images[:, None], "drawer01", seed)


def _spreads(seed: int) -> Drawings:
    """Three characters, each by ten drawers, at every spread."""
    config = GlyphsConfig(seed=seed)
    concepts = load_glyphs("weak-test", GlyphsConfig(seed=seed, drawers=1)).concept.names[1:10:4]
    tables = [_drawings(concepts, redraw(concepts, 10, config=config, spread=s), f"spread {s}", seed) for s in SPREADS]
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
    return sheet_png(rows, ["seen once", "", "new", "chosen by pixels"], cell=72, frames=right)


def _alphabet_sheet(drawings: Drawings) -> bytes:
    """One alphabet per block, twelve characters per row, on white."""
    alphabet = drawings["concept"].astype(str).str.partition("/")[0].to_numpy()
    blocks = []
    for name in dict.fromkeys(alphabet):
        images = drawings.image[alphabet == name][:24]
        images = np.concatenate([images, np.zeros((-len(images) % 12, *images.shape[1:]), np.uint8)])
        blocks.append((name, images.reshape(-1, 12, *images.shape[1:])))
    rows = np.concatenate([images for _, images in blocks])
    labels = [name if row == 0 else "" for name, images in blocks for row in range(len(images))]
    return sheet_png(rows, labels, cell=64)


def _spread_sheet(drawings: Drawings) -> bytes:
    """Rows: each character at each spread, in the order of the table; columns: drawers."""
    n = int(drawings["index"].max()) + 1
    images = drawings.image.reshape(-1, n, *drawings.image.shape[1:])
    agent, concept = (drawings[key].astype(str).to_numpy()[::n] for key in ("agent", "concept"))
    order = sorted(range(len(images)), key=lambda row: (list(dict.fromkeys(concept)).index(concept[row]), row))
    return sheet_png(images[order], [f"{concept[row]}, {agent[row]}" for row in order], cell=64)


CHAPTER = TourChapter(make_tour, write_chapter)
