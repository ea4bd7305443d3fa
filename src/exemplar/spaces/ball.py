"""Centring and radius: features are placed in a ball of radius 1, which warm-up images fill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.errors import UserError, unknown

MOST = 1e100  # beyond, lengths overflow
QUANTILES = {"paper": 0.99, "hobj": 0.999}  # of the warm-up features' lengths, by variant: what becomes 1


@dataclass(frozen=True, eq=False)
class Ball:
    """centre: (d,) float64 mean of the warm-up features; radius: the length that becomes 1, above 0."""

    centre: np.ndarray
    radius: float

    def place(self, features: np.ndarray) -> np.ndarray:
        """features: (..., d) → the same shape, of length ≤ 1: what lies outside is moved onto the surface."""
        check_features(features)
        if features.shape[-1] != len(self.centre):
            raise UserError(
                f"features have {features.shape[-1]} dimensions, the warm-up ones had {len(self.centre)}: give the same"
            )
        placed = (features - self.centre) / self.radius
        return placed / np.maximum(np.linalg.norm(placed, axis=-1, keepdims=True), 1)


def fit_ball(warmup: np.ndarray, variant: str = "paper") -> Ball:
    """The ball that warm-up features (n, d) fill: its radius is the 0.99 quantile of their length ("hobj": 0.999)."""
    if variant not in QUANTILES:
        raise unknown("variant", variant, QUANTILES)
    if warmup.ndim != 2 or len(warmup) < 2:
        raise UserError(f"warm-up features must be (n, d) with n ≥ 2, they are {warmup.shape}: give more images")
    check_features(warmup, "warm-up features")
    centre = warmup.mean(axis=0, dtype=np.float64)
    radius = float(np.quantile(np.linalg.norm(warmup - centre, axis=1), QUANTILES[variant]))
    if not radius > 1e-6 * np.linalg.norm(centre):  # rounding alone leaves about this much between equal features
        raise UserError(
            "all features that set the scale (warm-up images, or the images themselves) are the same, so the scale is 0: give "
            "other images, or another encoder"
        )
    return Ball(centre, radius)


def check_features(features: np.ndarray, what: str = "features") -> None:
    """features: (..., d) numbers, all finite; what: they are called in a sentence."""
    if features.ndim < 2 or not features.size or features.dtype.kind not in "fiu":
        raise UserError(
            f"{what} must be numbers (…, d), they are {features.shape} {features.dtype}: give an array of numbers"
        )
    wrong = ~np.isfinite(features).reshape(-1, features.shape[-1]).all(axis=1)
    if wrong.any():
        place = tuple(int(i) for i in np.unravel_index(int(np.flatnonzero(wrong)[0]), features.shape[:-1]))
        raise UserError(
            f"{what} have NaN or infinity in {wrong.sum()} of {wrong.size} images (first in image {place}): compute them again"
        )
    largest = max(float(features.max()), -float(features.min()))
    if largest > MOST:
        raise UserError(f"{what} are as large as {largest:.0e}, and their lengths overflow: scale them down")
