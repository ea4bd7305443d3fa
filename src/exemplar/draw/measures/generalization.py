"""The generalization curve: how recognizable drawings are, the more original they are (Boutin et al. 2023, Figs. 3 and 4).

Each concept's drawings are sorted by originality into bins; a bin's point is the mean over concepts; a polynomial of degree 2
runs through the points. Concepts are resampled, so that points, curve, areas and crossings all have intervals; two curves that
were made with the same weights (of the same concepts, with the same seed) are resampled together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exemplar import stats
from exemplar.errors import UserError
from exemplar.stats import Estimate

DEGREE = 2
FEW = 10  # drawings per bin, of each concept; the paper has 50 and calls 2 meaningless
GRID = 201  # places at which curves are compared


@dataclass(frozen=True, eq=False)
class Curve:
    """originality, recognised: (b,) the points, from the least original bin to the most; lo, hi: (b,) of recognised;
    coefficients: (3,) of 1, x, x²; replicates: (n_replicates, 3) those of the resamples; error: mean squared distance of the
    points from the curve; n_drawings: a concept's; n_concepts."""

    originality: np.ndarray
    recognised: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    coefficients: np.ndarray
    replicates: np.ndarray
    error: float
    n_drawings: int
    n_concepts: int

    @property
    def reach(self) -> tuple[float, float]:
        """From the first point's originality to the last's: outside, the curve means nothing."""
        return float(self.originality[0]), float(self.originality[-1])

    @property
    def warning(self) -> str:
        """Why not to trust it, "" where there is no reason."""
        if self.n_drawings >= FEW * len(self.originality):
            return ""
        return (
            f"the generalization curve rests on {self.n_drawings} drawings per concept in {len(self.originality)} bins, too "
            "few to mean much: take it for an illustration"
        )

    def at(self, originality: np.ndarray) -> Estimate:
        """The curve, and its band, at places (g,); cut off at 0 and 1, between which a share lies and a polynomial need not."""
        powers = _powers(np.asarray(originality, dtype=np.float64))
        replicates, value = (np.clip(each, 0, 1) for each in (self.replicates @ powers.T, powers @ self.coefficients))
        return stats.interval(replicates, value, n=self.n_concepts)

    def arrays(self, prefix: str = "curve_") -> dict[str, np.ndarray]:
        """Everything, for an npz; `of_arrays` takes it back. With the fit and its band at GRID places, ready to be drawn."""
        place = np.linspace(*self.reach, GRID)
        fit = self.at(place)
        drawn = {"fit_at": place, "fit": fit.value, "fit_lo": fit.lo, "fit_hi": fit.hi}
        kept = {name: np.asarray(value) for name, value in vars(self).items()}
        return {prefix + name: value for name, value in (kept | drawn).items()}

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], prefix: str = "curve_") -> Curve:
        """What `arrays` gave."""
        names = cls.__dataclass_fields__
        found: dict[str, Any] = {name: arrays[prefix + name] for name in names}
        return cls(**{name: value.item() if value.ndim == 0 else value for name, value in found.items()})


def generalization_curve(
    originality: np.ndarray, recognised: np.ndarray, *, n_bins: int = 10, weights: np.ndarray
) -> Curve:
    """The curve of one agent. originality, recognised: (k, n) of each drawing.

    n_bins: of each concept's drawings, sorted by originality, as equal as can be; at most n. weights: (n_replicates, k)
    from `stats.resample`, concepts resampled.
    """
    k, n = originality.shape
    if n_bins < DEGREE + 1:
        raise UserError(f"a curve of degree {DEGREE} needs {DEGREE + 1} bins or more, not {n_bins}")
    if n < DEGREE + 1:
        raise UserError(f"a generalization curve needs {DEGREE + 1} drawings per concept or more, there are {n}")
    order = np.argsort(originality, axis=1, kind="stable")
    edges = np.linspace(0, n, min(n_bins, n) + 1).round().astype(int)
    points = np.stack(  # (2, k, b)
        [
            np.add.reduceat(np.take_along_axis(values, order, axis=1), edges[:-1], axis=1) / np.diff(edges)
            for values in (originality, recognised)
        ]
    ).astype(np.float64)
    x, y = points.mean(axis=1)
    drawn = np.einsum("rk,vkb->vrb", weights / weights.sum(axis=1, keepdims=True), points)
    coefficients, replicates = _fit(x[None], y[None])[0], _fit(*drawn)
    band = stats.mean_share(points[1])
    error = float(np.square(_powers(x) @ coefficients - y).mean())
    return Curve(x, y, band.lo, band.hi, coefficients, replicates, error, n, k)


