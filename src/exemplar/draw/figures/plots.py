"""Figures of a comparison of drawers: the plane, the generalization curves, ranked sheets, the radar.

Arrays and scores in, a matplotlib figure out; `render` makes the files of it, the same bytes for the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.patches import Rectangle

from exemplar.draw.figures.drawers import is_own_drawers
from exemplar.draw.scored_runs import FittedCurve
from exemplar.records import Score
from exemplar.report.figures import ACCENT, DPI, HUES, INK, QUIET, styled
from exemplar.report.figures import render as render
from exemplar.report.labels import name_points
from exemplar.report.resizing import resize

MARKERS = "osD^vPXh<>pd"
CELL, GAP = 64, 6  # px of a drawing on a sheet, and between two
ROUNDING = 1e-9  # relative: what lies on the border of a step is in it
RINGS = np.outer(10.0 ** np.arange(-4, 5), (1, 2, 5)).ravel()  # distances a radar may mark
N_ALONG = 16  # drawings on a strip, from one end of the axis to the other


@dataclass(frozen=True, eq=False)
class Strip:
    """Some drawings of an agent. originality: (m,); exemplars, drawings: (m, h, w) uint8, ink 255."""

    originality: np.ndarray
    exemplars: np.ndarray
    drawings: np.ndarray


AgentStyles = Mapping[str, dict[str, Any]]


def agent_styles(agents: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each agent; the data's own drawers are a black star. Make them once for all agents of a page:
    each then looks the same on every figure."""
    others = [agent for agent in agents if not is_own_drawers(agent)]
    found = {a: {"color": HUES[k % len(HUES)], "marker": MARKERS[k % len(MARKERS)]} for k, a in enumerate(others)}
    return {a: found.get(a, {"color": INK, "marker": "*"}) for a in agents}


def agent_families(agents: Sequence[str]) -> list[list[str]]:
    """Agents that differ by one parameter, `redraw@0.5` and `redraw@2`, in its order; those alone are left out."""
    knobs: dict[str, list[tuple[float, str]]] = {}
    for agent in agents:
        if found := re.fullmatch(r"(.+)[:@](\d+\.?\d*)", agent):
            knobs.setdefault(found[1], []).append((float(found[2]), agent))
    return [[agent for _, agent in sorted(family)] for family in knobs.values() if len(family) > 1]


@styled
def plot_plane(
    diversity: Mapping[str, Score],
    recognizability: Mapping[str, Score],
    *,
    styles: AgentStyles | None = None,
    chance: float | None = None,
    xlabel: str = "diversity",
    ylabel: str = "recognizability",
) -> Figure:
    """Each agent at its diversity and recognizability, with both intervals; agents that differ by one parameter are joined, and
    the data's own drawers are the star."""
    figure = Figure(figsize=(7.6, 5.2))
    axes = figure.add_axes((0.09, 0.11, 0.89, 0.86))
    agents = list(diversity)
    place = np.array([[diversity[agent].value, recognizability[agent].value] for agent in agents])
    right = float(np.nanmax([[score.value, score.ci95[1]] for score in diversity.values()])) or 1.0
    axes.set(xlim=(-0.06 * right, 1.12 * right), ylim=(-0.04, 1.06), xlabel=xlabel, ylabel=ylabel)
    styles = styles or agent_styles(agents)
    busy = []
    for family in agent_families(agents):
        line = place[[agents.index(agent) for agent in family]]
        axes.plot(*line.T, color="#d8d4ca", linewidth=1.5, zorder=1)
        busy.append(np.linspace(line[:-1], line[1:], 20).reshape(-1, 2))
    for agent, (x, y) in zip(agents, place, strict=True):
        star = is_own_drawers(agent)
        axes.errorbar(
            x, y, xerr=error_bar(diversity[agent]), yerr=error_bar(recognizability[agent]), **styles[agent], capsize=3,
            markersize=18 if star else 8, linewidth=1.3, markeredgecolor="white", markeredgewidth=0.8, zorder=4 if star else 3,
        )  # fmt: skip
    if chance is not None:
        end = 1.12 * right
        axes.axhline(chance, color=QUIET, linestyle="--", linewidth=1, zorder=0)
        axes.annotate(
            "chance", (end, chance), xytext=(0, 3), textcoords="offset points", color=QUIET, ha="right", fontsize=10
        )
        busy.append(np.array([[0.97 * end, chance], [0.94 * end, chance]]))
    name_points(axes, agents, place, [styles[agent]["color"] for agent in agents], busy=np.vstack([place, *busy]))
    return figure


