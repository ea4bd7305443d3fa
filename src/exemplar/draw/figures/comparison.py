"""The page that compares drawers, on the template of all rooms."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from exemplar.draw.figures import tables
from exemplar.draw.figures.differences import differences_chapter
from exemplar.draw.figures.drawers import Drawers, drawers_called, is_own_drawers
from exemplar.draw.figures.plots import (
    AgentStyles,
    FittedCurve,
    Strip,
    agent_styles,
    interval,
    most_and_least,
    pick_along,
    plot_curves,
    plot_plane,
    plot_radar,
    plot_ranked,
)
from exemplar.draw.figures.verdicts import compare_verdict
from exemplar.draw.pairing import pair_runs
from exemplar.draw.scored_runs import ScoredRun, read_comparable
from exemplar.errors import UserError
from exemplar.report.page import Chapter, Figure, data_uri, write_page
from exemplar.runs import tell_apart

TITLE = "Draw another one"
N_EXTREMES = 5  # concepts at either end of a ranked sheet
N_COLUMNS = 20  # drawings of each concept on it
N_SPOKES, N_LINES = 16, 6  # concepts and agents on the radar
PLANE_TEXT = (
    "A good drawer of a new concept does two things that pull against each other: no two of its drawings are the same, and "
    "every one of them is still that concept. Copies of the exemplar are perfectly recognizable and not diverse at all; "
    "drawings of anything else are diverse, and nobody recognizes the concept in them."
)
CURVES_TEXT = (
    "Of a drawer's own drawings some stay close to the exemplar and some stray from it. Whoever has understood the concept can "
    "stray far and still be recognized: the curve stays high to the right."
)


def write_comparison(out: Path, runs: Sequence[Path]) -> Path:
    """One page about runs of `exemplar draw score`, whoever drew; of a single run it is a report."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"The comparison is an .html file: rename {out} to end with .html.")
    scored = named_runs(runs)
    drawers = drawers_called(scored[0].drawers)
    differences, lacking = pair_runs(scored, drawers.distance)
    styles = agent_styles([run.agent for run in scored])
    colours = {agent: style["color"] for agent, style in styles.items()}
    radar = show_radar(scored, styles, drawers)
    pairs = differences_chapter(scored, differences, lacking, styles, drawers)
    chapters = [
        Chapter(
            "Where it stands" if len(scored) == 1 else "Where each stands",
            (PLANE_TEXT,),
            [show_plane(scored, styles, drawers)],
            tables=[tables.overall_table(scored, colours, drawers)],
            notes=list(dict.fromkeys(drawers.in_words(note) for run in scored for note in run.notes)),
        ),
        *([pairs] if pairs else []),
        Chapter(
            "How far from the exemplar, and still recognized", (CURVES_TEXT,), [show_curves(scored, styles, drawers)]
        ),
        Chapter(
            "Concept by concept",
            figures=[radar] if radar else [],
            choices=[tables.concept_table(scored, [thumbnail(image) for image in scored[0].exemplars], drawers)],
        ),
        Chapter(
            "From the most diverse to the least",
            figures=[show_ranked(number, run, colours[run.agent]) for number, run in enumerate(scored, start=1)],
        ),
        Chapter("Every score", tables=[tables.every_score(scored, drawers)]),
    ]
    return write_page(
        out, TITLE, tables.lead(scored), chapters, "The run folders hold every record and score.",
        verdict=compare_verdict(scored, drawers, differences), made=tables.how_made(scored, out.name),
    )  # fmt: skip


def named_runs(folders: Sequence[Path]) -> list[ScoredRun]:
    """Comparable runs, with agents and scores as the page names them."""
    runs = read_comparable([Path(folder) for folder in folders])
    drawers = drawers_called(runs[0].drawers)
    return [
        replace(run, agent=name, scores=[replace(s, name=drawers.rename_score(s.name)) for s in run.scores])
        for run, name in zip(runs, shown_names(runs, drawers), strict=True)
    ]


def shown_names(runs: Sequence[ScoredRun], drawers: Drawers) -> list[str]:
    """Agents' names on the page: simulated drawers are not people, and two of one name are told apart by their folders."""
    return tell_apart([drawers.rename(run.agent, run.own) for run in runs], [run.folder for run in runs])


def show_plane(runs: Sequence[ScoredRun], styles: AgentStyles, drawers: Drawers) -> Figure:
    ways, among = tables.main_recognizability(runs[0])
    diversity, recognizability = (
        {run.agent: tables.required_score(run, name) for run in runs} for name in ("diversity", ways)
    )
    plot = plot_plane(diversity, recognizability, styles=styles, chance=1 / among, ylabel=tables.words(ways))
    several = any(len(critics) > 1 for critics in runs[0].critics.values())
    caption = (
        f"Each drawer's mean over {len(runs[0].concepts)} concepts: the further right, the more its drawings differ from each "
        f"other; the higher, the more of them are assigned to their own concept among {among}. Bars are 95 % intervals over "
        f"concepts{' and critics' if several else ''}"
        + (f"; the star is {drawers.them}." if any(map(is_own_drawers, diversity)) else ".")
    )
    return Figure.of_plot(plot, caption, name="plane")


