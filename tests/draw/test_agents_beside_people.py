"""The committed drawings of trained agents: they belong to the task, and are scored as anyone's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exemplar.draw.agents import make_agent
from exemplar.draw.drawings import sample_drawings
from exemplar.draw.studies.agents_beside_people import (
    COMPARED,
    KEPT_DRAWINGS,
    TEST_SETS,
    N,
    check_exemplars,
    draw_plane,
    find_kept_drawings,
    score_kept,
)
from exemplar.draw.studies.known_answers import mean_changes
from exemplar.draw.tasks import DrawingTask, make_task
from exemplar.errors import UserError
from exemplar.images import sources
from exemplar.images.catalogue import load
from exemplar.records import Drawings
from exemplar.runs import read_json


@pytest.fixture(scope="module")
def task() -> DrawingTask:
    glyphs = load("glyphs", "weak-test")
    return replace(make_task(glyphs.only(concepts=glyphs.concepts[:24])), n=4)


@pytest.fixture(scope="module")
def copies(task: DrawingTask) -> Drawings:
    return sample_drawings(make_agent("copies", task), task, agent="copies", seed=0)


def test_who_copies_is_less_diverse_and_less_original_than_the_drawers(task: DrawingTask, copies: Drawings) -> None:
    scored = score_kept(task, {"copies": copies}, seed=0)
    changes = {s.name: s for s in mean_changes(scored[task.drawers], scored["copies"], COMPARED, "copies", 0)}
    assert changes["change_of_diversity"].ci95[1] < 0 and changes["change_of_originality"].ci95[1] < 0
    assert changes["change_of_recognizability_20_way"].value >= 0


def test_drawings_after_other_exemplars_are_refused(task: DrawingTask, copies: Drawings) -> None:
    check_exemplars("copies", copies, task)
    frame = copies.frame.copy()
    frame["exemplar"] = np.roll(frame["exemplar"].to_numpy(), task.n)
    with pytest.raises(UserError, match="copies drew .* after another exemplar"):
        check_exemplars("copies", Drawings(frame, copies.image), task)


def test_too_few_drawings_or_concepts_are_refused(task: DrawingTask, copies: Drawings) -> None:
    with pytest.raises(UserError, match="copies needs 5 drawings of 24 concepts, has 4 of 24"):
        check_exemplars("copies", copies, replace(task, n=5))
    some = (copies.frame["concept"] != task.concepts[0]).to_numpy()
    with pytest.raises(UserError, match="of 24 concepts, has 4 of 23"):
        check_exemplars("copies", Drawings(copies.frame[some].reset_index(drop=True), copies.image[some]), task)


@pytest.mark.parametrize("which", TEST_SETS, ids=TEST_SETS.values())
def test_committed_drawings_are_of_the_very_task(which: tuple[str, str]) -> None:
    if not sources.find(which[0]):
        pytest.skip(f"no {which[0]} on this machine")
    task = replace(make_task(load(*which)), n=N)
    for name, drawings in find_kept_drawings(task.data.name).items():
        check_exemplars(name, drawings, task)
        assert set(np.unique(drawings.image)) <= {0, 255}


def test_committed_drawings_say_by_which_weights_and_how_they_were_made() -> None:
    folders = [path.parent for path in KEPT_DRAWINGS.glob("*/config.json")]
    assert folders
    for folder in folders:
        drawn = read_json(folder / "config.json")["config"]["drawn"]
        assert {"weights", "step", "sampling", "seed", "exemplars", "seconds", "machine"} <= set(drawn)


def test_the_plane_of_committed_scores_is_drawn_with_the_same_bytes_each_time() -> None:
    for label in TEST_SETS.values():
        assert draw_plane(label) == draw_plane(label) != ""
    assert draw_plane("nowhere") == ""
