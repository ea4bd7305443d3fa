"""ClickMe as the Maps record, for `exemplar attend score`; every round with its places and times; and the drawings, for
`exemplar attend maps`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exemplar import attend
from exemplar.files import whole_file, write_npz
from exemplar.lab.brush import BRUSH, paint, places_of
from exemplar.lab.counterbalancing import PEOPLE
from exemplar.lab.experiments.clickme import Game
from exemplar.lab.exporting import AnsweredTrial
from exemplar.lab.own_maps import points_of
from exemplar.records import Maps

ROUNDS, DRAWINGS = "rounds.ndjson", "drawings.npz"


def write_maps(experiment: Any, trials: Sequence[AnsweredTrial], folder: Path) -> list[Path]:
    """maps.parquet holds the people, or the bots where nobody else played; other bots have a folder of their own."""
    game = experiment.game()
    written: list[Path] = []
    for agent in sorted({one.agent for one in trials}, key=lambda agent: (agent != PEOPLE, agent)):
        place = folder if not written else folder / f"bots-{len(written) // 2}"
        record = make_maps(game, [one for one in trials if one.agent == agent])
        if record is not None:
            written += [record.save(place), place / "maps.npz"]
    lines = [
        json.dumps(
            {"participant": one.participant, "agent": one.agent, "session": one.session, "trial": one.trial}
            | dict(one.planned)
            | {"right": bool(one.correct), "points": points_of(experiment, one)}
            | dict(one.answer)
        )
        for one in trials
    ]
    with whole_file(folder / ROUNDS) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_drawings(game, folder / DRAWINGS)
    return [*written, folder / ROUNDS, folder / DRAWINGS]


def make_maps(game: Game, trials: Sequence[AnsweredTrial]) -> Maps | None:
    """Of one agent's rounds that its partner got right. None where there are none, or nothing but whole pictures painted."""
    rounds = []
    for one in trials:
        places = places_of(one.answer["places"])
        if one.correct and not paint(places).all():  # who paints everything says nothing of what matters
            row = game.row_of(one.planned["drawing"])
            rounds.append(
                attend.Round(one.participant, row, places, right=True, seconds=one.answer["places"][-1][2] / 1000)
            )
    agent = trials[0].agent
    name = agent if agent == PEOPLE else f"simulated players ({agent})"
    return attend.maps_from_rounds(rounds, game.task, agent=name, brush=BRUSH) if rounds else None


def write_drawings(game: Game, path: Path) -> None:
    """All that could be shown, and the exemplars, as `attend maps --data` takes them: models mark the same drawings."""
    task = game.task
    images = np.concatenate([task.exemplar, task.image])
    concept = np.array([*task.concepts, *task.names])
    order = np.argsort([*range(len(task.concepts)), *task.label], kind="stable")  # each concept's exemplar first
    first = np.searchsorted(np.sort([*range(len(task.concepts)), *task.label]), np.arange(len(task.concepts)))
    write_npz(path, {"images": images[order], "concept": concept[order], "exemplar": first})
