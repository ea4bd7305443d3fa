"""Whoever you bring: a function of your own by its name, `module:function` or `path/to/file.py:function`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from exemplar.draw.drawings import Sample, foreign
from exemplar.errors import UserError, unknown


def import_sample(name: str) -> Sample:
    """The function sample(exemplars, n, rng) of that name. It can import what lies beside it, as when Python runs it."""
    place, _, function = name.rpartition(":")
    if not place or not function.isidentifier():
        raise UserError(f"{name} names no function: write module:function, or file.py:function")
    module = _of_file(Path(place).expanduser()) if place.endswith(".py") else _of_name(place)
    found = getattr(module, function, None)
    if found is None:
        raise unknown(f"function in {place}", function, [n for n, v in vars(module).items() if callable(v)])
    if not callable(found):
        raise UserError(f"{name} is a {type(found).__name__}, not a function: give sample(exemplars, n, rng)")
    sample: Sample = found
    return sample


def _of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file {path}: give the one that holds your function")
    sys.path.append(str(path.resolve().parent))  # last: a file called json.py hides nothing
    name = f"agent_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # there always is one for .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up
    with foreign(f"{path} cannot be imported"):
        spec.loader.exec_module(module)
    return module


def _of_name(name: str) -> ModuleType:
    sys.path.append(str(Path.cwd()))
    with foreign(f"{name} cannot be imported"):
        return importlib.import_module(name)
