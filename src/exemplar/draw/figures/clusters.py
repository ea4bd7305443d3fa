"""A category's drawings on a plane, coloured by cluster, with the exemplar of each that became a concept (Fig. A.2)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from exemplar.draw.figures.plots import picture_at
from exemplar.draw.quickdraw_fs.build import Built
from exemplar.draw.quickdraw_fs.filters import KEPT, VERDICTS
from exemplar.report.figures import HUES, QUIET, styled

MOST = 1_500  # points shown


@styled
def plot_category(built: Built, word: str) -> Figure:
    """Points are drawings in the first two principal components of the space; clusters that were removed are grey crosses."""
    place = built.clusters.words.index(word)
    parted = next(part for part in built.clusters.parts() if part.word == word)
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.add_subplot()
    shown = np.unique(np.linspace(0, len(parted.cluster) - 1, MOST).astype(int))
    for cluster, exemplar in enumerate(parted.exemplar):
        verdict = int(built.verdict[place, cluster])
        rows = shown[parted.cluster[shown] == cluster]
        kept = verdict == KEPT
        colour = HUES[cluster % len(HUES)] if kept else QUIET
        label = f"{built.clusters.names[place, cluster]}" + ("" if kept else f", {VERDICTS[verdict]}")
        x, y = parted.plane[rows].T
        marker = "o" if kept else "x"
        axes.scatter(x, y, s=7, color=colour, marker=marker, alpha=0.45, linewidth=0.6, label=label)
        if kept:
            centre = parted.plane[parted.cluster == cluster].mean(axis=0)
            drawing = parted.drawings.take(np.array([exemplar]))[0]
            picture_at(axes, drawing, (centre[0], centre[1]), side=0.55, edge=colour)
    axes.set(xlabel="first principal component", ylabel="second principal component")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, markerscale=2)
    return figure
