"""The room's part of `exemplar tour`: objects; a few stages and rules at Experiment 1; participants, all of them simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exemplar import engine, seeds
from exemplar.files import read_npz, write_npz
from exemplar.images.objects import load_objects
from exemplar.learn.figures.curves import plot_curves
from exemplar.learn.figures.objects import objects_sheet
from exemplar.learn.measures.curves import repeat
from exemplar.learn.measures.reading import behaviour_in
from exemplar.learn.scores import learning_curve, score_accuracy, score_mse
from exemplar.learn.studies.encoders import LEARNING, PIXELS, WARM_UP, load_subtasks, unpack, views_shown
from exemplar.learn.studies.findings import score_variances
from exemplar.learn.studies.models import Learned, StudyConfig, learn_all
from exemplar.learn.studies.populations import SIMULATED, Population, as_behaviour
from exemplar.learn.studies.targets import participants_as_trials
from exemplar.records import Drawings, Score, Scores, Trials
from exemplar.report.page import Chapter, Figure, Headline
from exemplar.report.tables import format_percent, wide_table
from exemplar.rooms import TourChapter
from exemplar.runs import Run, load_scores, open_run

LITE0 = "efficientnet-lite0"
NAMES = {
    PIXELS: "pixels",
    f"{LITE0}/block04": "an early stage (block 4)",
    f"{LITE0}/block11": "a middle stage (block 11)",
    f"{LITE0}/block14": "a late stage (block 14)",
    f"{LITE0}/head": "the last features (head)",
    SIMULATED: SIMULATED,
}


@dataclass(frozen=True)
class TourConfig:
    """study: a small one, Experiment 1 alone; rule: whose curves are shown; n_shown: objects, and n_views of each."""

    study: StudyConfig = field(
        default_factory=lambda: StudyConfig(
            encoders=(PIXELS, *(f"{LITE0}/{layer}" for layer in ("block04", "block11", "block14", "head"))),
            rules=("perceptron", "square", "reinforce"),
            n_subtasks=6,
            n_trials=40,
            n_sessions=200,
            truth=Population(f"{LITE0}/head", "square", lapse=0.1, n_sessions=30),
            n_participants=(30,),
            n_warm_up=64,
            n_block=1,
        )
    )
    rule: str = "square"
    n_shown: int = 2
    n_views: int = 9


def make_tour(folder: Path, seed: int, backend: engine.Backend | None) -> None:
    """Fill the folder; a tour that was stopped resumes."""
    tour = TourConfig()
    data = {LEARNING: load_subtasks(*tour.study.experiments[0]).fingerprint}
    data[WARM_UP] = load_objects(WARM_UP).fingerprint
    with open_run(folder, command="tour learn", config=tour, seed=seed, data=data, backend=backend) as run:
        if run.finished:
            return
        learned = learn_all(run, tour.study, seed, one_shot=False)
        run.save(views_shown(LEARNING, tour.n_shown, tour.n_views), f"drawings-{LEARNING}")
        run.save(participants_as_trials(tour.study, learned, seed))
        run.save(Scores.collect(_score(run, tour, learned, seed)))


def _score(run: Run, tour: TourConfig, learned: Learned, seed: int) -> list[Score]:
    """Scores of every encoder with the rule that is shown, and of the participants; writes `curves.npz`."""
    config, rule = tour.study, tour.study.rules.index(tour.rule)
    participants = behaviour_in(Trials.load(run.folder))  # simulated, read as people's would be
    them = repeat(participants, rng=seeds.rng("tour", seed, "simulated participants"))
    shown, scores, table = {}, [], np.empty((len(config.encoders), len(config.rules)))
    for place, encoder in enumerate(config.encoders):
        right = unpack(learned.models[LEARNING][encoder], config.n_sessions, config.n_trials)
        table[place] = right.mean(axis=(1, 2, 3))
        model = repeat(as_behaviour(right[rule], participants.subtasks), rng=seeds.rng("tour", seed, encoder))
        shown[encoder] = learning_curve(model)
        scores.append(score_accuracy(model, agent=encoder)["accuracy"])
        scores.append(score_mse(model, them, agent=encoder)["root_mse_n"])
    shown[SIMULATED] = learning_curve(them)
    scores.append(score_accuracy(them, agent=SIMULATED)["accuracy"])
    scores += score_variances({"accuracy": table}, rng=seeds.rng("tour", seed, "variance"))[:2]
    write_npz(run.folder / "curves.npz", {k: np.stack([c.value, c.lo, c.hi]) for k, c in shown.items()})
    return scores


def write_chapter(folder: Path) -> Chapter:
    scores = load_scores(folder)
    curves = read_npz(folder / "curves.npz", **{name: ("f", 2) for name in NAMES})
    of = {(score.name, score.agent): score for score in scores}
    share = {score.name: format_percent(score) for score in scores if score.name.startswith("variance")}
    last = f"{LITE0}/head"
    return Chapter(
        "Learn from right and wrong",
        (
            "Two objects nobody has seen before, two keys, and only right or wrong as a teacher: this is how Lee and DiCarlo "
            "(2023) had people learn. Every trial shows a new view, so what is learned must be the object, not the picture.",
            "The learners are as simple as can be: a fixed encoder, here a stage of a network trained on photographs, and one "
            "layer of weights that a plasticity rule changes after each trial. The encoder explains "
            f"{share['variance_of_encoder']} of the variance in accuracy between learners, the rule "
            f"{share['variance_of_rule']}. No person took part: the participants are simulated. They learn from the last "
            "features by the square rule and guess on one trial in ten, so it is known which learner they resemble.",
        ),
        (
            Figure.of_png(
                objects_sheet(Drawings.load(folder, f"drawings-{LEARNING}"), ["an object", "another"]),
                "Two invented objects, a row each; nine views that differ in pose, size, position and background.",
                name="objects",
            ),
            Figure.of_plot(
                plot_curves(curves, NAMES),
                "Share of right answers (up) on each trial (across), with the square rule; dotted: guessing. Bands are 95 % "
                "intervals over sessions. The later the stage, the faster it learns.",
                name="learning",
            ),
        ),
        tables=[
            wide_table(
                scores,
                {"accuracy": "accuracy", "root_mse_n": "√MSE_n"},
                "encoder",
                names=NAMES,
                terms={
                    "accuracy": "share of right answers over all trials. Guessing is 0.5.",
                    "√MSE_n": "root mean squared distance from the participants' learning curves, less what finite sampling of "
                    "the model adds; in units of accuracy. Lower is nearer to them.",
                },
                small="95 % intervals: of accuracy over sessions, of √MSE_n over sessions of the participants.",
            )
        ],
        commands="exemplar learn run --stage efficientnet-lite0/head --subtasks 6",
        headline=Headline(
            of["accuracy", last],
            "right answers while two new objects are learned from a network's last features; from pixels "
            f"{100 * of['accuracy', PIXELS].value:.0f} %, guessing 50 %",
        ),
    )


CHAPTER = TourChapter(make_tour, write_chapter)
