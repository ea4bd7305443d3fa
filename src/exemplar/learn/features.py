"""Images as an encoding stage sees them: centred and scaled by warm-up images, so that they fit into a ball of radius 1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, unknown
from exemplar.files import npz_names, read_npz
from exemplar.learn.tasks import VARIANTS

RADIUS_QUANTILE = {"paper": 0.99, "hobj": 0.999}


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
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    check_features(warmup)
    if warmup.ndim != 2 or len(warmup) < 2:
        raise UserError(f"warm-up features must be (n, d) with n ≥ 2, they are {warmup.shape}: give more images")
    centre = warmup.mean(axis=0, dtype=np.float64)
    radius = float(np.quantile(np.linalg.norm(warmup - centre, axis=1), RADIUS_QUANTILE[variant]))
    if radius <= 0:
        raise UserError(
            "all warm-up features are the same, so they have no scale: give other images, or another encoder"
        )
    return Ball(centre, radius)


def load_features(path: Path | str) -> tuple[np.ndarray, np.ndarray | None]:
    """An encoder's features from an npz file: `features` (subtasks, objects, images, d), and `warmup` (n, d) if it has them."""
    place = Path(path)
    has_warmup = "warmup" in npz_names(place)
    arrays = read_npz(place, features=("f", 4), **({"warmup": ("f", 2)} if has_warmup else {}))
    return arrays["features"], arrays.get("warmup")


def check_features(features: np.ndarray) -> None:
    """features: (..., d) numbers, all finite."""
    if features.ndim < 2 or not features.size or features.dtype.kind not in "fiu":
        raise UserError(
            f"features must be numbers (…, d), they are {features.shape} {features.dtype}: give an array of numbers"
        )
    wrong = ~np.isfinite(features).reshape(-1, features.shape[-1]).all(axis=1)
    if wrong.any():
        place = tuple(int(i) for i in np.unravel_index(int(np.flatnonzero(wrong)[0]), features.shape[:-1]))
        raise UserError(
            f"the features of image {place} have NaN or infinity ({wrong.sum()} images do): compute them again"
        )


def check_subtasks(features: np.ndarray) -> None:
    """features: (subtasks, objects, images, d), finite, of length in (0, 1]."""
    check_features(features)
    if features.ndim != 4:
        raise UserError(f"features must be (subtasks, objects, images, d), they are {features.shape}: reshape them")
    length = np.sqrt(np.einsum("...d,...d->...", features, features, dtype=np.float64))
    nothing, far = np.argwhere(length == 0), np.argwhere(length > 1 + 1e-6)
    if len(nothing):
        where = tuple(int(i) for i in nothing[0])
        raise UserError(
            f"the features of {len(nothing)} images have length 0 (the first is {where}), so nothing can be learned from "
            "them: leave those images out, or use another encoder"
        )
    if len(far):
        raise UserError(
            f"{len(far)} images lie outside the ball of radius 1 (the longest is {length.max():.3g}), where rules may diverge: "
            "place them with fit_ball first"
        )
