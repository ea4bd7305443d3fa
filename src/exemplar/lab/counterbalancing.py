"""Which part a participant does next: each once, those first that fewest have done, none more often than is wanted."""

from __future__ import annotations

import time
from typing import Any, Protocol

import sqlalchemy as sa

from exemplar import seeds
from exemplar.lab.experiments.protocol import Experiment, Next
from exemplar.lab.storage import PARTICIPANTS, SESSIONS

PEOPLE = "people"
MAIN = "main"  # the kind of session that is counterbalanced, and counted for quotas
ABANDONED_S = 3600.0  # after so long without a trial, a session that was begun no longer fills a place of its part


class TakesPart(Protocol):
    """A participant, as far as their parts depend on them."""

    @property
    def agent(self) -> str: ...

    @property
    def experiment(self) -> str: ...

    @property
    def seed(self) -> int: ...


def choose_part(
    connection: sa.Connection, person: TakesPart, coming: Next, experiment: Experiment, number: int
) -> str | None:
    """The part that fewest have done or are doing, at random among equals; a bot's follows from its seed alone. None if all
    are full. Sessions that were begun and left do not count, or they would fill a part for ever."""
    parts = coming.parts
    order = seeds.rng("lab part", person.seed, number).permutation(len(parts))
    if person.agent != PEOPLE or coming.kind != MAIN:
        return parts[int(order[0])]
    by_part = dict.fromkeys(parts, 0)
    found = connection.execute(
        sa.select(SESSIONS.c.part, sa.func.count())
        .join(PARTICIPANTS, PARTICIPANTS.c.id == SESSIONS.c.participant)
        .where(SESSIONS.c.experiment == person.experiment, SESSIONS.c.kind == coming.kind)
        .where(*counts_for_quota(time.time()))
        .group_by(SESSIONS.c.part)
    )
    by_part |= {part: int(count) for part, count in found if part in by_part}
    quota = experiment.quota()
    open_parts = [parts[int(k)] for k in order if quota is None or by_part[parts[int(k)]] < quota]
    return min(open_parts, key=lambda part: by_part[part]) if open_parts else None


def counts_for_quota(now: float) -> tuple[Any, ...]:
    """Which sessions, joined with their participants, fill places: people's who are not excluded, done or being done."""
    present = sa.or_(SESSIONS.c.finished.is_not(None), PARTICIPANTS.c.last_seen > now - ABANDONED_S)
    return (PARTICIPANTS.c.agent == PEOPLE, sa.not_(PARTICIPANTS.c.excluded), present)
