"""How far from drawers: the distance between two points of the diversity–recognizability plane, both axes z-scored.

The scale of the axes is frozen under a name and kept with the results, so that a new model can be placed without moving those
that are there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from exemplar import stats
from exemplar.errors import UserError
from exemplar.runs import read_json, write_json
from exemplar.stats import Estimate, Scale


@dataclass(frozen=True)
class Reference:
    """name: of the set the scales were fitted to; diversity, recognizability: the scale of each axis."""

    name: str
    diversity: Scale
    recognizability: Scale

    def distance(
        self, diversity: np.ndarray, recognizability: np.ndarray, drawers: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """ℓ2 on the two z-scored axes, of anything that broadcasts: models (m,), or models by concepts (m, k).

        drawers: their diversity and recognizability, for the same concepts where there are concepts.
        """
        across = (np.asarray(diversity) - drawers[0]) / self.diversity.std
        up = (np.asarray(recognizability) - drawers[1]) / self.recognizability.std
        return np.hypot(across, up)

    def distance_by_drawing(
        self,
        diversity: np.ndarray,
        recognizability: np.ndarray,
        drawers: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """(k, n): what each drawing contributes to its concept's distance, to first order; the mean is the distance.

        All four (k, n), of each drawing, the agent's and people's, paired by place.
        """
        across, up = (
            (diversity - drawers[0]) / self.diversity.std,
            (recognizability - drawers[1]) / self.recognizability.std,
        )
        mean_across, mean_up = across.mean(axis=1, keepdims=True), up.mean(axis=1, keepdims=True)
        length = np.hypot(mean_across, mean_up)
        along = (
            mean_across * across + mean_up * up
        )  # the projection on the way from people to the agent, times its length
        return np.divide(along, length, out=np.zeros_like(along), where=length > 0)

    def save(self, path: Path) -> None:
        write_json(path, {"exemplar": "reference", **asdict(self)})


def fit_reference(name: str, diversity: np.ndarray, recognizability: np.ndarray) -> Reference:
    """The scale of a set of points: models, people among them, as published; or one agent's concepts. Both (m,)."""
    return Reference(name, stats.fit_scale(diversity), stats.fit_scale(recognizability))


def load_reference(path: Path) -> Reference:
    """What `save` wrote."""
    page = read_json(path)
    try:
        scales = {}
        for axis in ("diversity", "recognizability"):
            mean, std = float(page[axis]["mean"]), float(page[axis]["std"])
            if not (np.isfinite(mean) and np.isfinite(std) and std > 0):
                raise ValueError(f"{axis} has the scale {mean} ± {std}")
            scales[axis] = Scale(mean, std)
        return Reference(str(page["name"]), **scales)
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"{path} holds no reference for distances to people ({problem}): fit and save one") from problem


def family_medians(
    distance: np.ndarray, family: Sequence[str], *, n_replicates: int = 1000, rng: np.random.Generator
) -> dict[str, Estimate]:
    """The median distance of each family of models, its interval over the family's models (two or more), nearest first.

    distance: (m,); family: a name for each model.
    """
    names = np.asarray(family)
    if names.shape != np.shape(distance):
        raise UserError(f"there are {np.size(distance)} distances and {names.size} families: give one for each model")
    found = {}
    for name in dict.fromkeys(family):
        mine = np.asarray(distance)[names == name]
        found[name] = stats.bootstrap(stats.weighted.median(mine), n_replicates=n_replicates, rng=rng)
    return dict(sorted(found.items(), key=lambda pair: pair[1].value))
