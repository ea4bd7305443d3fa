"""What a person looks at to find junk: every cluster, what became of it, and drawings from its middle to its edge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exemplar.draw.quickdraw_fs.build import Built
from exemplar.draw.quickdraw_fs.clusters import Clusters, Parted
from exemplar.draw.quickdraw_fs.filters import BY_HAND, KEPT, TOO_CLOSE, TOO_SMALL, TOO_SPREAD, VERDICTS

ORDER = (TOO_SPREAD, KEPT, TOO_CLOSE, TOO_SMALL, BY_HAND)  # of the sheet: junk first
N_SHOWN = 12  # drawings of a cluster besides its exemplar


@dataclass(frozen=True, eq=False)
class Rows:
    """Some clusters of one verdict, the most spread first. images: (rows, 1 + N_SHOWN, h, w) uint8, the exemplar first, then
    from the nearest to its centre to the farthest (white where there are fewer); labels: a line a row."""

    verdict: str
    images: np.ndarray
    labels: list[str]


def sheet_rows(built: Built, *, most: int = 50) -> Iterator[Rows]:
    """All clusters, at most so many at a time."""
    clusters = built.clusters
    bits, shape = _shown(clusters)
    for place in ORDER:
        found = np.argwhere(built.verdict == place)
        found = found[np.argsort(-clusters.spread[tuple(found.T)], kind="stable")]
        for start in range(0, len(found), most):
            some = found[start : start + most]
            images = np.unpackbits(bits[tuple(some.T)], axis=2, count=shape[0] * shape[1]) * np.uint8(255)
            labels = [_label(built, row, column) for row, column in some]
            yield Rows(VERDICTS[place], images.reshape(*images.shape[:2], *shape), labels)


def _shown(clusters: Clusters) -> tuple[np.ndarray, tuple[int, ...]]:
    """(c, k, 1 + N_SHOWN, bytes) one bit a pixel: what is shown of each cluster; and the size of a drawing."""
    n_clusters = clusters.size.shape[1]
    shown: list[np.ndarray] = []
    shape: tuple[int, ...] = ()
    for parted in clusters.parts():
        shape = parted.drawings.shape
        blank = np.zeros((n_clusters, 1 + N_SHOWN, parted.drawings.bits.shape[1]), np.uint8)
        for cluster in range(len(parted.exemplar)):
            rows = _from_middle_to_edge(parted, cluster)
            blank[cluster, : len(rows)] = parted.drawings.bits[rows]
        shown.append(blank)
    return np.stack(shown), shape


def _from_middle_to_edge(parted: Parted, cluster: int) -> np.ndarray:
    """The exemplar's row, then those of others, evenly from the nearest to the centre to the farthest."""
    exemplar = parted.exemplar[cluster]
    others = np.flatnonzero(parted.cluster == cluster)
    others = others[others != exemplar]
    others = others[np.argsort(parted.distance[others], kind="stable")]
    evenly = np.linspace(0, len(others) - 1, min(N_SHOWN, len(others))).round().astype(int)
    return np.append(exemplar, others[evenly])


def _label(built: Built, row: int, column: int) -> str:
    clusters = built.clusters
    words = [
        clusters.names[row, column],
        f"{clusters.size[row, column]:,} drawings",
        f"spread {clusters.spread[row, column]:.1f}",
    ]
    if np.isfinite(clusters.nearest[row, column]):
        words.append(f"nearest centre at {clusters.nearest[row, column]:.1f}")
    rival = built.rival[row, column]
    if rival >= 0:
        words.append(f"too close to {clusters.names[row, rival]} ({clusters.between[row, column, rival]:.1f})")
    here = np.flatnonzero((built.kept == (row, column)).all(axis=1))
    words += [str(part) for part in built.part[here]]
    return "  ·  ".join(words)
