"""A participant's own drawings in the plane of diversity and recognizability, beside others who drew the same characters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from exemplar import draw
from exemplar.errors import UserError
from exemplar.lab.experiments.drawing import find_task
from exemplar.lab.exporting import read_trials
from exemplar.lab.exports.drawn import make_drawings
from exemplar.lab.sessions import Lab, Participant
from exemplar.records import Drawings

YOU = "you"
BESIDE = ("copies",)  # a drawer with a known answer, for orientation
KEPT = (
    Path(str(resources.files("exemplar"))) / "results" / "drawings"
)  # what agents drew, a folder of `draw sample` each


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
        others += [
            draw.score(kept, out=place / kept.name, **asked)
            for kept in find_kept(f"{experiment.data}/{experiment.split}", concepts, experiment.drawings)
        ]
        page = draw.compare([str(answer.folder) for answer in (own, *others)], html=place / "page.html")
        svg = page.figures["plane"].read_text(encoding="utf-8")
    return {"svg": svg, "text": _sentences(own, others[0], drawers, len(concepts)), "scores": _values(own)}


def find_kept(data: str, concepts: Sequence[str], n: int) -> list[Path]:
    """Records that ship of agents' drawings, n at least of each of these concepts: they need no drawing, so nobody waits."""
    found = []
    for path in sorted(KEPT.glob("*/drawings.parquet")):
        frame = Drawings.load(path.parent).frame
        there = frame[frame["data"] == data]["concept"].astype(str).value_counts()
        if all(there.get(concept, 0) >= n for concept in concepts):
            found.append(path.parent)
    return found


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
