"""Drawings are judged into a run folder: the record, the scores, and what a page needs, so that nothing is computed twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.draw.critics import Critics, load_critics
from exemplar.draw.drawings import stack
from exemplar.draw.measures.sides import DEFAULT, ScoreConfig
from exemplar.draw.scores import score_drawings
from exemplar.draw.tasks import DrawingTask
from exemplar.files import write_npz
from exemplar.images.concepts import ConceptSet
from exemplar.records import Drawings
from exemplar.runs import Run, open_run, plain
from exemplar.spaces.encoding import Watched

RUNS = Path("runs/draw")
NAME = 60  # letters of an agent's name in its folder's: file systems take no more than 255 bytes


def judge_drawings(
    drawings: Drawings,
    task: DrawingTask,
    critics: Critics | None = None,
    config: ScoreConfig = DEFAULT,
    *,
    training: ConceptSet | None = None,
    asked: Mapping[str, Any] | None = None,
    out: Path | None = None,
    seed: int = 0,
) -> Path:
    """Score one agent's drawings into a run folder (one below RUNS, named after agent and content, unless given).

    training: what the agent was trained on, to look for copies of it; asked: how the task came to be, as plain values, for
    whoever reads the run. The folder holds the tables drawings and scores, and judged.npz: exemplars (k, h, w) and drawings
    (k, n, h, w) uint8, and `Judged.arrays()`. Drawings that were judged already, with all else equal, are not judged again;
    what cannot be judged leaves nothing behind.
    """
    critics = critics or load_critics(task.data.name)
    critics.count_seen(task.concepts, task.data.name)  # before a folder is made
    images = stack(drawings, task)
    agent = str(drawings["agent"].iloc[0])
    identity = {
        "agent": agent,
        "asked": dict(asked or {}),
        "exemplar": task.chosen_by,
        "n": task.n,
        "drawings": seeds.digest(images),
        "exemplars": seeds.digest(task.exemplars),
        "critics": {kind: [s.name for s in getattr(critics, kind)] for kind in ("see", "recognise")},
        "weights": seeds.digest([s.identity for s in (*critics.see, *critics.recognise)]),
        "scores": config,
    }
    data = {task.data.name: task.data.fingerprint}
    if training is not None:
        identity["training"] = training.fingerprint
    content = seeds.digest(plain(identity), data, seed, size=5)
    folder = out or RUNS / (re.sub(r"[^\w.@-]+", "-", agent)[:NAME] + f"-{content}")
    with open_run(folder, command="draw score", config=identity, seed=seed, data=data) as run:
        if not run.finished:
            judged = score_drawings(drawings, task, _watched(critics, run), config, training=training, seed=seed)
            run.save(drawings)
            run.save(judged.scores)
            write_npz(folder / "judged.npz", {"exemplars": task.exemplars, "drawings": images, **judged.arrays()})
    return folder


def _watched(critics: Critics, run: Run) -> Critics:
    see, recognise = (tuple(Watched(s, run.store) for s in spaces) for spaces in (critics.see, critics.recognise))
    return replace(critics, see=see, recognise=recognise)
