"""Who may import whom (docs/architecture.md), and other promises about the source itself."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exemplar import rooms

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "exemplar"
FOUNDATION = {
    "answers", "columns", "dense_trials", "engine", "errors", "files", "options", "progress", "records", "rooms", "runs", "seeds", "stats", "store", "unpacking",
    "user_code",
}  # fmt: skip
BELOW = FOUNDATION | {"report"}
ROOMS = {"draw", "attend", "learn", "recall", "foresee"}
MAY_IMPORT = {
    **{name: FOUNDATION for name in FOUNDATION},
    "report": FOUNDATION,
    "images": BELOW,
    "spaces": BELOW | {"images"},
    **{room: BELOW | {"images", "spaces"} for room in ROOMS},
    "attend": BELOW | {"images", "spaces", "draw"},  # it asks draw's diffusion model what matters to it
    "results": BELOW | {"images"},  # the rooms themselves by `rooms`, which finds them by name
    "touring": BELOW,
    "lab": BELOW | {"images", "spaces"} | ROOMS,
    "cli": FOUNDATION | {"touring"},  # the rooms, likewise
    "__init__": {"errors", "images", "touring", "rooms"} | ROOMS | {"lab", "spaces", "results", "runs"},
}


def modules(path: Path) -> Iterator[str]:
    """Every module of the package that a file imports, relative imports and importlib's literal names included."""
    package = ["exemplar", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *(node.module or "").split(".")]).rstrip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
            for word in node.args[:1]:
                if isinstance(word, ast.Constant):
                    yield str(word.value)
                elif isinstance(word, ast.JoinedStr) and isinstance(word.values[0], ast.Constant):
                    yield str(word.values[0].value).rstrip(".")


def imports() -> list[tuple[Path, str, list[str]]]:
    """(file, the part of the house it belongs to, the words of a module of the package that it imports)."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for module in modules(path):
            words = module.split(".")
            if words[0] == "exemplar" and len(words) > 1 and "__" not in words[1]:
                found.append((path, part, words))
    return found


def test_every_import_goes_in_an_allowed_direction():
    assert len(imports()) > 500
    wrong = [
        f"{path.relative_to(PACKAGE)} ({part}) imports {'.'.join(words)}"
        for path, part, words in imports()
        if words[1] != part and words[1] not in MAY_IMPORT[part]
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_enters_a_room_but_by_its_front_door():
    """cli, lab, results and the tour never import from inside a room; nor does another room."""
    wrong = []
    for path, part, words in imports():
        room = words[1]
        inside = len(words) > 2 and (PACKAGE / room / f"{words[2]}.py").exists() | (PACKAGE / room / words[2]).is_dir()
        if room in ROOMS | {"spaces"} and room != part and inside and not (room == "spaces" and part in ROOMS):
            wrong.append(f"{path.relative_to(PACKAGE)} imports {'.'.join(words)}")
    assert not wrong, "\n".join(wrong)


def test_modules_are_imported_by_name_in_few_places():
    users = {path.name for path in PACKAGE.rglob("*.py") if "import_module" in path.read_text(encoding="utf-8")}
    allowed = {"rooms.py", "__init__.py", "user_code.py", "catalogue.py", "stages.py", "zoo.py", "pretrained.py"}
    allowed.add("strict_worker.py")  # the libraries that a learner imports, once for all of its processes
    assert users <= allowed, users - allowed


@pytest.mark.parametrize("room", [room.name for room in rooms.list_rooms()])
def test_a_room_has_the_doors_of_every_room(room):
    described = rooms.load_room(room)
    door, folder = described.door, PACKAGE / room
    assert described.name == room and described.title and described.help.endswith(".")
    for words, verb in described.commands.items():
        assert verb in door.__all__, f"{words}: {verb} is not in __all__"
        assert hasattr(getattr(door, verb), "summary"), f"{verb} is not declared with @verb"
    assert set(described.resumes) <= set(described.commands)
    modules_of = {module.name for module in pkgutil.iter_modules([str(folder)])}
    assert not modules_of & set(door.__all__), "a verb is named like a module of its room"
    for name in door.__all__:
        assert getattr(door, name) is not None
    assert door.__all__ == sorted(door.__all__)


@pytest.mark.parametrize("room", [room.name for room in rooms.list_rooms()])
def test_every_option_says_what_it_is(room):
    from exemplar.options import list_arguments

    described = rooms.load_room(room)
    for verb in described.commands.values():
        function = getattr(described.door, verb)
        declared = [argument.name for argument in list_arguments(function)]
        assert declared == list(inspect.signature(function).parameters), f"{verb} has an argument without an Option"
        for argument in list_arguments(function):
            assert re.search(r"[.?)]$", argument.option.help), f"{verb}: {argument.name} needs a sentence"


def test_a_front_door_is_light():
    code = (
        "import sys, exemplar; from exemplar import rooms; [room.door.__all__ for room in rooms.list_rooms()]; "
        "sys.exit(', '.join({'numpy', 'torch', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr


def test_editors_see_the_lazy_names_of_the_package():
    import exemplar

    assert set(rooms.ROOMS) <= set(exemplar.__all__) <= set(dir(exemplar))
    for name in exemplar.__all__:
        assert getattr(exemplar, name) is not None
    with pytest.raises(AttributeError):
        exemplar.nothing  # noqa: B018
    typed = (PACKAGE / "__init__.py").read_text(encoding="utf-8").partition("TYPE_CHECKING:")[2].partition("\n\n")[0]
    assert all(re.search(rf"\b{name}\b", typed) for name in exemplar.__all__)


def test_files_have_names_that_say_something_and_stay_small():
    empty = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in empty]
    long = {path.name: n for path in PACKAGE.rglob("*.py") if (n := path.read_text(encoding="utf-8").count("\n")) > 400}
    assert not long


def test_functions_of_the_command_line_are_short():
    for path in (PACKAGE / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 40, f"{path.name}: {node.name}"


def calls() -> Iterator[tuple[str, str, set[str]]]:
    """Every call in the package: where it is, the last word of what is called, and its arguments as source ("" if it has none)."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                given = [
                    *map(ast.unparse, node.args),
                    *(f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords),
                ]
                yield f"{path.name}:{node.lineno}", called, set(given)


