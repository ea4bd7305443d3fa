"""The page that compares drawers: one file that needs no network, its figures beside it as PNG and SVG."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from exemplar.draw.figures import tables
from exemplar.draw.figures.plots import (
    PEOPLE,
    FittedCurve,
    Looks,
    Strip,
    interval,
    looks,
    most_and_least,
    pick_along,
    plot_curves,
    plot_plane,
    plot_radar,
    plot_ranked,
    render,
)
from exemplar.draw.scored_runs import JudgedRun, read_comparable
from exemplar.errors import UserError
from exemplar.files import whole_file

TITLE = "Draw another one"
EXTREMES = 5  # concepts at either end of a ranked sheet
COLUMNS = 20  # drawings of a concept on it
SPOKES, LINES = 16, 6  # concepts and agents on the radar


@dataclass(frozen=True)
class Shown:
    """A figure on the page. name: of its files; picture: a data URI; width: px; links: ending → its file beside the page."""

    name: str
    caption: str
    picture: str
    width: int
    links: dict[str, str]


class Gallery:
    """The figures of a page, each made once; `write` puts them beside it."""

    def __init__(self, page: Path) -> None:
        self.folder = page.with_name(f"{page.stem}-figures")
        self.files: dict[str, bytes] = {}

    def add(self, name: str, figure: Figure, caption: str, *, embed: str = "svg") -> Shown:
        links = {}
        for ending, content in render(figure).items():
            self.files[f"{name}.{ending}"] = content
            links[ending] = f"{self.folder.name}/{name}.{ending}"
        kind = {"svg": "svg+xml", "png": "png"}[embed]
        width = round(96 * figure.get_figwidth())  # a browser's inch
        return Shown(name, caption, data_uri(self.files[f"{name}.{embed}"], kind), width, links)

    def write(self) -> None:
        for name, content in self.files.items():
            with whole_file(self.folder / name) as part:
                part.write_bytes(content)


def write_comparison(out: Path, runs: Sequence[Path]) -> Path:
    """One page about runs of `exemplar draw score`, whoever drew; of a single run it is a report."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"the comparison is a page: call {out} something.html")
    judged = read_comparable([Path(folder) for folder in runs])
    gallery, look = Gallery(out), looks([run.agent for run in judged])
    context = {
        "title": TITLE,
        "lead": tables.lead(judged),
        "agents": [run.agent for run in judged],
        "look": look,
        "first": judged[0],
        "plane": show_plane(gallery, judged, look),
        "curves": show_curves(gallery, judged, look),
        "sheets": {run.agent: show_ranked(gallery, number, run) for number, run in enumerate(judged, start=1)},
        "radar": show_radar(gallery, judged, look),
        "overall": tables.overall_table(judged),
        "every": tables.every_score(judged),
        "concepts": tables.concept_table(judged),
        "notes": list(dict.fromkeys(note for run in judged for note in run.notes)),
        "made": tables.how_made(judged),
        "footer": tables.footer(judged),
        "thumbnails": [thumbnail(exemplar) for exemplar in judged[0].exemplars],
    }
    page = render_page(context)
    gallery.write()
    with whole_file(out) as part:  # last, so that what it links to is there
        part.write_bytes(page.encode("utf-8", "replace"))  # names of files may hold what is no text
    return out


def render_page(context: dict[str, Any]) -> str:
    """comparison.html, in the style of page.html."""
    sources = {
        name: resources.files(package).joinpath(name).read_text(encoding="utf-8")
        for package, name in (("exemplar.report", "page.html"), ("exemplar.draw.figures", "comparison.html"))
    }
    style = sources["page.html"].partition("<style>")[2].partition("</style>")[0]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"words": tables.words, "number": tables.number, "explain": tables.explain}
    return environment.from_string(sources["comparison.html"]).render(style=style, **context)


def show_plane(gallery: Gallery, runs: Sequence[JudgedRun], look: Looks) -> Shown:
    ways, among = tables.main_recognizability(runs[0])
    diversity, recognizability = ({run.agent: tables.needed(run, name) for run in runs} for name in ("diversity", ways))
    figure = plot_plane(diversity, recognizability, look=look, chance=1 / among, ylabel=tables.words(ways))
    caption = (
        f"Each drawer's {len(runs[0].concepts)} concepts on average: to the right, drawings that differ more from each other; "
        f"above, drawings given more often to their own concept among {among}. Bars are 95 % intervals over concepts"
        + (" and critics" if any(len(critics) > 1 for critics in runs[0].critics.values()) else "")
        + (", the star is people." if PEOPLE in diversity else ".")
    )
    return gallery.add("plane", figure, caption)


