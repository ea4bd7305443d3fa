"""An experiment of the room, with its scores, figures and page: the verb `study`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exemplar.answers import Answer, as_rows, format_scores
from exemplar.attend.studies import STUDIES
from exemplar.attend.studies.study import StudyRequest
from exemplar.engine import Backend
from exemplar.errors import unknown
from exemplar.records import Scores
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, figures_folder, save_plot, write_page
from exemplar.runs import check_run, load_scores, open_run

PAGE = "index.html"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudyAnswer(Answer):
    """What a study found, and the page with its figures."""

    scores: Scores
    folder: Path


def run_study(name: str, request: StudyRequest, *, out: Path | str | None, seed: int, backend: Backend) -> StudyAnswer:
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    study = STUDIES[name]
    folder = Path(out).expanduser() if out is not None else Path("runs/attend") / f"{name}-s{seed}"
    asked = study.prepare(request, seed)
    about: dict[str, Any] = {
        "command": f"attend study {name}",
        "config": {"study": name, **asked.config},
        "seed": seed,
    }
    check_run(folder, **about)
    with open_run(folder, **about, data=asked.data, backend=backend, keep="jobs.sqlite") as run:
        if not run.finished:
            scores = study.compute(run, asked, seed)
            run.save(Scores.collect(scores))
            for title, plot in study.figures(scores).items():
                save_plot(plot, folder, title)
    found = load_scores(folder)
    kept = {title: figures_folder(folder / PAGE) / f"{title}.svg" for title in study.captions}
    shown = {title: path for title, path in kept.items() if path.is_file()}
    figures = [Figure.of_files(folder, study.captions[title], name=title) for title in shown]
    verdict = study.conclude(found)
    chapters = [Chapter("What was done", (study.text,), figures), Chapter("Every number", scores=found)]
    page = write_page(folder / PAGE, study.title, asked.lead, chapters, verdict=verdict, made=how_made([folder]))
    values = {"study": name, "seed": seed, "run": str(folder), "page": str(page), "scores": as_rows(found)}
    return StudyAnswer(
        values=values | {"verdict": verdict},
        text=f"{format_scores(found, digits=3)}\n\n{verdict}\n\n{page}",
        scores=Scores.collect(found),
        warnings=asked.warnings,
        folder=folder,
        page=page,
        figures=shown,
    )


__all__ = ["StudyAnswer", "StudyRequest", "run_study"]