def test_nothing_is_unpickled_by_an_argument():
    """What ruff has no rule for; pickle, dill, joblib and the like are refused by its rules (see `test_ruff_refuses`)."""
    assert not [where for where, _, given in calls() if given & {"allow_pickle=True", "weights_only=False"}]
    loaded = [
        (where, given) for where, called, given in calls()
        if called == "load" and any(word.startswith("weights_only") for word in given)
    ]  # fmt: skip
    assert loaded and all("weights_only=True" in given for _, given in loaded)


def test_every_generator_has_a_seed():
    """NPY002 refuses NumPy's global generator, and lets default_rng() pass, which no seed can bring back."""
    assert not [where for where, called, given in calls() if called in ("default_rng", "SeedSequence") and not given]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("from pickle import loads\n\nloads(b'')", "S301"),
        ("import pickle\n\npickle.load(open('x'))", "S301"),
        ("import marshal\n\nmarshal.loads(b'')", "S302"),
        ("import joblib\n\njoblib.load('x')", "TID251"),
        ("from dill import loads\n\nloads(b'')", "TID251"),
        ("import random\n\nrandom.shuffle([])", "TID251"),
        ("from random import shuffle\n\nshuffle([])", "TID251"),
        ("import numpy as np\n\nnp.random.normal()", "NPY002"),
        ("from numpy.random import seed\n\nseed(0)", "NPY002"),
        ("import torch\n\ntorch.manual_seed(0)", "TID251"),
    ],
)
def test_ruff_refuses_code_from_files_and_global_randomness(line, rule):
    place = str(PACKAGE / "draw" / "imagined.py")
    asked = [sys.executable, "-m", "ruff", "check", "--output-format", "concise", "--stdin-filename", place, "-"]
    said = subprocess.run(asked, input=line + "\n", capture_output=True, text=True, cwd=ROOT, timeout=900)
    assert said.returncode == 1 and f" {rule} " in said.stdout, said.stdout + said.stderr


@pytest.mark.parametrize("heavy", ["numpy", "torch", "pandas", "matplotlib", "scipy"])
def test_help_does_not_wait_for(heavy):
    code = f"import sys; from exemplar.cli import make_app; make_app('draw'); sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=900).returncode == 0


@pytest.mark.parametrize(("own", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_do_not_spin_unless_asked_to(own, found):
    code = "import os, exemplar; print(os.environ['OMP_WAIT_POLICY'])"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"} | (
        {"OMP_WAIT_POLICY": own} if own else {}
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=900
    )
    assert said.stdout.strip() == found


def test_every_module_can_be_imported_by_itself():
    for module in pkgutil.walk_packages([str(PACKAGE)], "exemplar."):
        importlib.import_module(module.name)
