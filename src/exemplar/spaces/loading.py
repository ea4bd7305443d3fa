"""Any space by its name, or from whatever a user brings: the pixels, a stage of a pretrained network, one that ships or one of
your own, a function, a file of features; in Python also a torch module or an object with `encode`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exemplar.errors import UserError, unknown
from exemplar.spaces.given import as_space
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.known import read_features
from exemplar.spaces.pretrained import is_pretrained
from exemplar.spaces.projection import PROJECTIONS
from exemplar.spaces.space import PixelSpace, Space
from exemplar.spaces.stage_space import load_stage
from exemplar.spaces.zoo import load_space
from exemplar.user_code import is_named, load_named

PIXELS = "pixels"
PIXELS_SIZE = 16  # px per side, in grey, as the images' chapter of the tour compares them
PYTHON = "python:"  # how a run folder names a space that was given as an object


def find_space(given: Any, layer: str | None = None, projection: str | None = None) -> Space:
    """A space by name, as `exemplar.spaces.load` takes it, or from an object; options that it does not have are refused."""
    if not isinstance(given, str | Path):
        _refuse(layer, "a space that is given as an object has its layer already: leave layer out")
        _refuse(projection, "a space that is given as an object is never projected: leave projection out")
        return as_space(given)
    name = str(given)
    if name == PIXELS:
        _refuse(layer, "the pixels have no layers: leave --layer out")
        _refuse(projection, "the pixels are never projected: leave --projection out")
        return PixelSpace(PhotoInput((PIXELS_SIZE, PIXELS_SIZE)))
    if is_pretrained(name):
        return _find_stage(name, layer, projection)
    _refuse(projection, f"{name} is never projected, only stages of pretrained networks are: leave --projection out")
    brought = _find_brought(name)
    if brought is None:
        return load_space(name, layer=layer)
    _refuse(layer, f"{name} has no layers that can be chosen: leave --layer out")
    return brought


def _find_brought(name: str) -> Space | None:
    """What is no trained space: a file of features, or a function; None where the name has neither form."""
    if name.startswith(PYTHON):
        what = name.removeprefix(PYTHON)
        raise UserError(f"{what} was given as a Python object, which cannot be found by name: give the object again")
    if name.endswith(".npz"):
        return read_features(Path(name).expanduser(), name)
    if name.endswith(".py"):
        raise UserError(f"{name} is a Python file: say which of its functions, {name}:FUNCTION")
    return as_space(load_named(name), short_name(name)) if is_named(name) else None


def short_name(name: str) -> str:
    """What tables call a function: `critics/mine.py:see` is mine.see."""
    place, _, function = name.rpartition(":")
    return f"{Path(place).name.removesuffix('.py')}.{function}"


def _find_stage(name: str, layer: str | None, projection: str | None) -> Space:
    _refuse(layer, f"{name} names its layer already: leave --layer out")
    projections = {**PROJECTIONS, "none": None}
    asked = "sparse" if projection is None else projection
    if asked not in projections:
        raise unknown("projection", asked, projections)
    return load_stage(name, projections[asked])


def _refuse(option: str | None, sentence: str) -> None:
    if option is not None:
        raise UserError(sentence)
