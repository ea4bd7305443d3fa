"""`exemplar.spaces` as a notebook enters it: the values of every command, without the command line; and plain refusals."""

from __future__ import annotations

import doctest
import inspect
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exemplar as ex
from exemplar.errors import UserError
from exemplar.options import list_arguments
from exemplar.spaces.room import ROOM
from exemplar.spaces.zoo import load_card

CRITIC = "protonet-glyphs-s0"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (("list",), lambda: ex.spaces.list_spaces()),
        (("card", CRITIC), lambda: ex.spaces.card(CRITIC)),
        (("encode", "pixels", "--data", "glyphs"), lambda: ex.spaces.encode("pixels", "glyphs")),
        (
            ("encode", CRITIC, "--data", "glyphs", "--layer", "last", "--out", "a.npz", "--device", "cpu"),
            lambda: ex.spaces.encode(CRITIC, data="glyphs", layer="last", out="a.npz", device="cpu"),
        ),
    ],
    ids=["list", "card", "encode pixels", "encode"],
)
def test_a_notebook_gets_every_value_that_the_command_prints(exemplar: Any, words: tuple[str, ...], call: Any) -> None:
    printed = exemplar("spaces", *words, "--json").json()
    answer = call()
    assert json.loads(json.dumps(answer.json())) == printed
    assert exemplar("spaces", *words).out == answer.text + "\n"


