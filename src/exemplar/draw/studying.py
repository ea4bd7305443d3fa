"""An experiment of the room on any data set: the verb `study`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from exemplar import runs, seeds
from exemplar.answers import Answer, as_rows, format_scores
from exemplar.draw.agents.trained import find_seen
from exemplar.draw.critics import explain_choice
from exemplar.draw.diffusion.loading import load_agent
from exemplar.draw.figures.agent_studies import CONCLUDE_AGENT, SHOW_AGENT
from exemplar.draw.figures.studies import SHOW
from exemplar.draw.figures.study_page import write_study
from exemplar.draw.requests import SPLITS, Request, name_drawer
from exemplar.draw.studies import AGENT_STUDIES, RESULTS, STUDIES
from exemplar.draw.studies.agent_study import AgentQuestion
from exemplar.draw.studies.diffusion_grid import list_agents
from exemplar.draw.studies.study import OMNIGLOT
from exemplar.draw.tasks import PEOPLE, SIMULATED
from exemplar.engine import Backend
from exemplar.errors import UserError, unknown
from exemplar.images.catalogue import load
from exemplar.images.concepts import ConceptSet
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
        raise unknown("study", name, (*STUDIES, *AGENT_STUDIES))
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
    return _answer(name, concepts, folder, page, seed, ())


def run_agent_study(
    name: str, agent: str | None, request: Request, out: Path | str | None, backend: Backend | None
) -> StudyAnswer:
    """A study of a trained agent: FOLDER/NAME, or a folder of several, with settings of drawing after an @."""
    study, seed = AGENT_STUDIES[name], request.seed
    if agent is None:
        raise UserError(f"The study {name} is of a trained agent: give --agent, such as FOLDER/NAME.")
    called = name_drawer(agent) if name != "diffusion-grid" else Path(agent.partition("@")[0]).name
    identities = {word: load_agent(which).identity["weights"] for word, which in _studied(name, agent).items()}
    concepts = request.concepts
    place = None if out is None else Path(out).expanduser()
    folder = place or Path("runs/draw") / re.sub(r"[^\w.@-]+", "-", f"{name}-{called}-{concepts.name}-s{seed}")
    task = request.task
    asked = {
        "study": name,
        "agent": called,
        "weights": seeds.digest(identities),
        "n": task.n,
        "concepts": len(task.concepts),
    }
    asked |= {"exemplar": task.chosen_by, "settings": agent.partition("@")[2]}
    about = {"command": f"draw study {name}", "config": asked, "seed": seed, "backend": backend}
    with runs.open_run(folder, **about, data={concepts.name: concepts.fingerprint}) as run:  # type: ignore[arg-type]
        if not run.finished:
            run.save(study.compute(run, seed, AgentQuestion(agent, task, request.critics, request.people)))
    drawers = SIMULATED if concepts.simulated else PEOPLE
    page = write_study(
        folder, study.title, study.text, SHOW_AGENT[name], made_by=drawers, conclude=CONCLUDE_AGENT[name]
    )
    seen = [sentence for which in _studied(name, agent).values() for sentence in find_seen(load_agent(which), task)]
    return _answer(name, concepts, folder, page, seed, tuple(dict.fromkeys(seen)))


def _studied(name: str, agent: str) -> dict[str, str]:
    return list_agents(agent) if name == "diffusion-grid" else {agent: agent}


def _answer(name: str, concepts: ConceptSet, folder: Path, page: Path, seed: int, said: tuple[str, ...]) -> StudyAnswer:
    scores = Scores.load(folder)
    found = list(scores)
    values = {"study": name, "data": concepts.name, "seed": seed, "scores": as_rows(found)}
    values |= {"run": str(folder), "page": str(page)}
    figures = {path.stem: path for path in sorted((folder / "figures").glob("*.svg"))}
    text = f"{format_scores(found)}\n\n{page}"
    warnings = (*said, *explain_choice(concepts, see=False, recognise=False)[1])
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
