"""The room's front door: every value of the command line without it, each network loaded once, agents checked by the contract."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import exemplar as ex
from conftest import Said
from exemplar.draw.agents import AGENTS, is_ready
from exemplar.errors import UserError
from exemplar.images import pixels
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.records import Drawings

CRITICS: dict[str, Any] = {"see": ["simclr-glyphs-s0"], "recognise": ["protonet-glyphs-s0"]}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXEMPLAR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Twelve characters by six drawers, as a folder of PNGs."""
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=6, size=40))
    for row, image in enumerate(data.images):
        folder = tmp_path / "mine" / data.concept[row].replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{row:03d}.png")
    return tmp_path / "mine"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The same by the command line, in this process."""

    def run(*words: object) -> Any:
        from exemplar.cli import main

        monkeypatch.setattr("sys.argv", ["exemplar", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as end:
            main()
        said = Said(int(end.value.code or 0), *capsys.readouterr())
        assert said.code == 0, said
        return said.json()

    return run


def same(answer: Any, printed: dict[str, Any]) -> None:
    """Every value but how long it took."""
    found = json.loads(json.dumps(answer.json()))
    assert {k: v for k, v in found.items() if k != "seconds"} == {k: v for k, v in printed.items() if k != "seconds"}


def test_a_notebook_needs_no_command_line() -> None:
    code = "import sys, exemplar as ex; ex.draw.list_agents(); ex.draw.check_agent('copies'); sys.exit('exemplar.cli' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=900).returncode == 0


def test_a_notebook_gets_every_value_that_the_commands_print(mine: Path, command: Callable[..., Any]) -> None:
    asked = {"data": str(mine), "exemplar": "random", "n": 4, **CRITICS}
    words = [
        "--data",
        mine,
        "--exemplar",
        "random",
        "--n",
        4,
        "--see",
        "simclr-glyphs-s0",
        "--recognise",
        "protonet-glyphs-s0",
    ]
    scored = ex.draw.score("human", **asked)
    same(scored, command("draw", "score", "human", *words))
    assert scored.scores is not None and len(scored.scores) > 12 and scored.folder is not None
    assert {score.name for score in scored.overall} <= set(scored.values)
    assert "<table>" in scored._repr_html_() and "Warning" in scored._repr_html_()
    page = ex.draw.compare(["copies", scored.folder], html="a.html", **asked)
    assert page.scores is not None and {score.agent for score in page.scores} == {"copies", "people"} and page.figures
    same(page, command("draw", "compare", "copies", scored.folder, "--html", "a.html", *words))
    drawn = ex.draw.sample("noise", data=str(mine), exemplar="random", out="noise")
    assert isinstance(drawn.drawings, Drawings) and (Path("noise") / "sheet.png").is_file()
    same(drawn, command("draw", "sample", "noise", "--data", mine, "--exemplar", "random", "--out", "noise"))
    study = ex.draw.study("number-of-drawings", data=str(mine), out="study")
    same(study, command("draw", "study", "number-of-drawings", "--data", mine, "--out", "study"))
    assert study.figures and "<svg" in study._repr_html_()
    same(ex.draw.list_agents(), command("draw", "agents"))
    same(ex.draw.check_agent("copies"), command("draw", "check-agent", "copies"))


def test_a_function_and_a_record_are_scored_as_a_folder_is(mine: Path) -> None:
    def again(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.repeat(exemplars[:, None], n, axis=1)

    asked = {"data": str(mine), "exemplar": "random", "n": 4, **CRITICS}
    by_function = ex.draw.score(again, **asked)
    record = ex.draw.sample(again, data=str(mine), exemplar="random", n=4).drawings
    by_record = ex.draw.score(record, **asked)
    assert by_function["agent"] == by_record["agent"] == "again"
    assert by_function["diversity"] == by_record["diversity"] and by_function["diversity"]["value"] == 0


def test_each_network_is_loaded_once_and_each_image_decoded_once(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder of drawings about a folder of data: 6 networks were loaded 13 times, and images decoded 8 times each."""
    loaded, decoded = Counter[str](), Counter[str]()
    from exemplar.spaces import zoo

    read, load = pixels._open_flat, zoo._assemble

    def counted_image(path: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        decoded[str(path)] += 1
        return read(path, *args, **kwargs)

    def counted_network(card: Any, *args: Any, **kwargs: Any) -> Any:
        loaded[card.name] += 1
        return load(card, *args, **kwargs)

    monkeypatch.setattr(pixels, "_open_flat", counted_image)
    monkeypatch.setattr(zoo, "_assemble", counted_network)
    samples = mine.rename(mine.with_name("samples"))
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=6, size=40))
    for row, image in enumerate(data.images):
        folder = mine / data.concept[row].replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.roll(image, 1, axis=1)).save(folder / f"{row:03d}.png")
    ex.draw.score(samples, data=str(mine), **CRITICS)
    assert set(loaded.values()) == {1}, loaded
    assert len(decoded) == 2 * len(data) and set(decoded.values()) == {1}, decoded.most_common(3)