@styled
def plot_curves(
    curves: Mapping[str, FittedCurve],
    densities: Mapping[str, tuple[np.ndarray, np.ndarray]],
    strips: Mapping[str, Strip],
    *,
    extent: tuple[float, float],
    styles: AgentStyles | None = None,
    ylabel: str = "recognizability",
) -> Figure:
    """Three things on one axis of originality: how the drawings are spread over it, how recognizable they are there (bins,
    and the curve through them, with 95 % intervals), and some drawings of each agent under their exemplars.

    densities: agent → places and density there, (g,) each; strips: which drawings, none where empty; extent: ends of the axis.
    """
    styles = styles or agent_styles(list(curves))
    spread, top, tall = 0.9, 4.3, 0.86  # inches of the densities, of them and the curves, of each agent's drawings
    height = top + tall * len(strips)
    figure = Figure(figsize=(9, height))
    left = 0.02 + 0.0087 * max([8, *map(len, strips)])  # room for the agents' names

    def panel(above: float, high: float) -> Axes:
        """The axes that begin `above` inches under the upper edge."""
        axes: Axes = figure.add_axes((left, 1 - (above + high) / height, 0.985 - left, high / height))
        axes.set(xlim=extent)
        return axes

    over, axes = panel(0.05, spread - 0.1), panel(spread, top - spread - 0.55)
    for agent, (place, density) in densities.items():
        height_there = density / (density.max() or 1)  # 0 everywhere where all drawings are equally original
        over.fill_between(place, height_there, color=styles[agent]["color"], alpha=0.12, linewidth=0)
        over.plot(place, height_there, color=styles[agent]["color"], linewidth=1.2)
    over.set(ylim=(0, 1.05), xticks=[], yticks=[])
    over.set_ylabel("drawings", fontsize=9.5, color="#444")
    for agent, curve in curves.items():
        colour, star = styles[agent]["color"], is_own_drawers(agent)
        axes.fill_between(curve.fit_at, curve.fit_lo, curve.fit_hi, color=colour, alpha=0.13, linewidth=0)
        axes.plot(curve.fit_at, curve.fit, color=colour, linewidth=2.4 if star else 1.5, zorder=2)
        bars = np.clip([curve.recognised - curve.lo, curve.hi - curve.recognised], 0, None)
        axes.errorbar(
            curve.originality, curve.recognised, yerr=bars, **styles[agent], linestyle="", markersize=12 if star else 6,
            linewidth=0.9, markeredgecolor="white", markeredgewidth=0.6, label=agent, zorder=4 if star else 3,
        )  # fmt: skip
    axes.set(ylim=(-0.04, 1.05), ylabel=ylabel, xlabel="originality")
    axes.legend(fontsize=9.5, ncols=1 + len(curves) // 7, loc="best")
    for row, (agent, strip) in enumerate(strips.items()):
        below = panel(top + row * tall, tall - 0.04)
        below.set(ylim=(0, 1), xticks=[], yticks=[])
        below.spines[:].set_visible(False)
        for x, exemplar, drawing in zip(strip.originality, strip.exemplars, strip.drawings, strict=True):
            picture_at(below, drawing, (x, 0.33), side=0.41)
            picture_at(below, exemplar, (x, 0.83), side=0.24, edge=ACCENT)
        below.set_ylabel(agent, rotation=0, ha="right", va="center", fontsize=9.5, color=styles[agent]["color"])
    return figure


def pick_along(originality: np.ndarray, extent: tuple[float, float], n: int = N_ALONG) -> tuple[np.ndarray, np.ndarray]:
    """Of (many,) drawings, which to show on an axis cut into n cells: in each cell the one nearest to its middle.

    Returns the middles (m,) of the cells that hold a drawing, and the drawings' places (m,).
    """
    low, high = extent
    middle = low + (np.arange(n) + 0.5) * (high - low) / n
    nearest = np.abs(originality[None, :] - middle[:, None]).argmin(axis=1)
    filled = np.abs(originality[nearest] - middle) <= (high - low) / (2 * n) * (1 + ROUNDING)
    return middle[filled], nearest[filled]


def most_and_least(values: np.ndarray, n_each: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """For `plot_ranked`: rows of the n_each largest and the n_each smallest of (k,) values, falling, and the breaks between
    the two; all rows and no break where there are not more."""
    order = np.argsort(-values, kind="stable")
    if len(order) <= 2 * n_each:
        return order, ()
    return np.concatenate([order[:n_each], order[-n_each:]]), (n_each,)


@styled
def plot_ranked(
    exemplars: np.ndarray, drawings: np.ndarray, labels: Sequence[str], *, breaks: Sequence[int] = ()
) -> Figure:
    """One row per concept: its name, the exemplar in a frame, and drawings of it.

    exemplars: (rows, h, w), drawings: (rows, columns, …), uint8 with ink 255, of any size; breaks: rows with air above them.
    """
    rows, columns = drawings.shape[:2]
    side = 10.2 * max(len(line) for label in labels for line in label.split("\n")) + 16  # px for the names
    left, air = side + CELL + 3 * GAP, 5 * GAP
    width, height = left + columns * (CELL + GAP), rows * (CELL + GAP) + GAP + air * len(breaks)
    figure = Figure(figsize=(width / DPI, height / DPI))
    axes = figure.add_axes((0, 0, 1, 1))
    framed = 255 - resize(exemplars, (CELL, CELL))  # by themselves: drawings may have another size
    shown = 255 - resize(drawings.reshape(-1, *drawings.shape[2:]), (CELL, CELL)).reshape(rows, columns, CELL, CELL)
    line = np.full((rows, CELL, columns, CELL + GAP), 255, np.uint8)
    line[..., :CELL] = shown.transpose(0, 2, 1, 3)
    for row, label in enumerate(labels):
        top = GAP + row * (CELL + GAP) + air * sum(row >= start for start in breaks)
        axes.text(side - 10, top + CELL / 2, label, ha="right", va="center", fontsize=8, color="#444", linespacing=1.5)
        for start, picture in ((side, framed[row]), (left, line[row].reshape(CELL, -1))):
            ends = (start, start + picture.shape[1], top + CELL, top)
            axes.imshow(picture, cmap="gray", vmin=0, vmax=255, extent=ends, interpolation="none", aspect="auto")
        axes.add_patch(Rectangle((side - 1, top - 1), CELL + 2, CELL + 2, fill=False, edgecolor=ACCENT, linewidth=1.2))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return figure


@styled
def plot_radar(
    distances: Mapping[str, np.ndarray], exemplars: np.ndarray, *, styles: AgentStyles | None = None
) -> Figure:
    """How far each agent is from the data's own drawers in some concepts, whose exemplars stand around; on a square-root scale.

    distances: agent → (k,), at least 0; exemplars: (k, h, w) uint8 with ink 255.
    """
    n_spokes = len(exemplars)
    width = 6.9 + 0.1 * max(map(len, distances))  # inches, with room for the agents' names
    figure = Figure(figsize=(width, 6.2))
    axes: Any = figure.add_axes((0.55 / width, 0.09, 5.08 / width, 0.82), projection="polar")
    angle = np.arange(n_spokes) * 2 * np.pi / n_spokes
    root = {agent: np.sqrt(distance) for agent, distance in distances.items()}  # else one far agent hides all near ones
    edge = 1.05 * max(float(distance.max()) for distance in root.values()) or 1.0
    around = np.append(np.arange(n_spokes), 0)
    styles = styles or agent_styles(list(distances))
    for agent, distance in root.items():
        axes.plot(angle[around], distance[around], **styles[agent], markersize=4.5, linewidth=1.7, label=agent)
        axes.fill(angle, distance, color=styles[agent]["color"], alpha=0.06, linewidth=0)
    rings = [ring for ring in RINGS if edge**2 / 50 <= ring <= edge**2]
    axes.set(ylim=(0, edge), xticks=angle, xticklabels=[""] * n_spokes)
    axes.set_yticks(np.sqrt(rings), [f"{ring:g}" for ring in rings])
    axes.set_rlabel_position(180 / n_spokes)  # between two spokes
    axes.tick_params(axis="y", labelsize=8.5, labelcolor="#777")
    axes.grid(color="#e3e0d8")
    axes.spines["polar"].set_color("#cfcbc0")
    for place, exemplar in zip(angle, exemplars, strict=True):
        picture_at(axes, exemplar, (place, 1.12 * edge), side=0.42, edge=ACCENT)
    axes.legend(loc="upper left", bbox_to_anchor=(1.16, 1.05), fontsize=10)
    return figure


def error_bar(score: Score) -> np.ndarray:
    """(2, 1) from the value down and up to the ends of its interval; 0 where there is none."""
    ends = np.abs(np.array(score.ci95) - score.value)
    return np.nan_to_num(ends)[:, None]


def interval(score: Score, digits: int = 2) -> str:
    """As in 0.85 [0.79, 0.91], with a space before; nothing where there is none."""
    low, high = score.ci95
    return f" [{low:.{digits}f}, {high:.{digits}f}]" if np.isfinite(low) else ""


def picture_at(
    axes: Axes, image: np.ndarray, place: tuple[float, float], *, side: float, edge: str = "#e3e0d8"
) -> None:
    """A drawing, ink dark on white, centred on a place of the axes; side: inches."""
    picture = OffsetImage(255 - resize(image[None], (CELL, CELL))[0], cmap="gray", zoom=side * 72 / CELL)
    picture.image.set(clim=(0, 255), interpolation="none")
    box = AnnotationBbox(
        picture, place, pad=0.05, bboxprops={"edgecolor": edge, "linewidth": 0.8}, annotation_clip=False
    )
    axes.add_artist(box)
