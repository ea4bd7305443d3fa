"""An experiment of the room on any bank of features: the verb `study`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exemplar.answers import Answer, as_rows, format_table
from exemplar.engine import Backend
from exemplar.errors import unknown
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.running import BankRequest
from exemplar.foresee.studies import DESCRIBED
from exemplar.foresee.studies.by_name import caption_of, compute_study, text_of
from exemplar.foresee.studies.statements import OURS
from exemplar.records import Score, Scores
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, figures_folder, save_plot, write_page
from exemplar.report.tables import Table
from exemplar.runs import check_run, load_scores, open_run

PAGE, TITLE = "index.html", "Which measures foretell how well a few-shot classifier will do?"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudyAnswer(Answer):
    """What a study found, and the page with its figure."""

    scores: Scores
    folder: Path


def run_study(
    name: str, request: BankRequest, tasks: int, *, out: Path | str | None, device: str, seed: int, backend: Backend
) -> StudyAnswer:
    if name not in DESCRIBED:
        raise unknown("study", name, DESCRIBED)
    folder = Path(out).expanduser() if out is not None else Path("runs/foresee") / f"{name}-s{seed}"
    config = {"study": name, "bank": request.config(), "tasks": tasks}
    about: dict[str, Any] = {"command": f"foresee study {name}", "config": config, "seed": seed}
    check_run(folder, **about)
    bank = request.find(device)
    with open_run(folder, **about, data={"features": bank.fingerprint}, backend=backend, keep="jobs.sqlite") as run:
        if not run.finished:
            scores, plot = compute_study(name, run, bank, tasks, seed)
            run.save(Scores.collect(scores))
            save_plot(plot, folder, name)
    found = load_scores(folder)
    page = _write_page(folder, name, found, bank)
    values = {
        "study": name,
        "tasks": tasks,
        "seed": seed,
        "run": str(folder),
        "page": str(page),
        "scores": as_rows(found),
    }
    return StudyAnswer(
        values=values,
        text=f"{lead_of(bank)}\n\n{_told(found)}\n\n{page}",
        scores=Scores.collect(found),
        warnings=bank.warnings,
        folder=folder,
        page=page,
        figures={name: figures_folder(page) / f"{name}.svg"},
    )


def _write_page(folder: Path, name: str, scores: list[Score], bank: FeatureBank) -> Path:
    judged = [score for score in scores if score.name == "holds"]
    rows = [
        (score.agent, "holds" if score.value else "does not hold", score.concept.replace("_", " ")) for score in judged
    ]
    table = [Table(("statement", "here", "judged by"), rows)] if rows else []
    figure = Figure.of_files(folder, caption_of(name), name=name)
    numbers = [score for score in scores if score.name != "holds" and not score.name.startswith("spearman")]
    chapters = [
        Chapter(DESCRIBED[name], (text_of(name),), (figure,), tables=table),
        Chapter("Every number", scores=numbers),
    ]
    lead = lead_of(bank)
    return write_page(
        folder / PAGE,
        TITLE,
        lead,
        chapters,
        verdict=count_statements(judged),
        made=how_made([folder]),
    )


def lead_of(bank: FeatureBank) -> str:
    return f"Features: {bank.source}, {bank.n_classes} classes."


def count_statements(judged: Sequence[Score]) -> str:
    """How many of the paper's statements hold here, and how many of ours."""
    said = []
    for whose, mine in (("of the paper", False), ("of ours", True)):
        some = [bool(score.value) for score in judged if score.agent.startswith(OURS) == mine]
        if some:
            said.append(f"{sum(some)} of {len(some)} statement{'s' * (len(some) > 1)} {whose}")
    return f"{' and '.join(said)} hold here." if said else ""


def _told(scores: list[Score]) -> str:
    judged = [(s.agent, "holds" if s.value else "does not hold", s.concept) for s in scores if s.name == "holds"]
    rest = [s for s in scores if s.name != "holds" and not s.name.startswith("spearman")]
    rows = [
        (s.name, s.label, f"{s.value:+.3f}", "" if s.n == 1 else f"[{s.ci95[0]:+.3f}, {s.ci95[1]:+.3f}]") for s in rest
    ]
    parts = [format_table(("statement", "here", "judged by"), judged)] if judged else []
    return "\n\n".join([*parts, format_table(("score", "of", "value", "95 %"), rows)])
