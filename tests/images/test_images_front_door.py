"""`exemplar.images` as a notebook enters it: the values of every command, without the command line; and plain refusals."""

from __future__ import annotations

import doctest
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exemplar as ex
from exemplar.errors import UserError
from exemplar.images.room import ROOM


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Two concepts, three photographs of each."""
    for concept in ("cat", "dog"):
        (tmp_path / "mine" / concept).mkdir(parents=True)
        for k in range(3):
            pixels = np.random.default_rng(k).integers(0, 256, (20, 24, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "mine" / concept / f"{k}.png")
    return tmp_path / "mine"


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (("list",), lambda: ex.images.list_data()),
        (("show", "glyphs"), lambda: ex.images.show("glyphs")),
        (
            ("show", "glyphs", "--split", "weak-test", "--size", "20"),
            lambda: ex.images.show("glyphs", "weak-test", 20),
        ),
        (("show", "mine"), lambda: ex.images.show("mine")),
        (
            ("sheet", "glyphs", "--concepts", "2", "--each", "3", "--out", "a.png", "--seed", "1"),
            lambda: ex.images.sheet("glyphs", concepts=2, each=3, out="a.png", seed=1),
        ),
    ],
    ids=["list", "show", "show a split", "show a folder", "sheet"],
)
def test_a_notebook_gets_every_value_that_the_command_prints(
    exemplar: Any, photographs: Path, words: tuple[str, ...], call: Any
) -> None:
    printed = exemplar("data", *words, "--json").json()
    answer = call()
    assert json.loads(json.dumps(answer.json())) == printed
    assert exemplar("data", *words).out == answer.text + "\n"


def test_what_needs_no_fetching_is_refused_as_by_the_command() -> None:
    with pytest.raises(UserError, match="needs no fetching"):
        ex.images.fetch("glyphs")


def test_a_sheet_is_a_file_that_the_answer_names() -> None:
    answer = ex.images.sheet("glyphs", out="sheet.png", concepts=2, each=2)
    assert answer.figures == {"sheet": Path("sheet.png")}
    with Image.open("sheet.png") as opened:
        assert opened.format == "PNG"
    assert "<img" in answer._repr_html_()


def test_your_own_images_are_loaded_by_their_folder(photographs: Path) -> None:
    own = ex.load("mine")
    assert own.concepts == ("cat", "dog") and own.shape == (20, 24, 3) and len(own) == 6
    made = ex.images.ConceptSet.of("made", own.images, ["a", "b", "a", "b", "a", "b"])
    assert made.n_concepts == 2


def test_glyphs_of_ones_own_making() -> None:
    few = ex.images.load_glyphs("all", ex.images.GlyphsConfig(alphabets=2, characters=4, drawers=4))
    assert len(few) == few.n_concepts * 4
    again = ex.images.redraw(few.concepts[:2], 5, config=ex.images.GlyphsConfig(alphabets=2, characters=4, drawers=4))
    assert again.shape[:2] == (2, 5)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ex.load("omniglott"), "did you mean omniglot?"),
        (lambda: ex.load("glyphs", "weak-tset"), "there is no split of glyphs 'weak-tset': did you mean weak-test"),
        (lambda: ex.images.show("nowhere"), "there is no data set, folder or file 'nowhere'"),
        (lambda: ex.images.show("glyphs", size=0), "size must be at least 1, got 0."),
        (lambda: ex.images.fetch("imagenet"), "there is no data set 'imagenet'"),
        (lambda: ex.images.sheet("glyphs", out="sheet.bmp"), "rename sheet.bmp to end with .png."),
        (lambda: ex.images.sheet("glyphs", concepts=0), "concepts must be at least 1, got 0."),
        (lambda: ex.images.sheet("glyphs", each=0), "each must be at least 1, got 0."),
        (lambda: ex.images.sheet("glyphs", seed=-1), "seed must be at least 0, got -1."),
        (lambda: ex.images.sheet("glyphs", concepts=5000), "needs 5000 concepts of at least 10 images"),
    ],
)
def test_a_mistake_is_one_plain_sentence_and_leaves_nothing(call: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as said:
        call()
    assert sentence in str(said.value) and "\n" not in str(said.value)
    assert not list(tmp_path.iterdir())


def test_the_examples_of_the_front_door_run() -> None:
    import exemplar.images as door

    found = doctest.testmod(door)
    assert found.attempted >= 5 and found.failed == 0


def test_the_front_door_is_light_and_needs_no_command_line() -> None:
    code = (
        "import sys, exemplar as ex, exemplar.images.room\n"
        "ex.images.__all__\n"
        "assert not {'torch', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert ex.images.show('glyphs')['concepts'] == 90\n"
        "assert not [name for name in sys.modules if name.startswith(('exemplar.cli', 'typer', 'torch'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


def test_all_that_is_exported_is_there_and_no_verb_is_named_like_a_module() -> None:
    folder = Path(inspect.getfile(ex.images)).parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    for name in ex.images.__all__:
        assert getattr(ex.images, name) is not None
    assert not modules & set(ex.images.__all__)
    assert set(ex.images.LAZY) | {*ROOM.commands.values(), "load"} == set(ex.images.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ex.images.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_tour_chapter_calls_drawers_what_they_are(tmp_path: Path) -> None:
    from exemplar.engine import Here
    from exemplar.images.tour import CHAPTER

    CHAPTER.make(tmp_path / "images", 0, Here())
    chapter = CHAPTER.chapter(tmp_path / "images")
    assert len(chapter.figures) == 2
    words = " ".join([*chapter.text, *(figure.caption for figure in chapter.figures)])
    assert "simulated" in words
