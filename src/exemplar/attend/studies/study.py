"""What a study of the room is, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure as Plot

from exemplar.records import Score
from exemplar.runs import Run


@dataclass(frozen=True)
class StudyRequest:
    """As in the verb `study`."""

    agent: Any
    data: Any
    split: str | None
    concepts: int
    drawings: int
    repeats: int


@dataclass(frozen=True, eq=False)
class Asked:
    """A study with all that it needs. config: what decides its numbers; data: name → fingerprint; lead: a sentence on what was
    studied; inputs: for its `compute`."""

    config: dict[str, Any]
    lead: str
    data: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    inputs: Any = None


@dataclass(frozen=True, eq=False)
class Study:
    """title, text: for the page; prepare: refuses what cannot be studied, before anything long begins; compute: its scores;
    figures: name → plot, whose captions are `captions`; conclude: what was found, in a sentence."""

    title: str
    text: str
    prepare: Callable[[StudyRequest, int], Asked]
    compute: Callable[[Run, Asked, int], list[Score]]
    figures: Callable[[Sequence[Score]], Mapping[str, Plot]]
    captions: Mapping[str, str]
    conclude: Callable[[Sequence[Score]], str]
