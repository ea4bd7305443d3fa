"""The room's part of `exemplar tour`: few-shot tasks of built-in characters, and how well their accuracy is foretold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from exemplar import engine
from exemplar.files import whole_file
from exemplar.foresee.banks import encode_bank
from exemplar.foresee.evaluating import Recipe, evaluate_tasks
from exemplar.foresee.figures.run_page import FIGURE, plot_run
from exemplar.foresee.scores import score_measures
from exemplar.foresee.tasks import TaskConfig
from exemplar.images.catalogue import load
from exemplar.records import Scores
from exemplar.report.page import Chapter, Figure
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

MEASURES = ("lr_loss", "similarity", "confidence", "davies_bouldin", "egv", "margin", "agreement", "loo_ridge")


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
        with whole_file(folder / FIGURE) as part:
            part.write_text(plot_run(found, scored), encoding="utf-8")
        run.save(Scores.collect(scored.scores))


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    value = {score.name: score.value for score in scores}
    return Chapter(
        "Know how well you will do",
        (
            "A classifier that was shown two drawings of each of five characters: how well will it do on others? There are too "
            "few drawings to keep some for a test. But other numbers are there for the asking: how well it fits what "
            "it was shown, "
            "how far apart the characters lie, how sure it is of drawings without a label.",
            f"Over {TourConfig().n_tasks} such tasks {100 * value['accuracy']:.0f} % of drawings were named right, in "
            "some far fewer. "
            f"The training loss foretells which (correlation {value['pearson_lr_loss']:+.2f}); how sure it is of "
            "unlabelled drawings "
            f"foretells it better (margin: {value['pearson_margin']:+.2f}). Characters are drawn by the package "
            "itself, and seen as 16 × 16 pixels.",
        ),
        (
            Figure(
                "Left: correlation of each measure with accuracy, with 95 % intervals over characters; red ones look "
                "at the unlabelled "
                "drawings that are scored. Right: the best of them, a dot per task.",
                svg=(folder / FIGURE).read_text(encoding="utf-8"),
            ),
        ),
        [score for score in scores if not score.name.startswith("spearman")],
        "exemplar foresee check photos\nexemplar foresee run --space protonet-glyphs-s0 --data glyphs --queries 15\n"
        "exemplar foresee measures",
    )


CHAPTER = TourChapter(make_tour, write_chapter)