def best_envelope(curves: Sequence[Curve]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best of a family: places (g,), the highest curve that reaches there, and which one it is (Fig. 4's dashed line)."""
    if not curves:
        raise UserError("there are no curves to take the best of: give at least one")
    places = np.linspace(min(c.reach[0] for c in curves), max(c.reach[1] for c in curves), GRID)
    height = np.full((len(curves), GRID), -np.inf)
    for row, curve in zip(height, curves, strict=True):
        within = (places >= curve.reach[0]) & (places <= curve.reach[1])
        row[within] = _powers(places[within]) @ curve.coefficients
    which = height.argmax(axis=0)
    best = height[which, np.arange(GRID)]
    reached = np.isfinite(best)
    return places[reached], best[reached], which[reached]


def area_between(first: Curve, second: Curve) -> Estimate:
    """∫ (first − second) over the originality both reach: positive where the first is more recognizable."""
    low, high = _shared(first, second)
    exponent = np.arange(1, DEGREE + 2)
    integral = (high**exponent - low**exponent) / exponent
    value, replicates = _differences(first, second)
    return stats.interval(replicates @ integral, value @ integral, n=min(first.n_concepts, second.n_concepts))


def crossing(first: Curve, second: Curve) -> Estimate | None:
    """The originality from which on the first stays above the second, if it crosses once from below within what both reach.

    The interval is over resamples; where less than 97.5 % of them cross so, there is none to tell: None.
    """
    low, high = _shared(first, second)
    value, replicates = _differences(first, second)
    places = np.linspace(low, high, GRID)
    found = _last_rise(np.concatenate([value[None], replicates]) @ _powers(places).T, places)
    if np.isnan(found[0]) or np.isnan(found[1:]).mean() > 0.025:
        return None
    known = found[1:][~np.isnan(found[1:])]
    return stats.interval(known, found[0], n=min(first.n_concepts, second.n_concepts))


def compare_curves(first: Curve, second: Curve) -> dict[str, Estimate]:
    """curve_area, and curve_crossing where there is one; nothing where the two share no originality."""
    if max(first.reach[0], second.reach[0]) >= min(first.reach[1], second.reach[1]):
        return {}
    cross = crossing(first, second)
    return {"curve_area": area_between(first, second)} | ({} if cross is None else {"curve_crossing": cross})


def _last_rise(height: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(r,): where each row (r, g) last goes from below 0 to above it for good; NaN where it never does."""
    above = height > 0
    last_below = height.shape[1] - 1 - np.argmax(~above[:, ::-1], axis=1)
    rises = above[:, -1] & ~above.all(axis=1)
    here = np.where(rises, last_below, 0)
    row = np.arange(len(height))
    before, after = height[row, here], height[row, here + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = -before / (after - before)
    return np.where(rises, places[here] + part * (places[1] - places[0]), np.nan)


def _differences(first: Curve, second: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the difference, (3,) and (n_replicates, 3)."""
    if first.replicates.shape != second.replicates.shape:
        raise UserError(
            f"the curves have {len(first.replicates)} and {len(second.replicates)} resamples: score both with the same "
            "n_replicates and seed"
        )
    return first.coefficients - second.coefficients, first.replicates - second.replicates


def _shared(first: Curve, second: Curve) -> tuple[float, float]:
    low, high = max(first.reach[0], second.reach[0]), min(first.reach[1], second.reach[1])
    if low >= high:
        raise UserError(
            f"the curves share no originality ({first.reach[0]:.3g} to {first.reach[1]:.3g}, {second.reach[0]:.3g} to "
            f"{second.reach[1]:.3g}): there is nothing to compare"
        )
    return low, high


def _powers(x: np.ndarray) -> np.ndarray:
    """(…) → (…, 3): 1, x, x²."""
    return x[..., None] ** np.arange(DEGREE + 1)


def _fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(r, b), (r, b) → (r, 3): least squares, each row by itself; where all x are alike, the flattest that fits."""
    scale = np.abs(x).max(axis=1, keepdims=True)
    scale = np.where(scale > 0, scale, 1)
    solved = (np.linalg.pinv(_powers(x / scale), rcond=1e-10) @ y[..., None])[..., 0]
    return solved / scale ** np.arange(DEGREE + 1)
