"""What people can be asked to do: one kind of experiment per file. A new one is a file and a line here."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from exemplar.errors import UserError, unknown
from exemplar.lab.experiments.protocol import Experiment

# type → (module, class); imported when it is asked for
KINDS = {
    "learning": ("learning", "LearningExperiment"),
    "drawing": ("drawing", "DrawingExperiment"),
    "turing": ("turing", "TuringExperiment"),
    "clickme": ("clickme", "ClickMeExperiment"),
}


SAID = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null", tuple: "a list"}


def load_kind(kind: str) -> type:
    if kind not in KINDS:
        raise unknown("type of experiment", kind, KINDS)
    module, name = KINDS[kind]
    found: type = getattr(import_module(f"exemplar.lab.experiments.{module}"), name)
    return found


def make_experiment(settings: Mapping[str, Any]) -> Experiment:
    """From plain values, as an experimenter's JSON file has them: `type`, and what its class takes."""
    values = dict(settings)
    kind = load_kind(str(values.pop("type", "")))
    fields = [field.name for field in dataclasses.fields(kind)]
    for name in values:
        if name not in fields:
            raise unknown("setting", name, fields, where=f"an experiment of type {settings['type']}")
    _check_types(kind, values)
    try:
        made: Experiment = kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})
    except TypeError as problem:
        raise UserError(f"The settings of {values.get('name', 'the experiment')} are wrong: {problem}.") from problem
    _check_common(made)
    return made


def _check_types(kind: type, values: Mapping[str, Any]) -> None:
    """A JSON file may hold anything: text where a number belongs would be found out by the first participant."""
    name = values.get("name", kind.__dataclass_fields__["name"].default)  # type: ignore[attr-defined]
    for what, hint in get_type_hints(kind).items():
        if what not in values:
            continue
        value, allowed = values[what], get_args(hint) if isinstance(hint, UnionType) else (hint,)
        if not any(_is(value, one) for one in allowed):
            wanted = " or ".join(SAID[get_origin(one) or one] for one in allowed)
            raise UserError(f"{name}: {what} must be {wanted}, got {json.dumps(value)[:80]}.")


def _is(value: Any, kind: Any) -> bool:
    if get_origin(kind) is tuple:
        text = get_args(kind)[0] is str
        return isinstance(value, list | tuple) and (not text or all(isinstance(one, str) for one in value))
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _check_common(made: Any) -> None:
    """What every type of experiment has."""
    wanted = made.quota()
    if wanted is not None and wanted < 1:
        raise UserError(f"{made.name}: wanted must be at least 1, or null, got {wanted}.")
    names = []
    for field in made.ask:
        if not isinstance(field, Mapping) or set(field) != {"name", "label"} or not isinstance(field["label"], str):
            raise UserError(f'{made.name}: ask is a list of {{"name": …, "label": …}}, got {str(field)[:80]}.')
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", str(field["name"])) or field["name"] in names:
            raise UserError(
                f"{made.name}: what is asked needs names of its own from letters, digits, ., _ and -, got {field['name']!r}."
            )
        names.append(field["name"])


def default_experiments() -> list[dict[str, Any]]:
    """What `exemplar lab serve` offers unless told otherwise: everything, short enough to try."""
    return [
        {"type": "learning", "name": "objects", "subtasks": 8, "sessions": 2},
        {"type": "learning", "name": "one-view", "experiment": 2, "subtasks": 8, "sessions": 4},
        {"type": "drawing", "name": "copy"},
        {"type": "drawing", "name": "create", "instruction": "creative"},
        {"type": "drawing", "name": "quick", "instruction": "word", "limit_s": 20.0},
        {"type": "turing", "name": "turing"},
        {"type": "clickme", "name": "clickme", "show_exemplars": True},
    ]
