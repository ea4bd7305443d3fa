"""The room's part of `exemplar tour`: bots take part as people would, and leave the records that people leave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from exemplar import engine
from exemplar.files import whole_file
from exemplar.lab.bots import InProcess, take_part
from exemplar.lab.exporting import read_trials
from exemplar.lab.exports.learned import make_trials
from exemplar.lab.exports.told_apart import make_choices
from exemplar.lab.players import make_player
from exemplar.lab.server import LabSettings, open_lab
from exemplar.lab.telling_apart import score_choices, share_of_right
from exemplar.records import Score, Scores, Trials
from exemplar.report.page import Chapter, Figure
from exemplar.report.sheets import sheet_png
from exemplar.report.tables import format_percent, wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import load_scores, open_run

SHEET = "seen.png"


@dataclass(frozen=True)
class TourConfig:
    """n_bots learn, and judge, by these agents."""

    n_bots: int = 4
    learner: str = "prototype"
    judge: str = "guesser"
    n_shown: int = 3


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    tour = TourConfig()
    with (
        open_run(folder, command="tour lab", config=tour, seed=seed, backend=backend) as run,
        TemporaryDirectory() as place,
    ):
        if run.finished:
            return
        settings = (
            {"type": "learning", "name": "objects", "subtasks": 2, "sessions": 1, "trials": 40, "warmups": 0,
             "prescreening": False},
            {"type": "turing", "name": "turing"},
        )  # fmt: skip
        lab = open_lab(LabSettings(str(Path(place) / "lab.sqlite"), place, settings, bots=True))
        for name, agent in (("objects", tour.learner), ("turing", tour.judge)):
            player = make_player(lab.experiments[name], agent, "pixels")
            for number in range(tour.n_bots):
                take_part(InProcess(lab), player, name, agent, seed + number)
        trials = make_trials(list(read_trials(lab, "objects")))
        judged = make_choices(list(read_trials(lab, "turing")))
        experiment = lab.experiments["objects"]
        names = experiment.list_images()
        elephants = [f"elephant-view{k:03d}.png" for k in range(tour.n_shown)]
        shown = [*elephants, *names[: tour.n_shown], *names[100 : 100 + tour.n_shown]]
        images = np.stack([experiment.draw_image(name) for name in shown])
        with whole_file(folder / SHEET) as part:
            part.write_bytes(sheet_png(images[None], cell=92, drawn=False))
        lab.storage.close()
        run.save(Scores.collect([*_accuracy(trials, tour), *score_choices(judged)]))


def _accuracy(trials: Trials, tour: TourConfig) -> list[Score]:
    by = trials.frame.groupby(trials["participant"].astype(str))["correct"].agg(["sum", "size"])
    right, n = by["sum"].to_numpy(float), by["size"].to_numpy(float)
    return [Score.of("accuracy", share_of_right(right, n), agent=tour.learner)]


def write_chapter(folder: Path) -> Chapter:
    scores = list(load_scores(folder))
    tour = TourConfig()
    accuracy = next(score for score in scores if score.name == "accuracy" and score.agent == tour.learner)
    return Chapter(
        "People do the tasks",
        (
            "The same tasks run in a browser: learn new objects from right and wrong, draw a character again, say which of two "
            "drawings a person made, uncover what matters in a drawing. One command serves them, and people leave the same "
            "tables that models do.",
            f"Nobody was here for this tour, so bots took part as browsers do. {tour.n_bots} bots that keep the mean of the "
            f"pixels they saw answered {format_percent(accuracy)} of 40 trials correctly; {tour.n_bots} bots that only guess "
            "judged drawings. Guessing is 50 % in both, and intervals over so few participants are wide.",
        ),
        (
            Figure.of_png(
                (folder / SHEET).read_bytes(),
                "What participants see for a fifth of a second: three views of an elephant, which show whether "
                "anybody is paying "
                "attention, and three of each of two new objects.",
                name="stimuli",
            ),
        ),
        tables=[
            wide_table(
                scores,
                {"told_apart": "told apart", "d_prime": "d′"},
                "drawings by",
                names={score.agent: score.agent for score in scores if score.name == "told_apart"},
                terms={
                    "told apart": "share of choices in which the person's drawing was picked out. Guessing is 0.5.",
                    "d′": "the same in standard deviations of the difference between the two. 0 is guessing.",
                },
                small="95 % intervals over participants.",
            )
        ],
        commands="exemplar lab serve\nexemplar lab export objects --out people",
    )


CHAPTER = TourChapter(make_tour, write_chapter)
