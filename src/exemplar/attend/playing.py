"""The verb `play`: simulated players uncover drawings for a partner, and leave the record that people would."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.answers import Answer, format_pairs
from exemplar.attend.agents import make_agent
from exemplar.attend.figures.overlays import write_map_sheet
from exemplar.attend.map_files import save_maps
from exemplar.attend.mapping import mark
from exemplar.attend.partner.guessing import Partner, Templates
from exemplar.attend.players import STRATEGIES, Player, play
from exemplar.attend.rounds import CANVAS, maps_from_rounds
from exemplar.attend.tasks import AttendTask, make_task
from exemplar.options import check_path

TEMPLATES = "templates"


def find_partner(name: str, task: AttendTask) -> Partner:
    """`templates` (the task's exemplars, no training), or a partner that was trained, FOLDER/NAME."""
    if name == TEMPLATES:
        return Templates.of(task)
    from exemplar.attend.partner.keeping import load_partner

    return load_partner(name)


def play_rounds(
    player: str,
    reliability: float,
    participants: int,
    share: float,
    partner: str,
    data: Any,
    split: str | None,
    concepts: int,
    drawings: int,
    only: Sequence[str],
    out: Path | str,
    seed: int,
) -> Answer:
    path = check_path(out, ".npz", "The record of maps")
    small = make_task(data, split, n_concepts=concepts, n_drawings=drawings, only=only, seed=seed)
    task = small.resized(CANVAS)
    who = find_partner(partner, task)
    if player in STRATEGIES:
        simulated = Player.of(player, task, reliability)
    else:
        name, agent = make_agent(player, small)
        simulated = Player.after(name, mark(agent, small, name, seed=seed).map, task, reliability)
    start = time.process_time()
    rounds = play(simulated, task, who, participants=participants, share=share, seed=seed)
    record = maps_from_rounds(rounds, task, agent=f"simulated players ({simulated.name})")
    seconds = round(time.process_time() - start, 2)
    save_maps(path, record)
    sheet = path.with_suffix(".png")
    write_map_sheet(sheet, record, task)
    values = {
        "player": player,
        "reliability": reliability,
        "participants": participants,
        "data": task.data,
        "partner": partner,
        "rounds": len(rounds),
        "right": sum(one.right for one in rounds),
        "strokes": round(float(np.mean([len(one.places) for one in rounds])), 2),
        "maps": len(record),
        "cpu_seconds": seconds,
        "seed": seed,
        "out": str(path),
        "sheet": str(sheet),
    }
    return Answer(values=values, text=format_pairs(values), warnings=small.warnings, figures={"sheet": sheet})
