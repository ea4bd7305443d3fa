"""From the database to records: Trials and Drawings as every agent leaves them, the public files' columns, and pictures."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa

from exemplar.errors import UserError
from exemplar.lab.experiments.protocol import Experiment
from exemplar.lab.sessions import Lab
from exemplar.lab.storage import PARTICIPANTS, SESSIONS, TRIALS


@dataclass(frozen=True, eq=False)
class AnsweredTrial:
    """One acknowledged trial with all that is known of it. planned: its entry in the session's plan."""

    participant: str
    agent: str
    session: str
    kind: str
    part: str
    trial: int
    planned: Mapping[str, Any]
    answer: Mapping[str, Any]
    correct: bool | None
    received: float
    started: float


def read_trials(
    lab: Lab,
    experiment: str,
    *,
    kind: str | None = "main",
    agent: str | None = None,
    participant: str | None = None,
    part: str | None = None,
    excluded: bool = False,
    most: int | None = None,
) -> Iterator[AnsweredTrial]:
    """Trials of finished sessions in the order of participants, sessions and trials. kind: None for prescreening and warm-ups
    too; agent, participant, part: only theirs; excluded: those of excluded participants too; most: no more than these."""
    query = (
        sa.select(PARTICIPANTS.c.id, PARTICIPANTS.c.agent, SESSIONS, TRIALS)
        .join(SESSIONS, SESSIONS.c.participant == PARTICIPANTS.c.id)
        .join(TRIALS, TRIALS.c.session == SESSIONS.c.id)
        .where(PARTICIPANTS.c.experiment == experiment, SESSIONS.c.finished.is_not(None))
        .order_by(PARTICIPANTS.c.started, PARTICIPANTS.c.id, SESSIONS.c.number, TRIALS.c.trial)
    )
    if kind is not None:
        query = query.where(SESSIONS.c.kind == kind)
    if agent is not None:
        query = query.where(PARTICIPANTS.c.agent == agent)
    if participant is not None:
        query = query.where(PARTICIPANTS.c.id == participant)
    if part is not None:
        query = query.where(SESSIONS.c.part == part)
    if most is not None:
        query = query.limit(most)
    if not excluded:
        query = query.where(sa.not_(PARTICIPANTS.c.excluded))
    plans: dict[str, Any] = {}
    with lab.storage.reading() as connection:
        for row in connection.execute(query).mappings():
            session = row[SESSIONS.c.id]
            if session not in plans:
                plans = {session: json.loads(row[SESSIONS.c.plan])}
            trial = row[TRIALS.c.trial]
            yield AnsweredTrial(
                participant=row[PARTICIPANTS.c.id],
                agent=row[PARTICIPANTS.c.agent],
                session=session,
                kind=row[SESSIONS.c.kind],
                part=row[SESSIONS.c.part],
                trial=trial,
                planned=plans[session]["trials"][trial],
                answer=json.loads(row[TRIALS.c.answer]),
                correct=row[TRIALS.c.correct],
                received=row[TRIALS.c.received],
                started=row[SESSIONS.c.started],
            )


def write_export(lab: Lab, experiment: str, folder: Path, **which: Any) -> list[Path]:
    """The records of one experiment into a folder; the files that were written."""
    found = lab.experiments[experiment]
    trials = list(read_trials(lab, experiment, **which))
    if not trials:
        raise UserError(f"Nobody has finished a session of {experiment} yet, so there is nothing to export.")
    people = describe_people(lab, experiment)
    people = people[people["participant"].isin({one.participant for one in trials})]
    new = not folder.exists()
    try:
        written = write_records(found, trials, folder)
        people.to_csv(folder / "participants.csv", index=False)
    except (OSError, UserError):  # a full disk: no half of an export
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return [*written, folder / "participants.csv"]


def describe_people(lab: Lab, experiment: str) -> pd.DataFrame:
    """One row per participant, in the order they came: completion code, bonus, and what they were asked (`asked_…`)."""
    sums = (
        sa.select(
            SESSIONS.c.participant,
            sa.func.count(SESSIONS.c.finished).label("sessions"),
            sa.func.sum(SESSIONS.c.n_correct).label("right"),
        )
        .group_by(SESSIONS.c.participant)
        .subquery()
    )
    query = (
        sa.select(PARTICIPANTS, sums.c.sessions, sums.c.right)
        .join(sums, sums.c.participant == PARTICIPANTS.c.id, isouter=True)
        .where(PARTICIPANTS.c.experiment == experiment)
        .order_by(PARTICIPANTS.c.started, PARTICIPANTS.c.id)
    )
    found = lab.experiments[experiment]
    names = [field["name"] for field in found.describe()["ask"]]
    with lab.storage.reading() as connection:
        rows = connection.execute(query).all()
    return pd.DataFrame(
        [
            {
                "participant": row.id,
                "agent": row.agent,
                "state": row.state,
                "completion_code": row.code,
                "sessions": int(row.sessions or 0),
                "bonus": found.bonus(int(row.right or 0)),
                "started": round(row.started),
                "excluded": bool(row.excluded),
                "why": _harmless(row.why),
            }
            | {f"asked_{name}": _harmless(json.loads(row.asked).get(name, "")) for name in names}
            for row in rows
        ]
    )


def _harmless(text: str) -> str:
    """As a spreadsheet shows it: what a stranger typed is never a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write_records(experiment: Experiment, trials: list[AnsweredTrial], folder: Path) -> list[Path]:
    from exemplar.lab.exports import WRITERS

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = WRITERS[experiment.type](experiment, trials, folder)
    answers = pd.DataFrame(
        [
            {
                "participant": one.participant,
                "agent": one.agent,
                "session": one.session,
                "kind": one.kind,
                "part": one.part,
                "trial": one.trial,
                "received": one.received,
                "planned": json.dumps(one.planned),
                "answer": json.dumps(one.answer),
            }
            for one in trials
        ]
    )
    path = folder / "answers.csv"
    answers.to_csv(path, index=False)
    return [*written, path]


def pack(lab: Lab, experiment: str) -> bytes:
    """The export as one zip file."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in write_export(lab, experiment, Path(place)):
            archive.write(path, path.relative_to(place))
    return buffer.getvalue()