def test_a_notebook_trains_as_the_command_does(exemplar: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small = ex.load("glyphs").subset(range(400)).resized(50, binarise=0.5)
    data = ex.spaces.TrainingImages.of(small.images, small.concept.code, small.concepts)
    data = replace(data, held_out=data)
    monkeypatch.setattr("exemplar.spaces.recipes.make_images", lambda recipe, device: data)
    words = ("spaces", "train", "simclr-glyphs-s9", "--steps", "1", "--device", "cpu", "--out", "one", "--json")
    printed = exemplar(*words).json()
    answer = ex.spaces.train("simclr-glyphs-s9", out="two", steps=1, device="cpu")
    of_this_run = ("folder", "seconds")
    assert {k: v for k, v in answer.json().items() if k not in of_this_run} == {
        k: v for k, v in printed.items() if k not in of_this_run
    }
    assert answer.json().keys() == printed.keys() and answer["folder"] == "two" and answer["step"] == 1
    assert answer.folder == Path("two") and answer.figures["learning curves"].is_file()
    space = ex.spaces.load("two/simclr-glyphs-s9")
    assert space.encode(ex.load("glyphs").subset(range(2)), device="cpu").shape == (2, 256)


def test_the_front_door_needs_no_command_line() -> None:
    code = (
        "import sys, exemplar as ex\n"
        "assert ex.spaces.list_spaces()['spaces'] and ex.spaces.card('protonet-glyphs-s0')['seed'] == 0\n"
        "assert ex.spaces.encode('pixels', ex.load('glyphs').subset(range(2)), out=None).features.shape == (2, 768)\n"
        "assert not [name for name in sys.modules if name.startswith(('exemplar.cli', 'typer'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


def test_opening_the_front_door_loads_nothing_heavy() -> None:
    code = (
        "import sys, exemplar.spaces, exemplar.spaces.room, exemplar.spaces.networks\n"
        "assert not {'torch', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


def test_features_come_with_the_answer_and_in_the_file() -> None:
    data = ex.load("glyphs").subset(range(0, 60, 2))
    answer = ex.spaces.encode(CRITIC, data, out="features.npz", device="cpu")
    assert answer["data"] == data.name and answer.features.shape == (30, 256)
    with np.load("features.npz") as file:
        np.testing.assert_array_equal(file["features"], answer.features)
        assert file["concept"].tolist() == [data.concept[row] for row in range(30)]
    np.testing.assert_array_equal(ex.spaces.load(CRITIC).encode(data, device="cpu"), answer.features)
    nothing = ex.spaces.encode(CRITIC, data, out=None, device="cpu")
    assert nothing["file"] is None and sorted(p.name for p in Path.cwd().iterdir()) == ["cache", "features.npz"]


def test_a_card_has_every_field_and_a_figure() -> None:
    answer, card = ex.spaces.card(CRITIC, figure="curves.svg"), load_card(CRITIC)
    assert answer["scores"] == card.scores and answer["concepts"] == card.concepts and "room" not in answer.values
    assert answer.figures == {"learning curves": Path("curves.svg")} and "<svg" in Path("curves.svg").read_text()


@pytest.mark.parametrize("name", ["pixels", CRITIC, f"./{CRITIC}", "efficientnet-lite0/head"])
def test_every_kind_of_name_is_loaded(name: str, tmp_path: Path) -> None:
    if name.startswith("./"):
        import shutil

        from exemplar.spaces.weight_files import PACKED
        from exemplar.spaces.zoo import shipped

        for part in (f"{CRITIC}.json", f"{CRITIC}{PACKED}"):
            shutil.copy(shipped() / part, tmp_path)
        shutil.copytree(shipped() / "concepts", tmp_path / "concepts")
    space = ex.spaces.load(name)
    assert space.name == name and space.identity
    features = space.encode(np.zeros((2, 30, 30), np.uint8), device="cpu")
    assert len(features) == 2 and features.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ex.spaces.list_spaces("nowhere"), "there is no folder nowhere"),
        (lambda: ex.spaces.list_spaces(""), "The folder name is empty: give one, or omit it to use the default."),
        (lambda: ex.spaces.card("protonet-glyph-s0"), "there is no space 'protonet-glyph-s0': did you mean"),
        (lambda: ex.spaces.card(CRITIC, figure="curves.png"), "is an .svg file: rename curves.png to end with .svg."),
        (lambda: ex.spaces.train("simclr-glyph"), "there is no recipe 'simclr-glyph': did you mean simclr-glyphs"),
        (lambda: ex.spaces.train("simclr-glyphs", steps=0), "steps must be at least 1, got 0."),
        (lambda: ex.spaces.train("simclr-glyphs", every=0), "every must be at least 1, got 0."),
        (lambda: ex.spaces.train("simclr-glyphs", devices=0), "devices must be at least 1, got 0."),
        (lambda: ex.spaces.train("simclr-glyphs", device="gpu"), "there is no device 'gpu'"),
        (lambda: ex.spaces.encode(CRITIC, "nowhere"), "there is no data set, folder or file 'nowhere'"),
        (lambda: ex.spaces.encode(CRITIC, "glyphs", split="weak"), "there is no split of glyphs 'weak'"),
        (lambda: ex.spaces.encode(CRITIC, "glyphs", layer="featur"), "did you mean feature"),
        (lambda: ex.spaces.encode(CRITIC, "glyphs", out="f.csv"), "is an .npz file: rename f.csv to end with .npz."),
        (lambda: ex.spaces.encode(CRITIC, ex.load("glyphs"), split="all"), "is loaded already: leave split out"),
        (lambda: ex.spaces.load("pixels", layer="last"), "the pixels have no layers"),
        (lambda: ex.spaces.load("pixels", projection="none"), "the pixels are never projected"),
        (lambda: ex.spaces.load(CRITIC, projection="none"), "is never projected"),
        (lambda: ex.spaces.load("efficientnet-lite0/head", layer="head"), "names its layer already"),
        (lambda: ex.spaces.load("efficientnet-lite0/head", projection="spars"), "did you mean sparse"),
    ],
)
def test_a_mistake_is_one_plain_sentence_and_leaves_nothing(call: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as said:
        call()
    assert sentence in str(said.value) and "\n" not in str(said.value)
    assert not [path for path in tmp_path.iterdir() if path.name != "cache"]


def test_the_examples_of_the_front_door_run() -> None:
    import exemplar.spaces as door

    found = doctest.testmod(door, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 6 and found.failed == 0


def test_all_that_is_exported_is_there_and_no_verb_is_named_like_a_module() -> None:
    folder = Path(inspect.getfile(ex.spaces)).parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    for name in ex.spaces.__all__:
        assert getattr(ex.spaces, name) is not None
    assert not modules & set(ROOM.commands.values()) and not modules & set(ex.spaces.__all__)
    assert set(ex.spaces.LAZY) | {"card", "encode", "list_spaces", "load", "train"} == set(ex.spaces.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ex.spaces.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_options_are_those_of_the_commands_before() -> None:
    """Names, defaults and ranges: who calls them in a script finds them as they were."""
    found = {
        verb: {
            a.flag: a.default if a.default is not inspect.Parameter.empty else "required"
            for a in list_arguments(function)
        }
        for verb in ROOM.commands.values()
        for function in [getattr(ex.spaces, verb)]
    }
    assert found == {
        "list_spaces": {"--folder": None},
        "card": {"--name": "required", "--figure": None},
        "train": {
            "--name": "required", "--out": "spaces", "--steps": None, "--every": 500, "--device": "auto", "--devices": 1, "--hold-out": None,
        },
        "encode": {
            "--name": "required", "--data": "required", "--split": None, "--layer": None, "--projection": None,
            "--out": Path("features.npz"), "--device": "auto",
        },
    }  # fmt: skip
