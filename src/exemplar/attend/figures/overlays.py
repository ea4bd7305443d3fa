"""Maps laid over drawings: white where nothing matters, red where most does, the drawing itself in dark lines on top."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from exemplar.attend.measures.blurring import resize_maps
from exemplar.attend.tasks import AttendTask
from exemplar.files import whole_file
from exemplar.records import Maps
from exemplar.report.figures import DPI, any_script, styled

HEAT = "YlOrRd"
LINE = np.array([0.10, 0.10, 0.12], np.float32)
TOP = 99.5  # percentile of a map that is shown in the darkest red
PANEL = 128  # px per side
INCH = 1.05  # of a panel
MOST_CONCEPTS = 100


def overlay(pictures: np.ndarray, maps: np.ndarray, side: int = PANEL) -> np.ndarray:
    """pictures: (n, h, w) in [0, 1], ink 1; maps: (n, h', w') → (n, side, side', 3) float32 in [0, 1], each map on a
    scale of its own from its lowest value to nearly its highest."""
    size = (side, round(side * pictures.shape[2] / pictures.shape[1]))
    ink = np.clip(resize_maps(pictures, size), 0, 1)[..., None]
    heat = resize_maps(maps, size)
    low = heat.min(axis=(1, 2), keepdims=True)
    high = np.percentile(heat, TOP, axis=(1, 2), keepdims=True)
    share = np.clip((heat - low) / np.maximum(high - low, 1e-12), 0, 1)
    colour = mpl.colormaps[HEAT](share)[..., :3].astype(np.float32)
    faint = np.clip(share / 0.15, 0, 1)[..., None]  # the coldest fade into the paper
    colour = faint * colour + (1 - faint)
    return (0.8 * ink * LINE + (1 - 0.8 * ink) * colour).astype(np.float32)


@styled
def plot_grid(panels: np.ndarray, names: Sequence[str], *, columns: int, title: str = "") -> Figure:
    """Panels (n, h, w, 3) in rows of so many, each under its name."""
    n, h, w = panels.shape[:3]
    rows = -(-n // columns)
    figure = Figure(
        figsize=(INCH * columns, (INCH + 0.22) * rows * h / w + (0.3 if title else 0)), layout="constrained"
    )
    axes = figure.subplots(rows, columns, squeeze=False)
    for place, one in enumerate(axes.ravel()):
        one.set_axis_off()
        if place < n:
            one.imshow(panels[place], interpolation="nearest")
            one.set_title(short_name(names[place]), fontsize=7.5, pad=2)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


@styled
def plot_side_by_side(pictures: np.ndarray, maps: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """One row per agent, one column per concept: agent → (k, h, w) maps; pictures: (k, h, w), what they are laid over."""
    agents = list(maps)
    figure = Figure(figsize=(INCH * len(names) + 0.9, INCH * len(agents) + 0.25), layout="constrained")
    axes = figure.subplots(len(agents), len(names), squeeze=False)
    for row, agent in enumerate(agents):
        panels = overlay(pictures, maps[agent])
        for column, one in enumerate(axes[row]):
            one.imshow(panels[column], interpolation="nearest")
            one.set(xticks=[], yticks=[])
            for spine in one.spines.values():
                spine.set_visible(False)
            if row == 0:
                one.set_title(short_name(names[column]), fontsize=8, pad=3)
        axes[row][0].set_ylabel(short_name(agent, 30), fontsize=8, rotation=0, ha="right", va="center")
    return figure


def short_name(name: str, most: int = 16) -> str:
    """A name that fits over a panel; of an agent that is a file, its end."""
    shown = name.replace("/character", " ")  # of an alphabet
    if "/" in shown and shown.count("/") > 1:
        shown = shown.rpartition("/")[2]
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def write_map_sheet(path: Path, record: Maps, task: AttendTask | None = None) -> None:
    """Of each concept the mean map, over its exemplar where a task is given (Fig. 5, App. R), else over one of its drawings."""
    frame, pictures, maps, names = record.frame, [], [], []
    concepts = list(dict.fromkeys(frame["concept"].astype(str)))[:MOST_CONCEPTS]
    for concept in concepts:
        rows = np.flatnonzero((frame["concept"] == concept).to_numpy())
        maps.append(record.map[rows].astype(np.float32).mean(axis=0))
        shown = record.image[rows[0]] if task is None else task.exemplar[task.concepts.index(concept)]
        grey = shown.astype(np.float32) / (255 if shown.dtype == np.uint8 else 1)
        pictures.append(resize_maps((grey.mean(axis=2) if grey.ndim == 3 else grey)[None], record.map.shape[1:3])[0])
        names.append(concept)
    columns = min(len(names), 5 if len(names) <= 25 else 10)
    figure = plot_grid(overlay(np.stack(pictures), np.stack(maps)), names, columns=columns)
    write_png(path, figure)


def write_png(path: Path, figure: Figure) -> None:
    buffer = io.BytesIO()
    with any_script():
        figure.savefig(buffer, format="png", dpi=DPI, facecolor="white")
    with whole_file(path) as part:
        part.write_bytes(buffer.getvalue())
