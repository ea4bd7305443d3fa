"""An experiment of the room on any data set: the verb `study`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exemplar import runs
from exemplar.answers import Answer, as_rows, format_scores
from exemplar.draw.critics import explain_choice
from exemplar.draw.figures.studies import SHOW
from exemplar.draw.figures.study_page import write_study
from exemplar.draw.requests import SPLITS
from exemplar.draw.studies import RESULTS, STUDIES
from exemplar.draw.studies.study import OMNIGLOT
from exemplar.draw.tasks import PEOPLE, SIMULATED
from exemplar.errors import unknown
from exemplar.images.catalogue import load
from exemplar.records import Scores
from exemplar.rooms import Numbers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudyAnswer(Answer):
    """What a study found, and the page with its figures. name: of the study."""

    scores: Scores
    folder: Path
    name: str


def run_study(name: str, data: str, split: str | None, out: Path | str | None, seed: int) -> StudyAnswer:
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    study, place = STUDIES[name], None if out is None else Path(out).expanduser()
    about = {"command": f"draw study {name}", "config": {"study": name}, "seed": seed}
    if place is not None:
        runs.check_run(place, **about)  # type: ignore[arg-type]  # before data are fetched
    concepts = load(data, split or SPLITS.get(data)).in_memory()
    folder = place or Path("runs/draw") / f"{name}-{concepts.name.replace('/', '-')}-s{seed}"
    with runs.open_run(folder, **about, data={concepts.name: concepts.fingerprint}) as run:  # type: ignore[arg-type]
        if not run.finished:
            run.save(study.compute(run, seed, concepts))
    drawers = SIMULATED if concepts.simulated else PEOPLE
    text = study.text.format(drawers=drawers)
    page = write_study(folder, study.title, text, SHOW[name], _published(concepts.name), made_by=drawers)
    scores = Scores.load(folder)
    found = list(scores)
    values = {"study": name, "data": concepts.name, "seed": seed, "scores": as_rows(found)}
    values |= {"run": str(folder), "page": str(page)}
    figures = {path.stem: path for path in sorted((folder / "figures").glob("*.svg"))}
    text = f"{format_scores(found)}\n\n{page}"
    warnings = explain_choice(concepts, see=False, recognise=False)[1]
    values |= {"warnings": list(warnings)}
    return StudyAnswer(
        values=values, text=text, scores=scores, warnings=warnings, folder=folder, page=page, figures=figures, name=name
    )


def _published(data: str) -> Numbers:
    """What others found on this data: the papers speak of Omniglot's test characters."""
    if data != "/".join(OMNIGLOT):
        return {}
    return {
        key: number for result in RESULTS.values() for key, number in {**result.released, **result.published}.items()
    }
