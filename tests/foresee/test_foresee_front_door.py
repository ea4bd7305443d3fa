"""The front door: its examples are true, the room describes itself, and its tour chapter is made from its folder."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import exemplar as ex
from exemplar.foresee import single_tasks
from exemplar.foresee.room import ROOM
from exemplar.foresee.tour import make_tour, write_chapter


def test_examples_at_the_door_are_true() -> None:
    for module, n_least in ((ex.foresee, 6), (single_tasks, 3)):
        done = doctest.testmod(module)
        assert done.failed == 0 and done.attempted >= n_least


def test_the_room_describes_itself() -> None:
    kept = {
        f"foresee-{name}"
        for name in (
            "correlations",
            "imbalance",
            "fc100",
            "thresholds",
            "labelling",
            "choice",
            "prediction",
            "explanations",
            "coverage",
        )
    }
    assert set(ROOM.results()) == kept
    assert list(ROOM.agents()) == [row["name"] for row in ex.foresee.list_agents()["agents"]]
    assert {
        "supervised",
        "semi",
        "unsupervised",
        "imbalance",
        "neighbours",
        "thresholds",
        "labelling",
        "prediction",
        "choice",
        "explanations",
    } == set(ROOM.studies())


@pytest.mark.long
def test_the_tour_chapter(tmp_path: Path) -> None:
    make_tour(tmp_path / "tour", 0, None)
    chapter = write_chapter(tmp_path / "tour")
    assert "512 such tasks" in chapter.text[1] and b"<svg" in chapter.figures[0].files["svg"]
