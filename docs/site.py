"""What the site knows from the rooms: a page, a front door and perhaps a leaderboard each. A hook of MkDocs (mkdocs.yml)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import exemplar
from exemplar.rooms import Room, list_rooms

PAGES = {"images": "data.md"}  # where a room's page is not called as the room is
INTERVAL = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\](?!\()")
HOUSE = ("results", "runs")  # front doors that are no room's


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the parts of the navigation that are lists of rooms."""
    lists = {"rooms": list_pages(), "leaderboards": list_boards(), "reference": list_doors()}
    config.nav = fill(config.nav, lists)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages of the reference, which are nothing but names."""
    for name, text in write_doors():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """An interval is not broken between its ends."""
    return INTERVAL.sub("[\\1,\u00a0\\2]", markdown)


def fill(nav: Any, lists: dict[str, list[Any]]) -> Any:
    if isinstance(nav, list):
        return [fill(entry, lists) for entry in nav]
    if isinstance(nav, dict):
        return {title: lists.get(entry, entry) if isinstance(entry, str) else fill(entry, lists)
                for title, entry in nav.items()}  # fmt: skip
    return nav


def list_pages() -> list[Any]:
    return [{f"{room.title} ({room.name})": PAGES.get(room.name, f"{room.name}.md")} for room in list_rooms()]


def list_boards() -> list[Any]:
    return ["leaderboards/index.md", *(f"leaderboards/{room.name}.md" for room in list_rooms() if room.leaderboards())]


def list_doors() -> list[Any]:
    return [{"ex": "reference/ex.md"}, *({f"ex.{name}": f"reference/{name}.md"} for name in
            [*(room.name for room in list_rooms()), *HOUSE])]  # fmt: skip


def write_doors() -> Iterator[tuple[str, str]]:
    """name → Markdown of the page of each front door."""
    yield "ex", write_top()
    for room in list_rooms():
        yield room.name, write_door(room)
    for name in HOUSE:
        door = getattr(exemplar, name)
        verbs = [verb for verb in dir(door) if hasattr(getattr(door, verb), "summary")]
        yield name, "\n".join([f"# ex.{name}", "", about(door), "", *(f"::: exemplar.{name}.{verb}" for verb in verbs)])


def write_top() -> str:
    return "\n\n".join(["# ex", about(exemplar), "::: exemplar.images.load", "::: exemplar.touring.tour"])


def write_door(room: Room) -> str:
    """First the verbs, with their commands; then the other names of the door."""
    door, parts = room.door, [f"# ex.{room.name}", about(room.door), "## Verbs"]
    command = {verb: f"exemplar {room.group or room.name} {words}" for words, verb in room.commands.items()}
    for verb, words in command.items():
        parts += [f"::: exemplar.{room.name}.{verb}", f"On the command line: `{words}`."]
    rest = [name for name in door.__all__ if name not in command]
    if rest:
        parts += ["## For work of your own", "Tasks, agents and scores as Python objects, in alphabetical order."]
        parts += [f"::: {home(getattr(door, name), f'exemplar.{room.name}.{name}')}" for name in rest]
    return "\n\n".join(parts)


def home(thing: Any, otherwise: str) -> str:
    """Where a thing is defined, with its name there."""
    module = getattr(thing, "__module__", "") or ""
    return f"{module}.{thing.__name__}" if module.startswith("exemplar.") else otherwise


def about(module: Any) -> str:
    """A module's docstring; what is indented in it is code, in Markdown too."""
    return (module.__doc__ or "").strip()
