"""The figure of the house is what its source says."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def graph(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import import_graph

    yield import_graph
    sys.modules.pop("import_graph", None)


@pytest.fixture
def toy(tmp_path) -> Path:
    """A house of four parts, with every way to import."""
    sources = {
        "__init__.py": "import importlib\ndef __getattr__(name):\n    return importlib.import_module(f'exemplar.{name}')\n",
        "errors.py": "from exemplar import __version__\n",
        "stats/__init__.py": "from exemplar.errors import UserError\n",
        "images/__init__.py": '"""What is seen: drawings."""\nfrom ..errors import UserError\n',
        "images/glyphs.py": "import exemplar.stats\nfrom exemplar import errors\n",
        "draw/__init__.py": '"""Draw another one."""\n',
        "draw/scores.py": (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from exemplar.cli import main\nelse:\n    import exemplar.errors\n"
            "def score():\n    from exemplar.images.glyphs import load\n"
        ),
        "cli/__init__.py": "from exemplar import load\n",
    }
    for name, text in sources.items():
        path = tmp_path / "exemplar" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "exemplar"


def test_imports_are_found_wherever_they_stand(graph, toy, monkeypatch):
    monkeypatch.setattr(graph, "PACKAGE", toy)
    house = graph.read_house(toy)
    assert house.edges == {
        ("cli", "front door"): 1,
        ("draw", "foundation"): 1,  # not for type checkers alone
        ("draw", "images"): 1,  # inside a function
        ("images", "foundation"): 2,  # a relative one, and two ways in one file
    }
    assert [part.name for part in house.parts] == ["cli", "front door", "draw", "images", "foundation"]
    assert house.parts[3].about == "What is seen" and house.parts[3].n_files == 2
    assert house.by_name == ("exemplar",)


def test_what_is_imported_lies_below_who_imports_it(graph):
    house = graph.read_house()
    floor = {part.name: k for k, part in enumerate(house.parts)}
    assert {"cli", "draw", "learn", "spaces", "images", "report", "foundation"} <= floor.keys()
    assert floor["draw"] < floor["spaces"] < floor["images"] < floor["report"] < floor["foundation"]


def test_the_figure_names_every_part_and_is_the_same_bytes_again(graph):
    house = graph.read_house()
    svg = graph.draw_house(house)
    assert svg == graph.draw_house(graph.read_house())
    root = ElementTree.fromstring(svg)
    said = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {part.name for part in house.parts} <= set(said)
    assert sorted(map(str, house.edges.values())) == sorted(text for text in said if text and text.isdigit())


def test_the_committed_figure_shows_the_parts_there_are(graph):
    root = ElementTree.parse(ROOT / "docs" / "house.svg")
    said = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {part.name for part in graph.read_house().parts} <= said, "run make house"
