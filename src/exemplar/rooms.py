"""The rooms of the house: the only list of them, and what each says about itself in its `room.py`.

A new room is one folder and one word in ROOMS; command line, tour, results page and contract tests find the rest. This is the
one place that imports by name, and nothing here is heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exemplar.engine import Backend
    from exemplar.records import Score, Scores
    from exemplar.runs import Run

ROOMS = ("images", "spaces", "draw", "attend", "learn", "recall", "foresee", "lab")  # in the order of the tour


@dataclass(frozen=True)
class Number:
    """A value that others found: where it is printed, or with what it was measured."""

    value: float
    source: str


Numbers = Mapping[tuple[str, str], Number]  # (score, agent) → what others found


@dataclass(frozen=True)
class Part:
    """Some scores of a result that takes minutes, each computed just as in the whole. share: of the time that takes, about."""

    compute: Callable[[Run, int], Scores]
    share: float


@dataclass(frozen=True)
class KeptResult:
    """A study with fixed arguments whose scores are committed, and shown in docs/results.md.

    compute: fills an open run, given a seed; text: what it asks, what it found, when not to believe it; published: printed in a
    paper, with the place; released: measured by us with the authors' released weights; data: the (name, split) it reads;
    files: the data sets whose files it reads by itself; quick: computed again whenever the page is made; part: what stands for
    it where the whole takes too long (`results verify`); figures: file beside the page → the function that gives its SVG.
    """

    title: str
    text: str
    compute: Callable[[Run, int], Scores]
    published: Numbers = field(default_factory=dict)
    released: Numbers = field(default_factory=dict)
    data: Sequence[tuple[str, str]] = ()
    files: Sequence[str] = ()
    quick: bool = True
    part: Part | None = None
    figures: Mapping[str, Callable[[], str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Placed:
    """A run as a leaderboard scores it again. scores: from its records, by the code that scores everyone; labels as in the run;
    facts: what is said of it, as plain values; unproven: what nobody can see from records, a sentence each."""

    agent: str
    scores: Sequence[Score]
    facts: Mapping[str, Any] = field(default_factory=dict)
    unproven: Sequence[str] = ()


@dataclass(frozen=True)
class Leaderboard:
    """One task with fixed settings, and who stands where in it.

    text: what is asked; reading: how its numbers are read, and when not to believe them, said once for boards that share it;
    result: the kept result that has the rows; shows: is a score of
    it one of them?; columns: names of scores, the first ranks; lowest: whether the lowest stands first (None: nobody is
    first); command: how a run for it is made, "" where none can be; near: whether a run's folder is meant for it; check: a
    run's folder → the run scored again from its records, or a UserError if it is of another task, has seen its concepts, or
    was edited.
    """

    title: str
    text: str
    result: str
    columns: Sequence[str]
    reading: str = ""
    shows: Callable[[Score], bool] = lambda score: True
    lowest: bool | None = False
    command: str = ""
    near: Callable[[Path], bool] = lambda folder: False
    check: Callable[[Path], Placed] | None = None


@dataclass(frozen=True)
class TourChapter:
    """A room's part of the tour. make: fills the run in a folder; chapter: the part of the page made from that folder, a
    `report.page.Chapter`."""

    make: Callable[[Path, int, Backend | None], None]
    chapter: Callable[[Path], Any]


def nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Room:
    """What the house needs to know about a room; what is heavy is a function, called when it is asked for.

    commands: words on the command line ("score", "quickdraw-fs build") → verb of the front door; resumes: those of them that
    keep what they have done when they are stopped; group: what the command line calls the room, its own name unless given;
    agents: name → what it is; studies: name → what it asks; results: name → `KeptResult`;
    leaderboards: name → `Leaderboard`; recipes: name → `Recipe` of a
    network of the room's own, whose weights lie in `weights/ROOM/`; networks: name → the function that builds it.
    """

    name: str
    title: str
    help: str
    commands: Mapping[str, str]
    resumes: Sequence[str] = ()
    group: str = ""
    agents: Callable[[], Mapping[str, str]] = nothing
    studies: Callable[[], Mapping[str, str]] = nothing
    results: Callable[[], Mapping[str, KeptResult]] = nothing
    leaderboards: Callable[[], Mapping[str, Leaderboard]] = nothing
    recipes: Callable[[], Mapping[str, Any]] = nothing
    networks: Callable[[], Mapping[str, Callable[..., Any]]] = nothing
    tour: Callable[[], TourChapter] | None = None

    @property
    def door(self) -> ModuleType:
        """The room's front door, where its verbs are."""
        return import_module(f"exemplar.{self.name}")


def load_room(name: str) -> Room:
    room: Room = import_module(f"exemplar.{name}.room").ROOM
    return room


def list_rooms() -> Iterator[Room]:
    return map(load_room, ROOMS)


def collect(what: str) -> dict[str, Any]:
    """All that the rooms call `what` ("results", "recipes", "networks"), by name. A name in two rooms is a bug of ours."""
    found: dict[str, Any] = {}
    for room in list_rooms():
        for name, value in getattr(room, what)().items():
            assert name not in found, f"two rooms have {what} called {name}"
            found[name] = value
    return found


def owner(what: str, name: str) -> Room | None:
    """The room that has something of this kind and name."""
    return next((room for room in list_rooms() if name in getattr(room, what)()), None)
