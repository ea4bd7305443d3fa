"""Who does not look: the data's own drawings, but of any other concept. As well drawn, and named right by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.tasks import DrawingTask, concept_of
from exemplar.errors import UserError


@dataclass(frozen=True, eq=False)
class Others:
    """Made for a task, since it must know what the exemplar's concept is in order to miss it.

    Recognizability is a little below chance: of w ways, 1/w where the concept drawn is not among them, and else about 0.
    """

    task: DrawingTask

    def __post_init__(self) -> None:
        if len(self.task.concepts) < 2:
            raise UserError(
                f"{self.task.data.name} has one concept only: there are no others to draw, give two or more"
            )

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w), of the task → (k, n, h, w) in [0, 1]; each any drawing not of the concept, no exemplar."""
        data = self.task.data
        pool = np.argsort(data.concept.code, kind="stable")
        pool = pool[~np.isin(pool, self.task.exemplar)]
        places = np.arange(len(self.task.concepts))
        starts, stops = (np.searchsorted(data.concept.code[pool], places, side=side) for side in ("left", "right"))
        shown = concept_of(self.task, exemplars)
        own = (stops - starts)[shown][:, None]
        if own.max(initial=0) == len(pool):
            raise UserError(f"{data.name} has no drawings but one concept's and the exemplars: add drawings of others")
        chosen = rng.integers(len(pool) - own, size=(len(shown), n))
        chosen += np.where(chosen >= starts[shown][:, None], own, 0)  # step over the concept's own
        images = data.take(pool[chosen.ravel()]).reshape(len(shown), n, *data.shape)
        return images.astype(np.float32) / 255


OTHERS = DrawingAgent("others", "the data's own drawings of any other concept", lambda task, setting: Others(task))
