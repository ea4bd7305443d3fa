"""Code of the user's own, by name: `file.py:name` or `module:name`. One loader, one guard around whatever it does, and global
generators in a known state while it runs.

What it prints goes to standard error, since standard output is for answers; whatever it raises, exits included, becomes one
sentence that names it.
"""

from __future__ import annotations

import importlib
import importlib.util
import random  # noqa: TID251
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from exemplar.errors import UserError, unknown
from exemplar.files import first_line

FORM = "write file.py:NAME, or module:NAME"
RESERVED = (
    "human",
    "humans",
    "people",
    "person",
    "simulated",
)  # who did it is read from a name: these are nobody else's
GLOBAL_GENERATORS = {"random": "random", "numpy": "numpy.random", "torch": "torch"}  # what a sentence calls each
_texts: dict[str, bytes] = {}  # module → its file as it was imported


@contextmanager
def guarded(failure: str | Callable[[], str]) -> Iterator[None]:
    """The user's own code runs inside. failure: what has happened if it raises, as a sentence begins ("mine.py failed"), or a
    function that says so then."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except UserError:
        raise
    except (Exception, SystemExit) as problem:
        said = failure() if callable(failure) else failure
        raise UserError(f"{said} ({type(problem).__name__}: {first_line(problem)}): fix it") from problem


@contextmanager
def seeded_globals(seed: int, **others: int) -> Iterator[None]:
    """The global generators of random, NumPy and torch (GPUs' too) in a state that the seed gives, and as they were afterwards.

    Nothing of ours uses them; the user's code may. others: a seed of its own for some of GLOBAL_GENERATORS, by name.
    """
    import numpy as np
    import torch

    of = {name: others.get(name, seed) for name in GLOBAL_GENERATORS}
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    on_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    try:
        random.seed(of["random"])
        np.random.set_state(np.random.RandomState(of["numpy"] % 2**32).get_state())  # noqa: NPY002
        torch.manual_seed(of["torch"])  # of every device  # noqa: TID251
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        torch.set_rng_state(before[2])
        if on_gpus is not None:
            torch.cuda.set_rng_state_all(on_gpus)


def is_named(name: str) -> bool:
    """Whether this has the form `file.py:name` or `module:name`."""
    place, colon, attribute = name.rpartition(":")
    return bool(colon and place) and attribute.isidentifier()


def load_named(name: str, what: str = "function") -> Any:
    """The object of that name. It can import what lies beside it, as when Python runs its file. what: "function" or "class".

    The file is run, as any program of yours that you start.
    """
    place, _, attribute = name.rpartition(":")
    if not is_named(name):
        raise UserError(f"{name!r} does not name a {what}: {FORM}")
    refuse_reserved(attribute)
    module = _module_of_file(Path(place).expanduser()) if place.endswith(".py") else _module_of_name(place)
    found = getattr(module, attribute, None)
    if found is None:
        raise unknown(
            what, attribute, [key for key, value in vars(module).items() if _is(value, what)], where=str(place)
        )
    if not _is(found, what):
        raise UserError(f"{name} is a {type(found).__name__}, not a {what}: name one that is in {place}")
    return found


def refuse_reserved(name: str) -> None:
    """Code that was given the name under which people's own records go: no table could tell the two apart."""
    if name.casefold() in RESERVED:
        raise UserError(
            f"The name {name!r} is reserved for people's own records: rename it, such as to that of the model."
        )


def name_of(given: Any) -> str:
    """What a class, a function or an object from Python is called in records."""
    name = str(getattr(given, "__name__", type(given).__name__))
    refuse_reserved(name)
    return name


def _is(value: Any, what: str) -> bool:
    return isinstance(value, type) if what == "class" else callable(value)


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file {path}: check where it is, paths begin in {Path.cwd()}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a file called json.py hides nothing
    name = f"user_code_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # there always is one for .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    with guarded(f"{path} cannot be imported"):  # from its text: bytecode of the same second may be of other text
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module


def _module_of_name(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    first = name.partition(".")[0]
    if first not in sys.modules and (not first or importlib.util.find_spec(first) is None):
        raise UserError(
            f"{name} cannot be imported, there is no such module: install it, or start where it lies (this is {here})"
        )
    with guarded(f"{name} cannot be imported"):
        return _as_it_is_now(importlib.import_module(name))


def _as_it_is_now(module: ModuleType) -> ModuleType:
    """The module, run again if its file was edited since it was imported for the first time."""
    try:
        text = Path(module.__file__ or "").read_bytes()
    except OSError:
        return module
    if _texts.setdefault(module.__name__, text) != text:
        _texts[module.__name__] = text
        exec(compile(text, str(module.__file__), "exec"), vars(module))
    return module