def test_people_means_people(mine: Path) -> None:
    with pytest.raises(UserError, match="No person drew glyphs/weak-test, the package did: write simulated"):
        ex.draw.score("human", data="glyphs", n=3)
    with pytest.raises(UserError, match="was not drawn by the package: write human"):
        ex.draw.score("simulated", data=str(mine), exemplar="random", **CRITICS)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n": 2}, "n must be at least 3, got 2."),
        ({"normalise": "humans"}, "no normalisation 'humans'"),
        ({"data": "nowhere"}, "no data set, folder or file 'nowhere'"),
        ({"exemplar": "first"}, "no way to choose the exemplar 'first'"),
        ({"seed": -1}, "seed must be at least 0, got -1."),
        ({"see": ["nobody"]}, "no space 'nobody'"),
    ],
)
def test_a_mistake_in_python_is_the_sentence_of_the_command(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence.replace(".", r"\.")):
        ex.draw.score("copies", **{"data": "glyphs", **wrong})
    assert not Path("runs").exists()


SETTINGS = {"redraw": "@0.5", "cfgdm-small": "@steps=1"}  # of full length it takes minutes
LARGE = {"cfgdm-quickdraw"}  # cfgdm-small is of the same class, with a sixth of its parameters


@pytest.mark.parametrize(
    "name", [name + SETTINGS.get(name, "") for name in AGENTS if is_ready(name) and name not in LARGE]
)
def test_every_agent_of_the_room_keeps_the_contract(name: str) -> None:
    checked = ex.draw.check_agent(name)
    assert checked.ok, checked.problems


def _copies(exemplars: np.ndarray, n: int) -> np.ndarray:
    return np.repeat(exemplars[:, None], n, axis=1)


def changes_exemplars(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    exemplars *= 0.5
    return _copies(exemplars, n) + (rng.random((1, n, 1, 1)) * 0.1)


def has_its_own_dice(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return (np.random.default_rng().random((len(exemplars), n, *exemplars.shape[1:])) < 0.2).astype(np.float32)


def needs_many(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    if len(exemplars) < 3:
        raise ValueError("give me more")
    return np.clip(_copies(exemplars, n) + 0.1 * rng.random((1, n, 1, 1)), 0, 1)


def ignores_n(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(_copies(exemplars, 4) + 0.1 * rng.random((1, 4, 1, 1)), 0, 1)


def returns_nothing(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> None:
    return None


def out_of_range(exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return 300 * rng.random((len(exemplars), n, *exemplars.shape[1:]))


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (changes_exemplars, "it changes the exemplars it is given"),
        (has_its_own_dice, "two calls with the same rng give other drawings"),
        (needs_many, "it fails for 1 exemplars and n = 4"),
        (ignores_n, r"it returns shape \(8, 4, "),
        (returns_nothing, "is needed"),
        (out_of_range, "cannot be used"),
        ("not a function", "there is no agent"),
    ],
)
def test_an_agent_that_breaks_the_contract_is_told_how(agent: Any, sentence: str) -> None:
    import re

    if isinstance(agent, str):
        with pytest.raises(UserError, match=sentence):
            ex.draw.check_agent(agent)
        return
    checked = ex.draw.check_agent(agent)
    assert not checked.ok and any(re.search(sentence, problem) for problem in checked.problems), checked.problems
    assert all(problem in checked.text for problem in checked.problems)


def test_the_examples_of_the_front_door_are_true() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in ex.draw.__all__ for test in finder.find(getattr(ex.draw, name), name) if test.examples]
    assert len(tests) >= 2
    for test in tests:
        assert doctest.DocTestRunner().run(test).failed == 0, test.name
