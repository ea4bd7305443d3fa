"""Choices between a person's drawing and a machine's, as Trials whose subtask is the machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exemplar.lab.exporting import AnsweredTrial
from exemplar.records import Trials


def write_choices(experiment: Any, trials: Sequence[AnsweredTrial], folder: Path) -> list[Path]:
    return [make_choices(trials).save(folder)]


def make_choices(trials: Sequence[AnsweredTrial]) -> Trials:
    return Trials.of(
        agent=[one.agent for one in trials],
        participant=[one.participant for one in trials],
        subtask=[one.planned["agent"] for one in trials],
        session=[one.session for one in trials],
        trial=[one.trial for one in trials],
        phase="test",
        stimulus=[one.planned["concept"] for one in trials],
        choice=[one.answer["choice"] for one in trials],
        correct=[bool(one.correct) for one in trials],
        reaction_time_ms=[float(one.answer.get("reaction_time_ms") or "nan") for one in trials],
        timed_out=False,
    )