def show_curves(gallery: Gallery, runs: Sequence[JudgedRun], look: Looks) -> Shown:
    curves = {run.agent: run.curve for run in runs}
    of_people = next((run.people_curve for run in runs if run.people_curve is not None), None)
    if PEOPLE not in curves and of_people is not None:
        curves[PEOPLE] = of_people
        look = {**look, **looks([PEOPLE])}
    within, extent = originality_axis(runs, curves.get(PEOPLE))
    beyond = [run.agent for run in runs if run not in within]
    figure = plot_curves(
        {agent: curve for agent, curve in curves.items() if agent not in beyond},
        {run.agent: (run.density_at, run.density) for run in within},
        {run.agent: pick_strip(run, extent) for run in within},
        extent=extent,
        look=look,
        ylabel=tables.words(tables.main_recognizability(runs[0])[0]),
    )
    caption = (
        "Above, how each drawer's drawings are spread over originality, their distance to the exemplar (each to its own "
        "height). In the middle, how recognizable they are there: a point is a bin of each concept's drawings, the line a "
        "polynomial of degree 2, bars and bands 95 % intervals. Below, drawings of that originality, under the exemplars "
        "they follow (red); of all in a step, the one nearest to its middle."
        + (f" So far out that they are not on this axis: {' and '.join(beyond)}." if beyond else "")
    )
    return gallery.add("curves", figure, caption)


def originality_axis(
    runs: Sequence[JudgedRun], people: FittedCurve | None
) -> tuple[list[JudgedRun], tuple[float, float]]:
    """Who is shown on the axis of originality, and its ends, between which lie nearly all their drawings.

    Nobody is whose curve begins beyond three times where people's ends, and there the axis ends: else noise, very far from
    any exemplar, leaves no room for the others.
    """
    limit = np.inf if people is None else 3 * float(people.originality.max())
    within = [run for run in runs if run.curve.originality.min() <= limit] or list(runs)
    low, high = np.quantile([np.quantile(run.originality, (0.005, 0.995)) for run in within], (0, 1))
    high = max(min(high, limit), low)
    margin = 0.03 * (high - low) or 0.1
    return within, (float(low - margin), float(high + margin))


def pick_strip(run: JudgedRun, extent: tuple[float, float]) -> Strip:
    places, chosen = pick_along(run.originality.ravel(), extent)
    concept, index = np.divmod(chosen, run.n)
    return Strip(places, run.exemplars[concept], run.drawings()[concept, index])


def show_ranked(gallery: Gallery, number: int, run: JudgedRun) -> Shown:
    """The concepts an agent draws most and least diversely; of each its drawings from the nearest to the exemplar on."""
    scores = [tables.needed(run, "diversity", concept) for concept in run.concepts]
    values = np.array([score.value for score in scores])
    chosen, breaks = most_and_least(values, EXTREMES)
    columns = np.unique(np.linspace(0, run.n - 1, min(run.n, COLUMNS)).round().astype(int))
    nearest = np.argsort(run.originality[chosen], axis=1, kind="stable")[:, columns]
    drawings = run.drawings()[chosen[:, None], nearest]
    rank = np.argsort(np.argsort(-values, kind="stable")) + 1
    labels = [f"{rank[c]}. {run.concepts[c]}\n{values[c]:.3f}{interval(scores[c], 3)}" for c in chosen]
    figure = plot_ranked(run.exemplars[chosen], drawings, labels, breaks=breaks)
    what = (
        f"The {EXTREMES} most and the {EXTREMES} least diverse concepts"
        if breaks
        else "Every concept, most diverse first"
    )
    caption = (
        f"{what}, with rank, diversity and its 95 % interval. In the frame the exemplar, then {len(columns)} drawings"
        f"{'' if len(columns) == run.n else f' of {run.n}'} by {run.agent}, from the nearest to it to the farthest."
    )
    name = re.sub(r"[^A-Za-z0-9.]+", "-", run.agent).strip("-") or "agent"
    return gallery.add(f"ranked-{number:02d}-{name}", figure, caption, embed="png")


def show_radar(gallery: Gallery, runs: Sequence[JudgedRun], look: Looks) -> Shown | None:
    """None where there are no distances to people, or too few concepts for a radar."""
    found = {run.agent: run.by_concept("distance_to_people") for run in runs if run.agent != PEOPLE}
    distances = {
        a: np.array([s.value for s in scores if s is not None]) for a, scores in found.items() if None not in scores
    }
    if not distances or len(runs[0].concepts) < 3:
        return None
    nearest = sorted(distances, key=lambda agent: float(np.median(distances[agent])))[:LINES]
    order = np.argsort(np.mean([distances[agent] for agent in nearest], axis=0), kind="stable")
    steps = np.unique(np.linspace(0, len(order) - 1, min(SPOKES, len(order))).round().astype(int))
    spokes = np.sort(order[steps])  # in the data's order: sorted by distance, they would make a spiral of any agent
    shown = {agent: distances[agent][spokes] for agent in distances if agent in nearest}
    figure = plot_radar(shown, runs[0].exemplars[spokes], look=look)
    caption = (
        "How far from people, concept by concept: 0, in the middle, is where people are, and the scale is a square root. "
        + (
            "All concepts"
            if len(spokes) == len(order)
            else f"{len(spokes)} of the {len(order)} concepts, taken at equal steps "
            "from the one where drawers are nearest to people to the one where they are farthest,"
        )
        + " in the order of the data"
        + (f"; the {LINES} drawers nearest to people." if len(distances) > LINES else ".")
    )
    return gallery.add("radar", figure, caption)


def thumbnail(image: np.ndarray) -> str:
    """A drawing as a data URI, ink dark on white. image: (h, w) uint8, ink 255."""
    buffer = io.BytesIO()
    Image.fromarray(255 - image).save(buffer, "PNG", optimize=True)
    return data_uri(buffer.getvalue(), "png")


def data_uri(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
