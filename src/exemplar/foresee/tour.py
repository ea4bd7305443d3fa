"""The room's part of `exemplar tour`: few-shot tasks of built-in characters, and how well their accuracy is foretold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from exemplar import engine
from exemplar.foresee.banks import encode_bank
from exemplar.foresee.evaluating import Recipe, evaluate_tasks
from exemplar.foresee.figures.run_page import FIGURE, plot_run
from exemplar.foresee.scores import score_measures
from exemplar.foresee.tasks import TaskConfig
from exemplar.images.catalogue import load
from exemplar.records import Scores
from exemplar.report.page import Chapter, Figure, save_plot
from exemplar.report.tables import Cell, Table, format_percent, format_score, score_words, wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

MEASURES = ("lr_loss", "similarity", "confidence", "davies_bouldin", "egv", "margin", "agreement", "loo_ridge")
ABOUT = {
    "lr_loss": "training loss of the logistic regression",
    "similarity": "how much closer drawings are within a character than to the nearest other one",
    "confidence": "mean of the largest probability of each unlabelled drawing",
    "davies_bouldin": "how compact and separate the clusters are that are found without labels",
    "egv": "5th smallest eigenvalue of the graph of nearest neighbours; near 0 if there are 5 clusters",
    "margin": "mean difference of the two largest probabilities of each unlabelled drawing",
    "agreement": "how far the classifier and clustering agree on unlabelled drawings",
    "loo_ridge": "accuracy on labelled drawings, each left out in turn (ridge)",
}


@dataclass(frozen=True)
class TourConfig:
    """n_tasks of these classes of drawings, in this space."""

    space: str = "pixels"
    data: tuple[str, str] = ("glyphs", "weak-test")
    n_tasks: int = 512
    task: TaskConfig = field(default_factory=lambda: TaskConfig(5, 2, 15, "supervised"))


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    tour = TourConfig()
    data = load(*tour.data)
    about = {"command": "tour foresee", "config": tour, "seed": seed, "backend": backend}
    with open_run(folder, **about, data={data.name: data.fingerprint}) as run:  # type: ignore[arg-type]
        if run.finished:
            return
        bank = encode_bank(tour.space, data, None)
        with engine.one_thread():
            found = evaluate_tasks(bank, tour.task, tour.n_tasks, Recipe(measures=MEASURES), seed=seed)
        scored = score_measures(found, agent="logistic")
        save_plot(plot_run(found, scored), folder, FIGURE)
        run.save(Scores.collect(scored.scores))


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    found = {score.name: score for score in scores}
    tour = TourConfig()
    pearson = [replace(found[f"pearson_{name}"], name="pearson", agent=name) for name in MEASURES]
    table = wide_table(
        pearson, {"pearson": "correlation"}, "measure", names={name: score_words(name) for name in MEASURES}
    )
    rows = [[row[0], ABOUT[name], row[1]] for row, name in zip(table.rows, MEASURES, strict=True)]
    return Chapter(
        "Know how well you will do",
        (
            "A classifier was shown two drawings of each of five characters. How well will it do on others? There are too few "
            "drawings to set some aside for a test, but other numbers cost nothing.",
            f"Over {tour.n_tasks} such tasks, {format_percent(found['accuracy'])} of the new drawings were named correctly, in "
            f"some tasks far fewer. The training loss foretells which (correlation {format_score(found['pearson_lr_loss'])}); "
            "how sure the classifier is of unlabelled drawings foretells it better (margin: "
            f"{format_score(found['pearson_margin'])}).",
        ),
        (
            Figure.of_files(
                folder,
                "Left: Pearson correlation of each measure with accuracy over tasks, 0 if it says nothing and 1 or −1 "
                "if everything; bars are 95 % intervals over characters, and red "
                "measures use "
                "the unlabelled drawings that are scored. Dotted: the most that any measure that does not use them can reach. "
                "Right: the best measure (across) and accuracy (up), a dot per task.",
                name=FIGURE,
            ),
        ),
        tables=[
            Table(
                ["measure", "what it is", Cell("Pearson correlation", number=True)],
                rows,
            )
        ],
        commands="exemplar foresee check photos",
    )  # fmt: skip


CHAPTER = TourChapter(make_tour, write_chapter)
