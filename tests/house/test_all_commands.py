"""What holds for every command of every room: they are found by the list of rooms, so that a new one is held to it too."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from conftest import mistake
from exemplar.cli import list_groups
from exemplar.options import HIGHEST_SEED, WRITTEN, Argument, list_arguments


def commands() -> Iterator[tuple[str, list[Argument]]]:
    """Each command as it is typed, and its arguments."""
    for group in list_groups():
        door = import_module(group.module)
        for words, verb in group.commands.items():
            yield f"{group.name} {words}", list(list_arguments(getattr(door, verb)))
    yield "tour", list(list_arguments(import_module("exemplar.touring").tour))


COMMANDS = dict(commands())
OPTIONS = [(words, argument) for words, arguments in COMMANDS.items() for argument in arguments]


def every(*, where: Any) -> Any:
    chosen = [(words, argument) for words, argument in OPTIONS if where(argument)]
    return pytest.mark.parametrize(
        ("words", "argument"), chosen, ids=[f"{words} {argument.flag}" for words, argument in chosen]
    )


def line(words: str, *more: str | Path) -> list[str]:
    """The command with something for all that it must be given, and more."""
    must: list[str] = []
    for argument in COMMANDS[words]:
        if argument.default is inspect.Parameter.empty:
            must += ["x"] if argument.option.positional else [argument.flag, "x"]
    return [*words.split(), *must, *map(str, more)]


@pytest.fixture(autouse=True)
def nothing_long_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is wrong is refused before data, network or training."""
    for long_work in (
        "exemplar.images.catalogue.Entry.load",
        "exemplar.images.folder.load_folder",
        "exemplar.images.sources.fetch",
        "exemplar.spaces.training.loop._Run.guarded",
        "exemplar.engine.map",
    ):
        monkeypatch.setattr(long_work, lambda *_, **__: pytest.fail("something long began"))


@every(where=lambda argument: argument.name == "seed")
def test_all_seeds_have_one_range(exemplar, words: str, argument: Argument) -> None:
    for wrong, sentence in ((-1, "must be at least 0"), (HIGHEST_SEED + 1, f"must be at most {HIGHEST_SEED}")):
        assert f"seed {sentence}, got {wrong}." in mistake(exemplar(*line(words, "--seed", str(wrong))))


@every(where=lambda argument: argument.option.choices)
def test_a_word_that_is_no_choice_is_refused_first(exemplar, words: str, argument: Argument) -> None:
    near = argument.option.choices[0] + "x"
    sentence = mistake(exemplar(*line(words, argument.flag, near)))
    assert f"'{near}': did you mean" in sentence and argument.option.choices[0] in sentence


@every(where=lambda argument: argument.name in WRITTEN)
def test_what_cannot_be_written_is_refused_first(exemplar, tmp_path: Path, words: str, argument: Argument) -> None:
    (tmp_path / "file").write_text("mine")
    said = exemplar(*line(words, argument.flag, tmp_path / "file" / "place"), cwd=tmp_path)
    assert "cannot be written (Not a directory)" in mistake(said)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("words", COMMANDS)
def test_home_is_home_in_all_that_may_be_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for argument in COMMANDS[words]:
        if argument.option.choices or not any(kind in str(argument.kind) for kind in ("Path", "str")):
            continue
        given = ["~/mine.py:name", "b"] if argument.kind == list[str] else "~/mine"
        found = argument.checked(given)
        assert str(found[0] if isinstance(found, list) else found).startswith(str(tmp_path / "mine")), argument.flag
        if argument.name not in WRITTEN:  # which would have to be there
            assert argument.checked("~no-one/x") in ("~no-one/x", ("~no-one/x",)), argument.flag


def test_home_is_home_for_a_command_too(exemplar, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    said = exemplar(
        "data", "sheet", "glyphs", "--concepts", "2", "--each", "2", "--out=~/a.png", env={"HOME": str(tmp_path)}
    )
    assert said.code == 0 and (tmp_path / "a.png").is_file()


def test_help_of_all_commands_loads_nothing_heavy() -> None:
    script = """
import io, sys
from contextlib import redirect_stdout
from exemplar.cli import make_app
for line in sys.argv[1:]:
    words = line.split()
    with redirect_stdout(io.StringIO()) as said:
        make_app(words[0])([*words, "--help"], prog_name="exemplar", standalone_mode=False)
    assert "Usage" in said.getvalue(), line
    heavy = {"torch", "scipy", "matplotlib", "numba", "sqlalchemy", "fastapi"} & set(sys.modules)
    assert not heavy, (line, heavy)
"""
    done = subprocess.run([sys.executable, "-c", script, *COMMANDS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_help_shows_choices_in_full_and_the_shell_completes_them(exemplar) -> None:
    for words, argument in OPTIONS:
        if argument.option.choices:
            assert " | ".join(argument.option.choices) in argument.option.describe(), words
    env = {"_EXEMPLAR_COMPLETE": "complete_zsh"}
    for typed, offered in {
        "exemplar learn run --variant ": ("hobj", "paper"),
        "exemplar learn study --engine p": ("pool",),
        "exemplar draw score x --data omni": ("omniglot",),
        "exemplar foresee check --space simclr-gly": ("simclr-glyphs-s0",),
        "exemplar draw stu": ("study",),
    }.items():
        said = exemplar(env={**env, "_TYPER_COMPLETE_ARGS": typed}).out
        assert all(f'"{word}"' in said for word in offered), (typed, said)


@pytest.mark.parametrize(
    "words",
    [
        "learn run --features x.npz --agent",
        "recall check-agent",
        "foresee check-agent",
        "attend check-agent",
        "draw score --data glyphs",
    ],
)
def test_code_that_is_called_people_is_refused(
    exemplar, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    monkeypatch.undo()  # check-agent looks at glyphs
    (tmp_path / "mine.py").write_text("def human(*_): ...\n")
    said = exemplar(*words.split(), "mine.py:human", cwd=tmp_path)
    assert said.code in (1, 2) and "is reserved for" in said.out + said.err


@pytest.mark.parametrize(
    ("words", "name", "where", "table"),
    [
        ("learn run", "variant", "learn.tasks", "VARIANTS"),
        ("learn score", "null", "learn.benchmark", "NULL_TESTS"),
        ("learn import", "time_unit", "learn.importing", "TIME_UNITS"),
        ("recall tasks", "policy", "recall.tasks", "POLICIES"),
        ("foresee check", "policy", "foresee.labelling", "POLICIES"),
        ("foresee run", "setting", "foresee.tasks", "SETTINGS"),
        ("foresee run", "variant", "foresee.graphs", "VARIANTS"),
        ("draw score", "normalise", "draw.scores", "NORMALISATIONS"),
        ("draw quickdraw-fs cluster", "form", "draw.quickdraw_fs.sources", "FORMS"),
        ("draw quickdraw-fs build", "keep", "draw.quickdraw_fs.build", "WHICH"),
        ("draw quickdraw-fs build", "split", "draw.quickdraw_fs.splits", "KINDS"),
    ],
)
def test_the_choices_that_are_told_are_those_there_are(words: str, name: str, where: str, table: str) -> None:
    argument = next(argument for argument in COMMANDS[words] if argument.name == name)
    assert set(argument.option.choices) == set(getattr(import_module(f"exemplar.{where}"), table))
