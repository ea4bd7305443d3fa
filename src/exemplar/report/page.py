"""The one template of all rooms: a verdict, figures with captions, sortable tables, and how it was all made.

A page is one file that needs no network; each figure lies beside it too, as PNG and SVG. It is light or dark as the reader's
system is, scrolls wide tables on a phone, and prints. A room only fills it in.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import jinja2

from exemplar.files import reading, whole_file, write_all
from exemplar.records import Score
from exemplar.report.marks import MARK, check_ours, is_ours, mark_png, mark_svg
from exemplar.report.tables import ChoiceTable, Table, format_percent, score_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

PARTS = ("page.html", "page.css", "page.js")
PIXELS_PER_INCH = 96  # of a browser
FIGURES, ENDINGS = "figures", ("png", "svg")


@dataclass(frozen=True)
class Figure:
    """A picture and what to see in it.

    name: of its files; files: ending → content, a PNG and an SVG; width: px on a wide screen; pixels: it consists of pictures,
    so that the page shows the PNG; heading: stands above it, after a dot of `colour` if there is one.
    """

    caption: str
    name: str
    files: Mapping[str, bytes]
    width: int
    pixels: bool = False
    heading: str = ""
    colour: str = ""

    @classmethod
    def of_png(cls, content: bytes, caption: str, *, name: str) -> Figure:
        """A sheet of pictures. Its SVG holds the same pixels, for programs that want one."""
        width, height = png_size(content)
        files = {"png": mark_png(content), "svg": _wrap(content, width, height)}
        return cls(caption, name, files, width, pixels=True)

    @classmethod
    def of_plot(
        cls, plot: Plot, caption: str, *, name: str, pixels: bool = False, heading: str = "", colour: str = ""
    ) -> Figure:
        """A matplotlib figure. pixels: it consists of pictures."""
        from exemplar.report.figures import render

        width = round(PIXELS_PER_INCH * plot.get_figwidth())
        return cls(caption, name, _mark(render(plot)), width, pixels, heading, colour)

    @classmethod
    def of_files(cls, folder: Path, caption: str, *, name: str, pixels: bool = False) -> Figure:
        """A figure that `save_plot` left in a run's folder. pixels: it consists of pictures."""
        files = {}
        for ending in ENDINGS:
            with reading(folder / FIGURES / f"{name}.{ending}", "a figure of this run"):
                files[ending] = (folder / FIGURES / f"{name}.{ending}").read_bytes()
        return cls(caption, name, files, svg_width(files["svg"].decode("utf-8", "replace")), pixels)

    @property
    def source(self) -> str:
        """A data URI: as an image of its own, an SVG shares no names with the others on the page."""
        kind, ending = ("png", "png") if self.pixels else ("svg+xml", "svg")
        return f"data:image/{kind};base64,{base64.b64encode(self.files[ending]).decode()}"


@dataclass(frozen=True)
class Headline:
    """A share that opens a long page. what: it is of, in a few words."""

    score: Score
    what: str

    @property
    def words(self) -> tuple[str, str]:
        """The share, and its interval without the first bracket, in %."""
        share, _, interval = format_percent(self.score).partition(" [")
        return share, interval


@dataclass(frozen=True)
class Chapter:
    """A part of the page: text, figures, tables, scores (as one more table), notes in small print, commands to try.

    choices: tables whose numbers the reader chooses; beside: figures stand side by side where there is room; headline, opening:
    a number and a figure to open a long page with.
    """

    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    scores: Sequence[Score] = ()
    commands: str = ""
    tables: Sequence[Table] = ()
    choices: Sequence[ChoiceTable] = ()
    notes: Sequence[str] = ()
    beside: bool = False
    headline: Headline | None = None
    opening: Figure | None = None

    @property
    def all_tables(self) -> list[Table]:
        return [*self.tables, *([score_table(self.scores)] if self.scores else [])]

    @property
    def place(self) -> str:
        """Where a link to it leads."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


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
    contents: bool = False,
) -> Path:
    """Write the page, whole or not at all: first the figures beside it, last the page that links to them.

    verdict: what was found, in one sentence; made: (what, how), the rows of "How this was made" (`how_made` gives them for run
    folders), to which `date` is added if it is given; contents: open with the chapters' figure and numbers, and a list of them.
    Figures lie in `figures_folder(path)`; those that an older page linked to and this one does not are removed. No file that is
    not Exemplar's own is written over.
    """
    folder = figures_folder(path)
    rows = [*made, *([("date", date)] if date else [])]
    opening = next((chapter.opening for chapter in chapters if chapter.opening), None) if contents else None
    figures = [*([opening] if opening else []), *(figure for chapter in chapters for figure in chapter.figures)]
    files = {
        folder / f"{figure.name}.{ending}": content for figure in figures for ending, content in figure.files.items()
    }
    page = _environment().get_template("page.html").render(
        title=title, lead=lead, chapters=chapters, footer=footer, verdict=verdict, made=rows, folder=folder.name,
        contents=contents, opening=opening, mark=MARK,
    )  # fmt: skip
    before = linked_figures(path)
    for place in (path, *files):
        check_ours(place)
    write_all({**files, path: page.encode("utf-8", "replace")})  # names of files may hold what is not text
    for stale in before - set(files):
        if is_ours(stale):
            stale.unlink(missing_ok=True)
    return path


def figures_folder(path: Path) -> Path:
    """Where the figures of a page lie: `figures` beside an index, else `NAME-figures`."""
    return path.with_name(FIGURES if path.stem == "index" else f"{path.stem}-{FIGURES}")


def save_plot(plot: Plot, folder: Path, name: str) -> None:
    """Keep a figure in a run's folder, where the run's page has it."""
    from exemplar.report.figures import render

    for ending, content in _mark(render(plot)).items():
        with whole_file(folder / FIGURES / f"{name}.{ending}") as part:
            part.write_bytes(content)


def linked_figures(path: Path) -> set[Path]:
    """The figures that a page of ours links to."""
    if not (path.is_file() and is_ours(path)):
        return set()
    folder, text = figures_folder(path), path.read_text(encoding="utf-8", errors="replace")
    links = re.findall(f'<a href="{re.escape(quote(folder.name))}/([^"/]+)"', text)
    return {folder / unquote(link) for link in links}


def data_uri(content: bytes) -> str:
    """A PNG as the source of an image."""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def png_size(content: bytes) -> tuple[int, int]:
    """px across and down, as the first chunk of a PNG says."""
    width, height = struct.unpack(">II", content[16:24])
    return int(width), int(height)


def svg_width(markup: str) -> int:
    """px of an SVG that gives its width in points, as matplotlib does; 0 where it does not."""
    found = re.search(r'<svg[^>]*\bwidth="([\d.]+)pt"', markup)
    return round(float(found[1]) * PIXELS_PER_INCH / 72) if found else 0


def _mark(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {"png": mark_png(files["png"]), "svg": mark_svg(files["svg"])}


def _wrap(content: bytes, width: int, height: int) -> bytes:
    size = f'width="{width}" height="{height}"'
    image = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><image {size} href="{data_uri(content)}"/></svg>'
    return mark_svg(image.encode())


@cache
def _environment() -> jinja2.Environment:
    sources = {name: resources.files("exemplar.report").joinpath(name).read_text(encoding="utf-8") for name in PARTS}
    return jinja2.Environment(
        loader=jinja2.DictLoader(sources), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
