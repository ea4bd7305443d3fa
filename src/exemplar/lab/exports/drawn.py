"""Drawings as the Drawings record, for `exemplar draw score`; strokes with their times; and a PNG of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from exemplar.files import whole_file
from exemplar.lab.counterbalancing import PEOPLE
from exemplar.lab.experiments.drawing import find_task
from exemplar.lab.exporting import AnsweredTrial
from exemplar.lab.strokes import render_answers
from exemplar.records import Drawings

LAB_PEOPLE = "lab people"  # not "people", who are the data's own drawers


def write_drawings(experiment: Any, trials: Sequence[AnsweredTrial], folder: Path) -> list[Path]:
    # a word whose time ran out before anything was drawn is left out
    drawn = [one for one in trials if one.answer["strokes"] or "bitmap" in one.answer]
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
    with whole_file(folder / "concepts.txt") as part:  # for `draw score --concepts`, where not all were drawn
        part.write_text(
            "".join(f"{name}\n" for name in sorted({one.planned["concept"] for one in drawn})), encoding="utf-8"
        )
    return [*written, folder / "strokes.ndjson", folder / "concepts.txt"]


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
        agent=[LAB_PEOPLE if one.agent == PEOPLE else one.agent for one in trials],
        data="words" if task is None else task.data.name,
        concept=[one.planned["concept"] for one in trials],
        exemplar=[row.get(one.planned["concept"], 0) for one in trials],
        index=index,
        seed=0,
        image=render_answers([one.answer for one in trials]),
    )
