"""The one template of all rooms: a verdict, figures with captions, sortable tables, and how it was all made.

A page is one file that needs no network. Figures that come with files lie beside it and are linked. It is light or dark as the
reader's system is, scrolls wide tables on a phone, and prints. A room only fills it in.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from exemplar.files import write_all
from exemplar.records import Score
from exemplar.report.tables import ChoiceTable, Table, score_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

PARTS = ("page.html", "page.css", "page.js")
PIXELS_PER_INCH = 96  # of a browser


@dataclass(frozen=True)
class Figure:
    """A picture and what to see in it.

    png: base64, or else svg; files: ending → content of the files beside the page, which are called `name`; width: px on a wide
    screen, the picture's own unless given; heading: stands above it, after a dot of `colour` if there is one.
    """

    caption: str
    png: str = ""
    svg: str = ""
    name: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    width: int = 0
    heading: str = ""
    colour: str = ""

    @classmethod
    def of_png(cls, content: bytes, caption: str) -> Figure:
        return cls(caption, png=base64.b64encode(content).decode())

    @classmethod
    def of_plot(
        cls, plot: Plot, caption: str, *, name: str, pixels: bool = False, heading: str = "", colour: str = ""
    ) -> Figure:
        """A matplotlib figure, whose PNG and SVG come to lie beside the page. pixels: it consists of pictures, so that the page
        itself shows the PNG."""
        from exemplar.report.figures import render

        files = render(plot)
        shown = {"png": base64.b64encode(files["png"]).decode()} if pixels else {"svg": files["svg"].decode()}
        width = round(PIXELS_PER_INCH * plot.get_figwidth())
        return cls(caption, **shown, name=name, files=files, width=width, heading=heading, colour=colour)

    @property
    def source(self) -> str:
        """A data URI: as an image of its own, an SVG shares no names with the others on the page."""
        if self.png:
            return f"data:image/png;base64,{self.png}"
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"

    @property
    def shown_width(self) -> int:
        """px, as far as the page has room."""
        return self.width or (png_width(self.png) if self.png else svg_width(self.svg))


@dataclass(frozen=True)
class Chapter:
    """A part of the page: text, figures, tables, scores (as one more table), notes in small print, commands to try.

    choices: tables whose numbers the reader chooses.
    """

    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    scores: Sequence[Score] = ()
    commands: str = ""
    tables: Sequence[Table] = ()
    choices: Sequence[ChoiceTable] = ()
    notes: Sequence[str] = ()

    @property
    def all_tables(self) -> list[Table]:
        return [*self.tables, *([score_table(self.scores)] if self.scores else [])]


def write_page(
    path: Path,
    title: str,
    lead: str,
    chapters: Sequence[Chapter],
    footer: str = "",
    *,
    verdict: str = "",
    made: Sequence[tuple[str, str]] = (),
    date: str = "",
    figures: str = "",
) -> Path:
    """Write the page, whole or not at all: first the figures beside it, last the page that links to them.

    verdict: what was found, in one sentence; made: (what, how), the rows of "How this was made" (`how_made` gives them for run
    folders), to which `date` is added if it is given; figures: the folder beside the page that figures with files go to,
    `NAME-figures` unless given.
    """
    folder = path.with_name(figures or f"{path.stem}-figures")
    rows = [*made, *([("date", date)] if date else [])]
    page = _environment().get_template("page.html").render(
        title=title, lead=lead, chapters=chapters, footer=footer, verdict=verdict, made=rows, folder=folder.name
    )  # fmt: skip
    shown = [figure for chapter in chapters for figure in chapter.figures]
    files = {folder / f"{figure.name}.{end}": content for figure in shown for end, content in figure.files.items()}
    write_all({**files, path: page.encode("utf-8", "replace")})  # names of files may hold what is not text
    return path


def data_uri(content: bytes) -> str:
    """A PNG as the source of an image."""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def png_width(content: str) -> int:
    """px of a PNG in base64, as its first chunk says; 0 where it is none."""
    head = base64.b64decode(content[:32])
    return int(struct.unpack(">I", head[16:20])[0]) if head.startswith(b"\x89PNG") and len(head) >= 20 else 0


def svg_width(markup: str) -> int:
    """px of an SVG that gives its width in points, as matplotlib does; 0 where it does not."""
    found = re.search(r'<svg[^>]*\bwidth="([\d.]+)pt"', markup)
    return round(float(found[1]) * PIXELS_PER_INCH / 72) if found else 0


@cache
def _environment() -> jinja2.Environment:
    sources = {name: resources.files("exemplar.report").joinpath(name).read_text(encoding="utf-8") for name in PARTS}
    return jinja2.Environment(
        loader=jinja2.DictLoader(sources), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
