"""The examples in docstrings of the front doors, of which a room's own tests do not run them, do what they say."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from exemplar import rooms

ELSEWHERE = ("draw", "images", "foresee", "spaces", "learn")  # test_ROOM_front_door.py
HERE = (*(name for name in rooms.ROOMS if name not in ELSEWHERE), "results", "runs")


@pytest.mark.parametrize("name", HERE)
def test_the_examples_of_a_front_door_do_what_they_say(name: str, one_place: None) -> None:
    assert doctest.testmod(import_module(f"exemplar.{name}")).failed == 0


def test_every_verb_says_in_a_sentence_what_it_does() -> None:
    for room in rooms.list_rooms():
        for name in room.commands.values():
            verb = getattr(room.door, name)
            assert verb.summary[0].isupper() and verb.summary.rstrip(")").endswith((".", "?")), f"{room.name}.{name}"
            assert inspect.getdoc(verb) is not None


def test_rooms_whose_examples_are_said_to_run_elsewhere_run_them_there() -> None:
    folder = Path(__file__).parents[1]
    for name in ELSEWHERE:
        assert "doctest" in (folder / name / f"test_{name}_front_door.py").read_text(encoding="utf-8")
