"""Small figures in one style, as files that are the same bytes for the same numbers."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from exemplar.records import Score

STYLE: Any = {
    "font.size": 11, "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#666", "axes.labelcolor": "#222", "xtick.color": "#444", "ytick.color": "#444",
    "svg.hashsalt": "exemplar", "svg.fonttype": "path", "figure.facecolor": "none", "axes.facecolor": "none",
}  # fmt: skip
INK, ACCENT, QUIET = "#1b1b1f", "#c8472b", "#9a9aa2"
# twelve hues that stay apart on white, neighbours on the wheel not next to each other in the list
HUES = ("#c8472b", "#1f77b4", "#2e8b57", "#8e44ad", "#b8860b", "#0e8c8c", "#d6438a", "#5a6b1f", "#4b4fc4", "#a0522d",
        "#5b7fa6", "#3a3a3f")  # fmt: skip
DPI = 160  # of the PNG files

# a decorator of functions that plot; a dollar sign in a name is not mathematics
styled = mpl.rc_context({**STYLE, "legend.frameon": False, "text.parse_math": False})


@styled
def plot_scores(
    x: Sequence[float], scores: Sequence[Score], *, xlabel: str, ylabel: str, chance: float | None = None
) -> Figure:
    """Scores with their intervals over a number; `chance` is a dashed line."""
    figure = Figure(figsize=(5.6, 2.8), layout="constrained")
    axes = figure.add_subplot()
    values = [score.value for score in scores]
    below = [score.value - score.ci95[0] for score in scores]
    above = [score.ci95[1] - score.value for score in scores]
    axes.errorbar(x, values, yerr=[below, above], color=ACCENT, marker="o", capsize=4, linewidth=1.8)
    if chance is not None:
        axes.axhline(chance, color=QUIET, linestyle="--", linewidth=1)
        axes.annotate("chance", (min(x), chance), textcoords="offset points", xytext=(0, 4), color=QUIET)
    axes.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, 1.02))
    return figure


def settled(figure: Figure) -> Figure:
    """With its ticks and layout made: what matplotlib makes late is then in the style of the moment."""
    with any_script():
        figure.draw_without_rendering()
    return figure


@contextmanager
def any_script() -> Iterator[None]:
    """Without matplotlib's warnings about a script that the font lacks: its letters are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


@styled
def render(figure: Figure) -> dict[str, bytes]:
    """The figure as files: "png", on white, and "svg", whose background is transparent."""
    buffer = io.BytesIO()
    with any_script():
        figure.savefig(buffer, format="png", dpi=DPI, facecolor="white")
        return {"png": buffer.getvalue(), "svg": as_svg(figure).encode()}


def as_svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
