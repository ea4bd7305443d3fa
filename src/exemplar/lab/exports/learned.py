"""Learning as Trials, for `exemplar learn score`, and in the columns of the public files (hobj reads them)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from exemplar.lab.exporting import AnsweredTrial
from exemplar.records import Trials

PUBLIC = {1: "human-behavior-highvar-subtasks.csv", 2: "human-behavior-oneshot-subtasks.csv"}
METADATA = "meta-MutatorOneShotImageset.csv"


def write_trials(experiment: Any, trials: Sequence[AnsweredTrial], folder: Path) -> list[Path]:
    path = make_trials(trials).save(folder)
    public = folder / PUBLIC[experiment.experiment]
    make_public(trials).to_csv(public, index=False)
    if experiment.experiment == 1:
        return [path, public]
    make_metadata(experiment, trials).to_csv(folder / METADATA, index=False)
    return [path, public, folder / METADATA]


def make_metadata(experiment: Any, trials: Sequence[AnsweredTrial]) -> pd.DataFrame:
    """Which test each image that was shown belongs to, in the columns of the public metadata: without it nobody can score
    Experiment 2. The images that are trained on are those shown outside of the test."""
    shown = {one.planned["image"] for one in trials}
    trained = {one.planned["image"] for one in trials if one.planned["phase"] != "test"}
    rows = []
    for image, concept, test in experiment.list_tests():
        if image in shown:
            kind, _, level = test.partition(" | ")
            kind = "original" if image in trained else kind or "combinednat"
            rows.append({"image_id": image, "category": concept, "transformation": kind, "transformation_level": level})
    return pd.DataFrame(rows)


def make_trials(trials: Sequence[AnsweredTrial]) -> Trials:
    answers = [one.answer for one in trials]
    return Trials.of(
        agent=[one.agent for one in trials],
        participant=[one.participant for one in trials],
        subtask=[one.part for one in trials],
        session=[one.session for one in trials],
        trial=[one.trial for one in trials],
        phase=[one.planned["phase"] for one in trials],
        stimulus=[one.planned["image"] for one in trials],
        choice=pd.array([answer.get("choice") for answer in answers], dtype="Int64"),
        correct=[bool(one.correct) for one in trials],
        reaction_time_ms=[_number(answer.get("reaction_time_ms")) for answer in answers],
        timed_out=[bool(answer.get("timed_out", False)) for answer in answers],
        refresh_hz=[_number(answer.get("refresh_hz")) for answer in answers],
        dropped_frames=pd.array([answer.get("dropped_frames") for answer in answers], dtype="Int64"),
    )


def make_public(trials: Sequence[AnsweredTrial]) -> pd.DataFrame:
    """Columns as in the files of Lee & DiCarlo (2023)."""
    return pd.DataFrame(
        [
            {
                "trial": one.trial,
                "assignment_id": one.session,
                "slot": 0,
                "worker_id": one.participant,
                "subtask": one.part,
                "image_id": one.planned["image"],
                "trial_type": one.planned["phase"],
                "stimulus_duration_msec": one.answer.get("image_ms"),
                "reaction_time_msec": one.answer.get("reaction_time_ms"),
                "timed_out": int(one.answer.get("timed_out", False)),
                "perf": int(bool(one.correct)),
                "timestamp_start": round(1000 * one.started),
            }
            for one in trials
        ]
    )


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