def show_curves(runs: Sequence[ScoredRun], styles: AgentStyles, drawers: Drawers) -> Figure:
    curves = {run.agent: run.curve for run in runs}
    own_curve = next((curves[agent] for agent in curves if is_own_drawers(agent)), None)
    if own_curve is None:
        own_curve = next((run.people_curve for run in runs if run.people_curve is not None), None)
        if own_curve is not None:
            curves[drawers.agent] = own_curve
            styles = {**styles, **agent_styles([drawers.agent])}
    within, extent = originality_axis(runs, own_curve)
    beyond = [run.agent for run in runs if run not in within]
    plot = plot_curves(
        {agent: curve for agent, curve in curves.items() if agent not in beyond},
        {run.agent: (run.density_at, run.density) for run in within},
        {run.agent: pick_strip(run, extent) for run in within},
        extent=extent,
        styles=styles,
        ylabel=tables.words(tables.main_recognizability(runs[0])[0]),
    )
    caption = (
        "Top: how each drawer's drawings are distributed over originality, their distance to the exemplar (each scaled to its "
        "own maximum). Middle: how recognizable they are there; a point is a bin of each concept's drawings, the line a "
        "polynomial of degree 2, bars and bands are 95 % intervals. Bottom: drawings of that originality under the exemplars "
        "they follow (red); in each step, the one nearest to its middle."
        + (f" Too far out to be on this axis: {tables.list_names(beyond)}." if beyond else "")
    )
    return Figure.of_plot(plot, caption, name="curves")


def originality_axis(
    runs: Sequence[ScoredRun], own_curve: FittedCurve | None
) -> tuple[list[ScoredRun], tuple[float, float]]:
    """Who is shown on the axis of originality, and its ends, between which nearly all their drawings lie.

    Left out is whose curve begins beyond three times where that of the data's own drawers ends, and there the axis ends: else
    noise, very far from any exemplar, would leave no room for the others.
    """
    limit = np.inf if own_curve is None else 3 * float(own_curve.originality.max())
    within = [run for run in runs if run.curve.originality.min() <= limit] or list(runs)
    low, high = np.quantile([np.quantile(run.originality, (0.005, 0.995)) for run in within], (0, 1))
    high = max(min(high, limit), low)
    margin = 0.03 * (high - low) or 0.1
    return within, (float(low - margin), float(high + margin))


def pick_strip(run: ScoredRun, extent: tuple[float, float]) -> Strip:
    places, chosen = pick_along(run.originality.ravel(), extent)
    concept, index = np.divmod(chosen, run.n)
    return Strip(places, run.exemplars[concept], run.drawings()[concept, index])


def show_ranked(number: int, run: ScoredRun, colour: str) -> Figure:
    """The concepts an agent draws most and least diversely; of each its drawings from the nearest to the exemplar on."""
    scores = [tables.required_score(run, "diversity", concept) for concept in run.concepts]
    values = np.array([score.value for score in scores])
    chosen, breaks = most_and_least(values, N_EXTREMES)
    columns = np.unique(np.linspace(0, run.n - 1, min(run.n, N_COLUMNS)).round().astype(int))
    nearest = np.argsort(run.originality[chosen], axis=1, kind="stable")[:, columns]
    drawings = run.drawings()[chosen[:, None], nearest]
    rank = np.argsort(np.argsort(-values, kind="stable")) + 1
    labels = [f"{rank[c]}. {run.concepts[c]}\n{values[c]:.3f}{interval(scores[c], 3)}" for c in chosen]
    plot = plot_ranked(run.exemplars[chosen], drawings, labels, breaks=breaks)
    what = (
        f"The {N_EXTREMES} most and the {N_EXTREMES} least diverse concepts"
        if breaks
        else "Every concept, most diverse first"
    )
    caption = (
        f"{what}, with rank, diversity and its 95 % interval. In the frame the exemplar, then {len(columns)} drawings"
        f"{'' if len(columns) == run.n else f' of {run.n}'} by {run.agent}, from the nearest to it to the farthest."
    )
    name = re.sub(r"[^A-Za-z0-9.]+", "-", run.agent).strip("-") or "agent"
    return Figure.of_plot(
        plot, caption, name=f"ranked-{number:02d}-{name}", pixels=True, heading=run.agent, colour=colour
    )


def show_radar(runs: Sequence[ScoredRun], styles: AgentStyles, drawers: Drawers) -> Figure | None:
    """None where there are no distances to the data's own drawers, or too few concepts for a radar."""
    found = {run.agent: run.by_concept(drawers.distance) for run in runs if not is_own_drawers(run.agent)}
    distances = {
        a: np.array([s.value for s in scores if s is not None]) for a, scores in found.items() if None not in scores
    }
    if not distances or len(runs[0].concepts) < 3:
        return None
    nearest = sorted(distances, key=lambda agent: float(np.median(distances[agent])))[:N_LINES]
    order = np.argsort(np.mean([distances[agent] for agent in nearest], axis=0), kind="stable")
    steps = np.unique(np.linspace(0, len(order) - 1, min(N_SPOKES, len(order))).round().astype(int))
    spokes = np.sort(order[steps])  # in the data's order: sorted by distance, they would make a spiral of any agent
    shown = {agent: distances[agent][spokes] for agent in distances if agent in nearest}
    plot = plot_radar(shown, runs[0].exemplars[spokes], styles=styles)
    them = drawers.them
    which = (
        "All concepts"
        if len(spokes) == len(order)
        else f"{len(spokes)} of the {len(order)} concepts, taken at equal steps from the one where drawers are nearest to "
        f"{them} to the one where they are farthest,"
    )
    caption = (
        f"Distance to {them}, concept by concept: 0, in the centre, is where {them} are, and the scale is a square root. "
        f"{which} in the order of the data"
        + (f"; the {N_LINES} drawers nearest to {them}." if len(distances) > N_LINES else ".")
    )
    return Figure.of_plot(plot, caption, name="radar")


def thumbnail(image: np.ndarray) -> str:
    """A drawing as a data URI, ink dark on white. image: (h, w) uint8, ink 255."""
    buffer = io.BytesIO()
    Image.fromarray(255 - image).save(buffer, "PNG", optimize=True)
    return data_uri(buffer.getvalue())
