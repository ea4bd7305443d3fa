"""The partner of ClickMe looks at what was painted so far. Nothing is kept: any of several server processes may answer."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from exemplar.errors import UserError
from exemplar.lab.sessions import UNKNOWN, Lab, Participant, Refused
from exemplar.lab.storage import SESSIONS


def look(lab: Lab, person: Participant, session: str, trial: int, tab: str, places: Any) -> dict[str, Any]:
    """The partner's guess in the round that is being played, and in no other: nobody can try out a coming one, or go on with
    one that is over."""
    guess = getattr(lab.experiment(person.experiment), "guess", None)
    if guess is None:
        raise Refused(404, "Nobody guesses in this experiment.")
    if session.rpartition("-")[0] != f"s-{person.id}":
        raise Refused(404, "There is no such session.")
    plan = lab.plan(session)
    with lab.storage.reading() as connection:
        row = connection.execute(sa.select(SESSIONS.c.n_done, SESSIONS.c.tab).where(SESSIONS.c.id == session)).first()
    if row is None:  # they withdrew a moment ago
        raise Refused(401, UNKNOWN)
    if row.tab != tab:
        raise Refused(409, "This experiment is open in another tab or window.", next=row.n_done, other_tab=True)
    if trial != row.n_done or trial >= len(plan["trials"]):
        raise Refused(409, f"Round {row.n_done} is being played.", next=row.n_done)
    try:
        found: dict[str, Any] = guess(plan, trial, places)
    except UserError as problem:
        raise Refused(422, str(problem)) from problem
    return found
