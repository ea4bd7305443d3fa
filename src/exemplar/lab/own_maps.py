"""What a participant painted in ClickMe, beside what others painted on the same drawings, or what a network goes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exemplar import attend
from exemplar.errors import UserError
from exemplar.lab.brush import paint, places_of
from exemplar.lab.counterbalancing import PEOPLE
from exemplar.lab.experiments.clickme import ClickMeExperiment, Game, count_points
from exemplar.lab.exporting import AnsweredTrial, read_trials
from exemplar.lab.sessions import Lab, Participant
from exemplar.report.figures import render

SHOWN = 4  # drawings
MOST_OTHERS = 1000  # rounds that are looked at, of those who had the same set first
MODEL, MODEL_PX = "occlusion", 56


def show_maps(lab: Lab, person: Participant) -> dict[str, Any]:
    """svg: their maps of a few drawings; text: how they did, and what is shown; scores: rounds won, and points."""
    experiment: Any = lab.experiment(person.experiment)
    mine = list(read_trials(lab, person.experiment, participant=person.id, excluded=True))
    won = [one for one in mine if one.correct]
    scores = {"rounds": len(mine), "won": len(won), "points": sum(points_of(experiment, one) for one in won)}
    said = f"Your partner recognized {len(won)} of {len(mine)} drawings, which makes {scores['points']} points."
    if not won:
        return {"svg": "", "text": [said], "scores": scores}
    same = read_trials(lab, person.experiment, agent=PEOPLE, part=won[0].part, most=MOST_OTHERS)
    people = [one for one in same if one.correct and one.participant != person.id]
    drawings, others = choose_drawings(won, people)
    game = experiment.game()
    rows = [game.row_of(name) for name in drawings]
    maps = {"you": np.stack([_painted([one for one in won if one.planned["drawing"] == name]) for name in drawings])}
    text = [said, "Red is what you painted before your partner recognized the drawing; below, "]
    if others:
        maps["others"] = np.stack([_painted([one for one in people if one.planned["drawing"] == d]) for d in drawings])
        text[1] += "what other participants painted: the redder, the more of them."
    else:
        try:
            maps["a network"] = ask_model(game, rows)
            text[1] += "the parts that a neural network misses most when they are covered."
        except UserError:
            text[1] = text[1].partition(";")[0] + "."
    shown = game.task.image[rows].astype(np.float32) / 255
    figure = attend.plot_side_by_side(shown, maps, [game.concept_of(name) for name in drawings])
    return {"svg": render(figure)["svg"].decode(), "text": text, "scores": scores}


def choose_drawings(won: Sequence[AnsweredTrial], people: Sequence[AnsweredTrial]) -> tuple[list[str], bool]:
    """A few of the drawings that were recognized, those first that most others marked, too; and whether others marked all."""
    n_others = Counter(one.planned["drawing"] for one in people)
    names = sorted(dict.fromkeys(one.planned["drawing"] for one in won), key=lambda name: -n_others[name])[:SHOWN]
    return names, all(n_others[name] for name in names)


def ask_model(game: Game, rows: Sequence[int]) -> np.ndarray:
    """(k, h, w): occlusion maps of these drawings, by the network that `exemplar attend maps --agent occlusion` takes."""
    small = game.task.resized(MODEL_PX)
    task = replace(small, image=small.image[list(rows)], label=small.label[list(rows)])
    return attend.mark(attend.make_agent(MODEL, task)[1], task, MODEL).map


def points_of(experiment: ClickMeExperiment, one: AnsweredTrial) -> int:
    return count_points(one.answer["places"][-1][2], experiment.limit_s) if one.correct else 0


def _painted(trials: Sequence[AnsweredTrial]) -> np.ndarray:
    """(h, w): share of these rounds in which each pixel was painted."""
    return np.mean([paint(places_of(one.answer["places"])) for one in trials], axis=0)
