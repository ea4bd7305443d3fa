"""What an agent of this room is: a function that says how much each pixel of a drawing matters.

agent(images, label, exemplars, rng) -> maps

images: (n, h, w) float32 in [0, 1], ink 1; label: (n,) which concept each is of; exemplars: (k, h, w) float32, one per concept.
Returns (n, h', w'), at least 0, on any grid of the same proportions. An agent that draws what it marks (`draws`) is given
as many images as it is to draw, looks at none of them, and returns (images, maps).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exemplar.attend.tasks import AttendTask

Agent = Callable[..., Any]


@dataclass(frozen=True)
class Entry:
    """An agent by name. what: it is, in a line; make: from a task, and the setting after an @, to the agent; setting: what may
    follow the @; draws: whether it may mark drawings of its own."""

    name: str
    what: str
    make: Callable[[AttendTask, str], Agent]
    setting: str = ""


def read_settings(text: str, known: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """`times=50,guidance=1` → the settings that are known, on top of their defaults, and the words that are not."""
    found, rest = dict(known), []
    for word in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in word.partition("="))
        if equals and name in known:
            found[name] = value
        else:
            rest.append(word)
    return found, rest
