"""An experiment of the room on any bank of features: the verb `study`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exemplar.answers import Answer, as_rows, format_table
from exemplar.engine import Backend
from exemplar.errors import UserError, unknown
from exemplar.files import whole_file
from exemplar.foresee.banks import FeatureBank
from exemplar.foresee.figures.studies import plot_curves, plot_labelling, plot_prediction, plot_rates
from exemplar.foresee.running import BankRequest
from exemplar.foresee.studies import DESCRIBED
from exemplar.foresee.studies.curves import CURVES, compute_curves, curve_scores
from exemplar.foresee.studies.labelling import budgets, compute_labelling
from exemplar.foresee.studies.prediction import ASKED, compute_predictions
from exemplar.foresee.studies.statements import (
    CURVE_STATEMENTS,
    IMBALANCE_STATEMENTS,
    LABELLING_STATEMENTS,
    THRESHOLD_STATEMENTS,
    judge,
)
from exemplar.foresee.studies.thresholds import compute_thresholds
from exemplar.foresee.tasks import TaskConfig
from exemplar.records import Score, Scores
from exemplar.report.how_made import how_made
from exemplar.report.page import Chapter, Figure, write_page
from exemplar.report.tables import Table
from exemplar.runs import Run, check_run, load_scores, open_run

PAGE, FIGURE = "index.html", "figure.svg"
CAPTIONS = {
    "prediction": "Left: mean absolute error of the predicted accuracy, and of always predicting the mean. Right: how "
    "often accuracy "
    "lies in its 90 % interval. Bars are 95 % intervals over splits.",
    "thresholds": "Open: rates on the classes a threshold was chosen on; red: on other classes; a line per random half of the "
    "classes. A threshold that transfers stays where it was.",
    "labelling": "Above: accuracy after labelling, by policy; below: the gain over random labels, paired by task, with 95 % "
    "intervals. Left as in the paper, which rewards removing hard samples; right on samples that are never labelled.",
}
TEXTS = {
    "prediction": "Random splits of the classes: a predictor is calibrated on some and asked about tasks of the "
    "others. Intervals of the "
    "scores are over splits.",
    "thresholds": "The threshold with a sensitivity of 81 % is chosen on one half of the classes and used on the "
    "other, ten times. A "
    "task is hard if its accuracy (adjusted Rand index where nothing is labelled) is below 80 %.",
    "labelling": "After a first training on one sample per class some unlabelled samples get their labels, chosen by "
    "a policy, and "
    "the classifier is trained again.",
}
CURVES_CAPTION = (
    "Above: correlation of each measure with performance, in the direction it was meant to have; bands are 95 % intervals over "
    "classes, dashed lines are not the paper's. The noise ceiling bounds those that do not see the scored samples. Below: the "
    "performance behind them."
)


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
            scores, svg = compute_study(name, run, bank, tasks, seed)
            run.save(Scores.collect(scores))
            with whole_file(folder / FIGURE) as part:
                part.write_text(svg, encoding="utf-8")
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
        text=f"{_told(found)}\n\n{page}",
        scores=Scores.collect(found),
        warnings=bank.warnings,
        folder=folder,
        page=page,
        figures={name: folder / FIGURE},
    )


def compute_study(name: str, run: Run, bank: FeatureBank, tasks: int, seed: int) -> tuple[list[Score], str]:
    """Scores, judged statements first, and the figure."""
    if name in CURVES:
        curves = compute_curves(CURVES[name], run, bank, tasks, seed)
        kept = [curve for curve in curves if curve.panel.points]
        if not kept:
            raise UserError("The bank has too few classes or samples for every point of this study: give a larger one.")
        scores = curve_scores(kept)
        return [*judge((*CURVE_STATEMENTS, *IMBALANCE_STATEMENTS), scores), *scores], plot_curves(kept)
    if name == "thresholds":
        if bank.n_classes < 10:
            raise UserError(
                f"Two halves of 5 classes or more need 10 classes, the bank has {bank.n_classes}: give more."
            )
        scores, rates = compute_thresholds(run, bank, tasks, seed)
        return [*judge(THRESHOLD_STATEMENTS, scores), *scores], plot_rates(rates)
    if name == "prediction":
        if bank.n_classes < 20:
            raise UserError(
                f"Calibrating on 10 classes and asking about 10 needs 20, the bank has {bank.n_classes}: give more."
            )
        scores = compute_predictions(run, bank, ASKED, seed, n_asked=tasks)
        return scores, plot_prediction(scores)
    scores, found = compute_labelling(run, bank, tasks, seed)
    return [*judge(LABELLING_STATEMENTS, scores), *scores], plot_labelling(found, budgets(TaskConfig(5, 1, 50, "semi")))


def _write_page(folder: Path, name: str, scores: list[Score], bank: FeatureBank) -> Path:
    judged = [score for score in scores if score.name == "holds"]
    rows = [(score.agent, "holds" if score.value else "does not hold", score.concept) for score in judged]
    table = [Table(("statement of the paper", "here", "judged by"), rows)] if rows else []
    figure = Figure(CAPTIONS.get(name, CURVES_CAPTION), svg=(folder / FIGURE).read_text(encoding="utf-8"))
    text = CURVES[name].text if name in CURVES else TEXTS[name]
    numbers = [score for score in scores if score.name != "holds" and not score.name.startswith("spearman")]
    chapters = [Chapter(DESCRIBED[name], (text,), (figure,), tables=table), Chapter("Every number", scores=numbers)]
    n_hold = sum(bool(score.value) for score in judged)
    verdict = f"{n_hold} of {len(judged)} statements of the paper hold here." if judged else ""
    lead = f"Features: {bank.source}, {bank.n_classes} classes."
    return write_page(
        folder / PAGE, "Know how well you will do", lead, chapters, verdict=verdict, made=how_made([folder])
    )


def _told(scores: list[Score]) -> str:
    judged = [(s.agent, "holds" if s.value else "does not hold", s.concept) for s in scores if s.name == "holds"]
    rest = [s for s in scores if s.name != "holds" and not s.name.startswith("spearman")]
    rows = [
        (s.name, s.label, f"{s.value:+.3f}", "" if s.n == 1 else f"[{s.ci95[0]:+.3f}, {s.ci95[1]:+.3f}]") for s in rest
    ]
    parts = [format_table(("statement of the paper", "here", "judged by"), judged)] if judged else []
    return "\n\n".join([*parts, format_table(("score", "of", "value", "95 %"), rows)])
