"""Who takes part in what: registration, the next session, and every answer, kept once, in order.

Nothing here knows about HTTP; the server, and bots without one, call the same methods. All state is in the database.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.lab.counterbalancing import PEOPLE, choose_part
from exemplar.lab.experiments.protocol import Done, Experiment, Rejected
from exemplar.lab.pictures import Pictures
from exemplar.lab.storage import PARTICIPANTS, RESULTS, SESSIONS, TRIALS, Storage

ACTIVE, FINISHED, REJECTED = "active", "finished", "rejected"
UNKNOWN = "The server does not know you (any more): please begin again."
LETTERS = "ACDEFGHJKLMNPQRTUVWXY34679"  # of completion codes: none that look alike


class Refused(Exception):
    """A request that cannot be granted. status: HTTP's; more: what the client needs besides the sentence."""

    def __init__(self, status: int, text: str, **more: Any) -> None:
        super().__init__(text)
        self.status, self.text, self.more = status, text, more


@dataclass(frozen=True)
class Participant:
    """A row of the table. seed: from which every session of theirs is drawn."""

    id: str
    experiment: str
    agent: str
    seed: int
    state: str
    code: str


@dataclass(frozen=True, eq=False)
class Lab:
    """The experiments of one database. bots: whether agents may take part."""

    storage: Storage
    experiments: Mapping[str, Experiment]
    pictures: Pictures
    bots: bool = False

    def experiment(self, name: str) -> Experiment:
        if name not in self.experiments:
            raise Refused(404, f"There is no experiment called {name[:64]!r}.")
        return self.experiments[name]

    # Taking part --------------------------------------------------------------------------------------------------------

    def register(
        self, experiment: str, asked: Mapping[str, str], *, agent: str = PEOPLE, seed: int | None = None
    ) -> tuple[str, str]:
        """(participant, token). agent, seed: of a bot, whose sessions then follow from them alone."""
        wanted = {field["name"] for field in self.experiment(experiment).describe()["ask"]}
        if set(asked) - wanted:
            raise Refused(422, "The page sent something nobody asked for: load it again.")
        token, now = secrets.token_urlsafe(24), time.time()
        if agent == PEOPLE:
            name, seed = f"p-{secrets.token_hex(8)}", secrets.randbits(62)
        elif not self.bots:
            raise Refused(403, "This server takes people only: bots need `exemplar lab serve --bots`.")
        else:
            name = f"bot-{seeds.digest(experiment, agent, seed, size=6)}-{seed}"
        row: dict[str, Any] = {
            "id": name,
            "experiment": experiment,
            "token": _hash(token),
            "agent": agent,
            "seed": seed,
        }
        row |= {
            "state": ACTIVE,
            "code": _new_code(),
            "asked": json.dumps(dict(asked)),
            "started": now,
            "last_seen": now,
        }
        with self.storage.writing() as connection:
            if connection.execute(sa.select(PARTICIPANTS.c.id).where(PARTICIPANTS.c.id == name)).first():
                raise Refused(409, f"{agent} with seed {seed} has taken part already: give another seed.")
            connection.execute(PARTICIPANTS.insert().values(excluded=False, why="", **row))
        return name, token

    def find(self, token: str) -> Participant:
        columns = [PARTICIPANTS.c[name] for name in ("id", "experiment", "agent", "seed", "state", "code")]
        with self.storage.reading() as connection:
            row = connection.execute(sa.select(*columns).where(PARTICIPANTS.c.token == _hash(token))).first()
        if row is None:
            raise Refused(401, UNKNOWN)
        return Participant(*row)

    def claim(self, person: Participant, tab: str) -> dict[str, Any]:
        """The session to do now, for this tab of the browser: the one begun, else a new one, else the end."""
        experiment = self.experiment(person.experiment)
        with self.storage.writing() as connection:
            self.storage.alone(connection, person.experiment)
            here = PARTICIPANTS.update().where(PARTICIPANTS.c.id == person.id).values(last_seen=time.time())
            if not connection.execute(here).rowcount:  # they withdrew a moment ago
                raise Refused(401, UNKNOWN)
            rows = connection.execute(
                sa.select(SESSIONS).where(SESSIONS.c.participant == person.id).order_by(SESSIONS.c.number)
            ).all()
            begun = next((row for row in rows if row.finished is None), None)
            if begun is not None:
                connection.execute(SESSIONS.update().where(SESSIONS.c.id == begun.id).values(tab=tab))
                return self._show(experiment, dict(begun._mapping), self._bonus(connection, person, experiment))
            bot = person.agent != PEOPLE  # whom nobody screens: how badly it does is what one wants to know
            done = [Done(row.kind, row.part, row.n_trials, row.n_trials if bot else row.n_correct) for row in rows]
            coming = experiment.choose_next(done)
            if coming is None or isinstance(coming, Rejected):
                return self._end(connection, person, coming, experiment)
            part = choose_part(connection, person, coming, experiment, len(rows))
            if part is None:
                return self._end(connection, person, None, experiment)
            number = len(rows) + 1
            plan = experiment.make_plan(coming.kind, part, seeds.seed("lab session", person.seed, number))
            row: dict[str, Any] = {
                "id": f"s-{person.id}-{number}",
                "participant": person.id,
                "experiment": person.experiment,
            }
            row |= {"number": number, "kind": coming.kind, "part": part, "plan": json.dumps(plan), "n_done": 0}
            row |= {
                "n_trials": len(plan["trials"]),
                "n_correct": 0,
                "tab": tab,
                "started": time.time(),
                "finished": None,
            }
            connection.execute(SESSIONS.insert().values(**row))
            return self._show(experiment, row, self._bonus(connection, person, experiment))

    def answer(
        self, person: Participant, session: str, trial: int, tab: str, answer: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Keep one trial; said only after it is safe. The same again gives the same."""
        owner, experiment = session.rpartition("-")[0], self.experiment(person.experiment)
        if owner != f"s-{person.id}":
            raise Refused(404, "There is no such session.")
        plan = self.plan(session)
        if not 0 <= trial < len(plan["trials"]):
            raise Refused(422, f"The session has {len(plan['trials'])} trials, from 0; there is no trial {trial}.")
        try:
            correct = experiment.check_answer(plan, trial, answer, bot=person.agent != PEOPLE)
        except UserError as problem:
            raise Refused(422, str(problem)) from problem
        text, now = json.dumps(dict(answer), sort_keys=True), time.time()
        last = trial + 1 == len(plan["trials"])
        ahead = {"n_done": trial + 1, "n_correct": SESSIONS.c.n_correct + int(bool(correct))} | (
            {"finished": now} if last else {}
        )
        with self.storage.writing() as connection:
            mine = (SESSIONS.c.id == session, SESSIONS.c.n_done == trial, SESSIONS.c.tab == tab)
            if connection.execute(SESSIONS.update().where(*mine).values(**ahead)).rowcount:
                kept = {"session": session, "trial": trial, "answer": text, "correct": correct, "received": now}
                connection.execute(TRIALS.insert().values(**kept))
                if trial % 10 == 0 or last:
                    seen = PARTICIPANTS.update().where(PARTICIPANTS.c.id == person.id)
                    connection.execute(seen.values(last_seen=now))
            else:
                self._explain(connection, session, trial, tab, text)
            n_done = connection.execute(sa.select(SESSIONS.c.n_done).where(SESSIONS.c.id == session)).scalar_one()
            bonus = self._bonus(connection, person, experiment)
        return {"accepted": True, "next": n_done, "finished": n_done == len(plan["trials"]), "bonus": bonus}

    def withdraw(self, participant: str) -> None:
        """Everything of one participant goes, others' results too, which may show it: they are made again when asked for."""
        with self.storage.writing() as connection:
            same = sa.select(PARTICIPANTS.c.experiment).where(PARTICIPANTS.c.id == participant).scalar_subquery()
            beside = sa.select(PARTICIPANTS.c.id).where(PARTICIPANTS.c.experiment == same)
            connection.execute(RESULTS.delete().where(RESULTS.c.participant.in_(beside)))
            theirs = sa.select(SESSIONS.c.id).where(SESSIONS.c.participant == participant)
            connection.execute(TRIALS.delete().where(TRIALS.c.session.in_(theirs)))
            connection.execute(SESSIONS.delete().where(SESSIONS.c.participant == participant))
            gone = connection.execute(PARTICIPANTS.delete().where(PARTICIPANTS.c.id == participant)).rowcount
        if not gone:
            raise Refused(404, "There is no such participant.")
        self.storage.wipe()

    def progress_of(self, person: Participant) -> dict[str, Any]:
        done = sa.select(sa.func.count()).where(SESSIONS.c.participant == person.id, SESSIONS.c.finished.is_not(None))
        with self.storage.reading() as connection:
            n_done = connection.execute(done).scalar_one()
            bonus = self._bonus(connection, person, self.experiment(person.experiment))
        about = {"participant": person.id, "experiment": person.experiment, "state": person.state}
        return about | {"sessions_done": n_done, "bonus": bonus}

    def plan(self, session: str) -> dict[str, Any]:
        return _read_plan(self, session)

    # Inside -------------------------------------------------------------------------------------------------------------

    def _bonus(self, connection: sa.Connection, person: Participant, experiment: Experiment) -> float | None:
        """For every right choice of all their sessions; None where the experiment pays none."""
        if experiment.bonus(0) is None:
            return None
        right = sa.select(sa.func.sum(SESSIONS.c.n_correct)).where(SESSIONS.c.participant == person.id)
        return experiment.bonus(int(connection.execute(right).scalar() or 0))

    def _show(self, experiment: Experiment, row: Mapping[str, Any], bonus: float | None) -> dict[str, Any]:
        plan = json.loads(row["plan"])
        shown = experiment.show_plan(plan, lambda name: self.pictures.address(experiment.name, name))
        kept = {key: row[key] for key in ("kind", "number", "n_trials")}
        return {
            "state": "session",
            "session": row["id"],
            **kept,
            "of": self._of(experiment),
            "next": row["n_done"],
            "bonus": bonus,
            "plan": shown,
        }

    def _of(self, experiment: Experiment) -> int | None:
        first = experiment.choose_next([])
        return None if first is None or isinstance(first, Rejected) else first.of

    def _end(
        self, connection: sa.Connection, person: Participant, why: Rejected | None, experiment: Experiment
    ) -> dict[str, Any]:
        state = FINISHED if why is None else REJECTED
        connection.execute(PARTICIPANTS.update().where(PARTICIPANTS.c.id == person.id).values(state=state))
        text = "That was all. Thank you for taking part!" if why is None else why.text
        result = "/api/me/result" if state == FINISHED and experiment.has_result else None
        bonus = self._bonus(connection, person, experiment)
        return {"state": state, "code": person.code, "text": text, "result": result, "bonus": bonus}

    def _explain(self, connection: sa.Connection, session: str, trial: int, tab: str, text: str) -> None:
        """Why the trial was not taken: it is there already (then all is well), another tab has the session, or it comes too
        early."""
        row = connection.execute(sa.select(SESSIONS.c.n_done, SESSIONS.c.tab).where(SESSIONS.c.id == session)).first()
        if row is None:  # they withdrew a moment ago
            raise Refused(401, UNKNOWN)
        kept = connection.execute(
            sa.select(TRIALS.c.answer).where(TRIALS.c.session == session, TRIALS.c.trial == trial)
        ).scalar()
        if kept is not None and json.loads(kept) == json.loads(text):
            return
        if row.tab != tab:
            raise Refused(409, "This experiment is open in another tab or window.", next=row.n_done, other_tab=True)
        if kept is not None:
            raise Refused(409, "This trial has been answered already.", next=row.n_done)
        raise Refused(409, f"Trial {row.n_done} comes next.", next=row.n_done)


@lru_cache(maxsize=20_000)
def _read_plan(lab: Lab, session: str) -> dict[str, Any]:
    """A session's plan never changes, so every process may remember it."""
    with lab.storage.reading() as connection:
        found = connection.execute(sa.select(SESSIONS.c.plan).where(SESSIONS.c.id == session)).scalar()
    if found is None:
        raise Refused(404, "There is no such session.")
    plan: dict[str, Any] = json.loads(found)
    return plan


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _new_code() -> str:
    letters = "".join(secrets.choice(LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"


def find_experiment(experiments: Mapping[str, Experiment], name: str) -> Experiment:
    """For commands: the experiment of this name, or a sentence that says which there are."""
    if name not in experiments:
        raise unknown("experiment", name, list(experiments))
    return experiments[name]
