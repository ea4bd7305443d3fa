"""What people can be asked to do: one kind of experiment per file. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from exemplar.errors import UserError, unknown
from exemplar.lab.experiments.protocol import Experiment

# type → (module, class); imported when it is asked for
KINDS = {
    "learning": ("learning", "LearningExperiment"),
    "drawing": ("drawing", "DrawingExperiment"),
    "turing": ("turing", "TuringExperiment"),
}


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
    fields = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    for name in values:
        if name not in fields:
            raise unknown("setting", name, fields, where=f"an experiment of type {settings['type']}")
    try:
        made: Experiment = kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})
    except TypeError as problem:
        raise UserError(f"The settings of {values.get('name', 'the experiment')} are wrong: {problem}.") from problem
    return made


def default_experiments() -> list[dict[str, Any]]:
    """What `exemplar lab serve` offers unless told otherwise: everything, short enough to try."""
    return [
        {"type": "learning", "name": "objects", "subtasks": 8, "sessions": 2},
        {"type": "learning", "name": "one-view", "experiment": 2, "subtasks": 8, "sessions": 4},
        {"type": "drawing", "name": "copy"},
        {"type": "drawing", "name": "create", "instruction": "creative"},
        {"type": "drawing", "name": "quick", "instruction": "word", "limit_s": 20.0},
        {"type": "turing", "name": "turing"},
    ]
