"""What the room knows about an agent before it draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exemplar.draw.drawings import Sample
from exemplar.draw.tasks import DrawingTask


@dataclass(frozen=True)
class DrawingAgent:
    """An agent of the room.

    what: one line about it; make: gives the function that draws, for a task and the text after "@" ("" where there is none);
    what it knows besides the exemplar, it knows from the task. setting: what that text may be, "" where it takes none.
    recipes, networks: of a network of its own, as in `exemplar.spaces.recipes` and `exemplar.spaces.networks`; its weights
    ship in `weights/draw/`."""

    name: str
    what: str
    make: Callable[[DrawingTask, str], Sample]
    setting: str = ""
    recipes: Mapping[str, Any] = field(default_factory=dict)
    networks: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
