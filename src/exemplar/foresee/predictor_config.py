"""For which tasks a predictor is made: ranges of ways, shots and queries, and how many tasks it learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.errors import UserError
from exemplar.foresee.tasks import TaskConfig

N_SCORED = 50  # queries per class behind an accuracy, where none are given


@dataclass(frozen=True)
class PredictorConfig:
    """For which tasks: ways, shots and queries per class from the first to the second number of each pair; setting: supervised
    or semi. n_tasks: that the ridge is fitted to; n_groups: random groups of classes to hold out, n_held_out tasks of each."""

    ways: tuple[int, int] = (5, 5)
    shots: tuple[int, int] = (5, 5)
    queries: tuple[int, int] = (30, 30)
    setting: str = "semi"
    n_tasks: int = 768
    n_groups: int = 8
    n_held_out: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if self.setting not in ("supervised", "semi"):
            raise UserError(f"A predictor is for supervised or semi-supervised tasks, not {self.setting!r}.")
        for name in ("ways", "shots", "queries"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise UserError(
                    f"{name} must be a number, or a range from a smaller to a larger one, got {low} and {high}."
                )

    @property
    def varying(self) -> tuple[str, ...]:
        names = ("ways", "shots") if self.setting == "supervised" else ("ways", "shots", "queries")
        return tuple(name for name in names if getattr(self, name)[0] < getattr(self, name)[1])

    def draw(self, n: int, regime: str, rng: np.random.Generator) -> list[TaskConfig]:
        """Configurations from the ranges, evenly in logarithms; one where nothing varies."""
        low = 1 if regime == "one shot" else max(2, self.shots[0])
        shots = (1, 1) if regime == "one shot" else (low, max(low, self.shots[1]))
        fixed = all(pair[0] == pair[1] for pair in (self.ways, shots, self.queries))
        made = []
        for _ in range(1 if fixed else n):
            ways, k, queries = (_between(pair, rng) for pair in (self.ways, shots, self.queries))
            made.append(TaskConfig(ways, k, N_SCORED if self.setting == "supervised" else queries, self.setting))
        return made

    @property
    def regimes(self) -> tuple[str, ...]:
        one = ("one shot",) if self.shots[0] == 1 else ()
        return (*one, "several shots") if self.shots[1] > 1 else one


def _between(pair: tuple[int, int], rng: np.random.Generator) -> int:
    low, high = pair
    return (
        int(np.clip(np.rint(np.exp(rng.uniform(np.log(low - 0.5), np.log(high + 0.5)))), low, high))
        if low < high
        else low
    )
