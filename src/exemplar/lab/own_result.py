"""A participant's own drawings in the plane of diversity and recognizability, beside others who drew the same characters."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

from exemplar import draw
from exemplar.errors import UserError
from exemplar.lab.experiments.drawing import find_task
from exemplar.lab.exporting import read_trials
from exemplar.lab.exports.drawn import make_drawings
from exemplar.lab.sessions import Lab, Participant, Refused
from exemplar.lab.storage import RESULTS, DatabaseBusy

YOU = "you"
BESIDE = ("copies",)  # drawers with known answers, for orientation; trained agents join them where their weights ship


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
            result = self._place(person)
            with self.lab.storage.writing() as connection:
                connection.execute(RESULTS.insert().values(participant=person.id, result=json.dumps(result)))
        except DatabaseBusy:  # the next request begins again; another process was first; or they withdrew meanwhile
            pass
        finally:
            self.running.discard(person.id)

    def _place(self, person: Participant) -> dict[str, Any]:
        try:
            with self.one_at_a_time:
                return place_in_plane(self.lab, person)
        except DatabaseBusy:
            raise
        except UserError as problem:
            text = f"Your drawings could not be placed: {problem}"
        except Exception as problem:  # a bug of ours: the participant shall not wait for ever
            print(f"exemplar lab: result of {person.id}: {problem!r}", flush=True)
            text = "Your drawings could not be placed; they are kept all the same."
        return {"svg": "", "text": [text], "scores": {}}


def place_in_plane(lab: Lab, person: Participant) -> dict[str, Any]:
    """svg: the plane; text: what it says, a sentence each; scores: the participant's own."""
    experiment: Any = lab.experiment(person.experiment)
    found = read_trials(lab, person.experiment, participant=person.id, excluded=True)
    trials = [one for one in found if one.answer["strokes"] or "bitmap" in one.answer]
    concepts = sorted({one.planned["concept"] for one in trials})
    if len(concepts) < 2:
        raise UserError("at least two characters are needed")
    asked: dict[str, Any] = {"data": experiment.data, "split": experiment.split, "concepts": concepts}
    asked |= {"n": experiment.drawings}
    with TemporaryDirectory() as name:
        place = Path(name)
        record = make_drawings(experiment, trials)
        record.frame["agent"] = YOU
        record.save(place / "record")
        own = draw.score(place / "record", agent=YOU, out=place / YOU, **asked)
        simulated = find_task(experiment.data, experiment.split).data.simulated
        drawers = "simulated" if simulated else "human"
        others = [draw.score(who, out=place / who, **asked) for who in (drawers, *BESIDE)]
        page = draw.compare([str(answer.folder) for answer in (own, *others)], html=place / "page.html")
        svg = page.figures["plane"].read_text(encoding="utf-8")
    return {"svg": svg, "text": _sentences(own, others[0], drawers, len(concepts)), "scores": _values(own)}


def _values(answer: Any) -> dict[str, Any]:
    wanted = ("diversity", _recognizability(answer), "originality")
    return {name: answer[name] for name in wanted if name in answer}


def _recognizability(answer: Any) -> str:
    names = [name for name in answer if name.startswith("recognizability_") and name.endswith("_way")]
    return "recognizability_20_way" if "recognizability_20_way" in names else names[-1]


def _sentences(own: Any, others: Any, drawers: str, n_concepts: int) -> list[str]:
    name = _recognizability(own)
    mine, theirs = own[name]["value"], others[name]["value"]
    ways = 20 if "20" in name else n_concepts
    who = "other people" if drawers == "human" else "simulated drawers (no people drew these characters)"
    return [
        f"Recognizability: a computer that has seen only the character you were shown named {mine:.0%} of your drawings right, "
        f"among {ways} characters; by chance it would be {1 / ways:.0%}. For {who} it is {theirs:.0%}.",
        f"Diversity: how much your drawings of one character differ. Yours is {own['diversity']['value']:.2f}, that of {who} "
        f"{others['diversity']['value']:.2f}.",
        f"With {n_concepts} characters both are rough: the bars show how far they may be off.",
    ]
