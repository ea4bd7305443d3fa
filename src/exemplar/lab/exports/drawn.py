"""Drawings as the Drawings record, for `exemplar draw score`; strokes with their times; and a PNG of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from exemplar import images
from exemplar.files import whole_file
from exemplar.lab.experiments.drawing import find_task, read_strokes
from exemplar.lab.exporting import AnsweredTrial
from exemplar.records import Drawings

SIZE, PEN = 105, 3.0  # px, as Omniglot's drawings


def write_drawings(experiment: Any, trials: Sequence[AnsweredTrial], folder: Path) -> list[Path]:
    drawn = [
        one for one in trials if one.answer["strokes"]
    ]  # a word whose time ran out before anything was drawn is left out
    written = []
    if drawn:
        record = make_drawings(experiment, drawn)
        written += [record.save(folder), folder / "drawings.npz"]
        for one, image in zip(drawn, record.image, strict=True):
            path = folder / "png" / one.planned["concept"].replace("/", "_") / f"{one.session}-{one.trial:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(255 - image).save(path)
            written.append(path)
    lines = [
        json.dumps(
            {
                "participant": one.participant,
                "concept": one.planned["concept"],
                "session": one.session,
                "trial": one.trial,
            }
            | dict(one.answer)
        )
        for one in trials
    ]
    with whole_file(folder / "strokes.ndjson") as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [*written, folder / "strokes.ndjson"]


def make_drawings(experiment: Any, trials: Sequence[AnsweredTrial]) -> Drawings:
    """One row per drawing; index counts within agent and concept."""
    word = experiment.instruction == "word"
    task = None if word else find_task(experiment.data, experiment.split)
    row = {} if task is None else dict(zip(task.concepts, task.exemplar_rows.tolist(), strict=True))
    seen: Counter[tuple[str, str]] = Counter()
    index = []
    for one in trials:
        key = (one.agent, one.planned["concept"])
        index.append(seen[key])
        seen[key] += 1
    return Drawings.of(
        agent=[one.agent for one in trials],
        data="words" if task is None else task.data.name,
        concept=[one.planned["concept"] for one in trials],
        exemplar=[row.get(one.planned["concept"], 0) for one in trials],
        index=index,
        seed=0,
        image=render_answers([one.answer["strokes"] for one in trials]),
    )


def render_answers(answers: Sequence[Any]) -> np.ndarray:
    """(n, SIZE, SIZE) uint8, ink 255 or 0: strokes as a round pen of PEN px draws them, where they were drawn."""
    drawings = [read_strokes(strokes) for strokes in answers]
    strokes = [stroke for drawing in drawings for stroke in drawing]
    points = np.concatenate([stroke[:, :2] * SIZE for stroke in strokes]).astype(np.float32)
    ends = np.cumsum([0, *(len(stroke) for stroke in strokes)])
    of_image = np.cumsum([0, *(len(drawing) for drawing in drawings)])
    ink = images.render(points, ends, of_image, size=(SIZE, SIZE), width=PEN)
    return np.where(ink >= 128, 255, 0).astype(np.uint8)
