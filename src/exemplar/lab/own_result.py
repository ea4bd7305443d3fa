"""What participants are shown at the end: made once for each, in the background, by the kind of experiment."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from exemplar.errors import UserError
from exemplar.lab.sessions import Lab, Participant, Refused
from exemplar.lab.storage import RESULTS, DatabaseBusy

Maker = Callable[[Lab, Participant], dict[str, Any]]


class OwnResults:
    """Computes each participant's result once, in the background, and keeps it in the database, which all processes share."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.one_at_a_time = threading.Lock()
        self.running: set[str] = set()

    def get(self, person: Participant) -> dict[str, Any] | None:
        """None while it is being computed."""
        if not self.lab.experiment(person.experiment).has_result or person.state != "finished":
            raise Refused(404, "There is no result for this experiment, or not yet.")
        with self.lab.storage.reading() as connection:
            kept = connection.execute(sa.select(RESULTS.c.result).where(RESULTS.c.participant == person.id)).scalar()
        if kept is not None:
            found: dict[str, Any] = json.loads(kept)
            return found
        if person.id not in self.running:
            self.running.add(person.id)
            threading.Thread(target=self._compute, args=(person,), daemon=True).start()
        return None

    def _compute(self, person: Participant) -> None:
        try:
            result = self._make(person)
            with self.lab.storage.writing() as connection:
                connection.execute(RESULTS.insert().values(participant=person.id, result=json.dumps(result)))
        except DatabaseBusy:  # the next request begins again; another process was first; or they withdrew meanwhile
            pass
        finally:
            self.running.discard(person.id)

    def _make(self, person: Participant) -> dict[str, Any]:
        try:
            with self.one_at_a_time:
                return find_maker(self.lab.experiment(person.experiment).type)(self.lab, person)
        except DatabaseBusy:
            raise
        except UserError as problem:
            text = f"Your result could not be made: {problem}"
        except Exception as problem:  # a bug of ours: the participant shall not wait for ever
            print(f"exemplar lab: result of {person.id}: {problem!r}", flush=True)
            text = "Your result could not be made; what you did is kept all the same."
        return {"svg": "", "text": [text], "scores": {}}


def find_maker(kind: str) -> Maker:
    """Imported when the first participant has finished."""
    if kind == "clickme":
        from exemplar.lab.own_maps import show_maps

        return show_maps
    from exemplar.lab.own_plane import place_in_plane

    return place_in_plane
