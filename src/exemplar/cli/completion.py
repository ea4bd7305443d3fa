"""What a shell's Tab key offers for an argument: its choices, or the names that the house or its rooms know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from exemplar.options import Argument
from exemplar.rooms import ROOMS, load_room


def complete(argument: Argument) -> Callable[[str], list[str]] | None:
    """The function typer asks for words that begin with what was typed; None where the shell offers files."""
    if not argument.option.choices and argument.option.known not in WORDS:
        return None

    def offer(incomplete: str) -> list[str]:
        words = argument.option.choices or WORDS[argument.option.known]()
        return sorted(word for word in words if word.startswith(incomplete))

    return offer


def _data() -> Iterable[str]:
    return [row["name"] for row in load_room("images").door.list_data()["data"]]


def _spaces() -> Iterable[str]:
    return [row["name"] for row in load_room("spaces").door.list_spaces()["spaces"]]


def _of_rooms(what: str, *rooms: str) -> Callable[[], Iterable[str]]:
    def found() -> Iterable[str]:
        return [name for room in rooms or ROOMS for name in getattr(load_room(room), what)()]

    return found


WORDS: dict[str, Callable[[], Iterable[Any]]] = {
    "data": _data,
    "spaces": _spaces,
    "results": _of_rooms("results"),
    "recipes": _of_rooms("recipes"),
    **{f"{room} {what}": _of_rooms(what, room) for room in ("draw", "attend", "learn", "recall", "foresee")
       for what in ("agents", "studies")},
}  # fmt: skip
