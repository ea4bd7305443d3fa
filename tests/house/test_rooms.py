"""A new room is one folder and one word: here a toy room, found by the command line, the tour, the results page and `ex`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import exemplar
from exemplar import rooms

ROOM = """
from exemplar.rooms import KeptResult, Room, TourChapter


def _results():
    from exemplar.toy.studies import RESULTS

    return RESULTS


def _tour():
    from exemplar.toy.studies import CHAPTER

    return CHAPTER


ROOM = Room(
    name="toy",
    title="Count what you saw",
    help="Count what you saw.",
    commands={"count": "count"},
    resumes=("count",),
    results=_results,
    tour=_tour,
)
"""
DOOR = '''
from typing import Annotated
from exemplar.options import Option, Seed, verb

__all__ = ["count"]


@verb
def count(what: Annotated[str, Option("What to count.", positional=True)], twice: Annotated[bool, Option("Twice?")] = False, seed: Seed = 0):
    """Count letters.

    >>> count("abc")["letters"]
    3
    """
    from exemplar.answers import Answer

    n = len(what) * (1 + twice)
    return Answer(values={"letters": n, "seed": seed}, text=f"{n} letters")
'''
STUDIES = """
from exemplar.records import Score, Scores
from exemplar.report.page import Chapter
from exemplar.rooms import KeptResult, Number, TourChapter
from exemplar.runs import load_scores, open_run


def counted(run, seed):
    table = Scores.collect([Score("letters", 3.0, (2.0, 4.0), 5, agent="toy")])
    run.save(table)
    return table


def make(folder, seed, backend):
    with open_run(folder, command="tour toy", config={}, seed=seed, backend=backend) as run:
        if not run.finished:
            counted(run, seed)


def chapter(folder):
    return Chapter("Count what you saw", ("Three letters.",), (), load_scores(folder), "exemplar toy count abc")


RESULTS = {"toy-letters": KeptResult("Letters", "How many.", counted, {("letters", "toy"): Number(3, "nowhere")})}
CHAPTER = TourChapter(make, chapter)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the room, and its word in the list."""
    folder = tmp_path / "house" / "toy"
    folder.mkdir(parents=True)
    for name, text in {"room": ROOM, "__init__": DOOR, "studies": STUDIES}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(exemplar, "__path__", [*exemplar.__path__, str(folder.parent)])
    monkeypatch.setattr(rooms, "ROOMS", ("images", "toy"))
    yield folder
    for name in [name for name in sys.modules if name.startswith("exemplar.toy")]:
        del sys.modules[name]
    if hasattr(exemplar, "toy"):
        del exemplar.toy


def test_the_command_line_finds_it(toy: Path) -> None:
    from exemplar.cli import make_app

    assert "toy" in CliRunner().invoke(make_app(), ["--help"]).stdout
    said = CliRunner().invoke(make_app("toy"), ["toy", "count", "abcd", "--twice", "--json"])
    assert json.loads(said.stdout) == {"letters": 8, "seed": 0}
    assert "What to count." in CliRunner().invoke(make_app("toy"), ["toy", "count", "--help"]).stdout


def test_python_finds_it(toy: Path) -> None:
    assert "toy" in dir(exemplar)
    assert exemplar.toy.count("abc").text == "3 letters"
    assert rooms.load_room("toy").door.count("abc")["letters"] == 3


def test_the_tour_finds_it(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "ROOMS", ("toy",))
    answer = exemplar.tour(tmp_path / "tour", engine="here")
    assert answer["rooms"] == ["toy"] and answer.page is not None
    assert "Count what you saw" in answer.page.read_text(encoding="utf-8")


def test_the_results_page_finds_it(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from exemplar.results import kept

    monkeypatch.setattr(rooms, "ROOMS", ("toy",))
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    assert exemplar.results.list_results()["results"][0]["name"] == "toy-letters"
    assert exemplar.results.run("toy-letters", tmp_path / "run", commit=True)["scores"][0]["value"] == 3
    page = exemplar.results.page(tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert page.ok and "| toy | 3.000 [2.000, 4.000] | 3 (nowhere) | 5 |" in text
    assert page["older"] == [] and "older" not in page.text
    with pytest.MonkeyPatch.context() as edited:
        edited.setattr("exemplar.results.computing.hash_modules", lambda module: "edited since")
        again = exemplar.results.page(tmp_path / "results.md")
    assert again.ok and again["older"] == ["toy-letters"]
    assert "tells whether they still come out the same): toy-letters." in again.text
    about = json.loads((tmp_path / "toy-letters.json").read_text())["provenance"]
    assert {"commit", "modules", "data", "machine", "libraries"} <= set(about)


def test_a_name_in_two_rooms_is_noticed(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "ROOMS", ("toy", "toy"))
    with pytest.raises(AssertionError, match="two rooms have results called toy-letters"):
        rooms.collect("results")
