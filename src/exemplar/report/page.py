"""A page of chapters: text, figures, scores and the commands that make them again, in one file that needs no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2

from exemplar.files import whole_file
from exemplar.records import Score


@dataclass(frozen=True)
class Figure:
    """A picture and what to see in it; png: base64, or else svg."""

    caption: str
    png: str = ""
    svg: str = ""

    @classmethod
    def of_png(cls, content: bytes, caption: str) -> Figure:
        return cls(caption, png=base64.b64encode(content).decode())


@dataclass(frozen=True)
class Chapter:
    """A part of the page."""

    title: str
    text: Sequence[str]
    figures: Sequence[Figure] = ()
    scores: Sequence[Score] = ()
    commands: str = ""


def write_page(path: Path, title: str, lead: str, chapters: Sequence[Chapter], footer: str) -> Path:
    source = resources.files("exemplar.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(source).render(title=title, lead=lead, chapters=chapters, footer=footer)
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8")
    return path
