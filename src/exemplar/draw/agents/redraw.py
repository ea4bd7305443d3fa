"""Who knows how: glyphs drawn again by the program they were made with, by strangers who vary as much as asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.tasks import DrawingTask, concept_of
from exemplar.errors import UserError
from exemplar.report.resizing import resize

if TYPE_CHECKING:
    from exemplar.images.glyphs import GlyphsConfig


@dataclass(frozen=True, eq=False)
class Redraw:
    """Made for a task on glyphs: an exemplar tells it which character is meant, and the character's program does the rest.

    spread: how much its drawers vary, 0 not at all, 1 as the set's own; config: of the glyphs in the task, the default unless
    given. The wider the spread, the more diverse and the less recognizable the drawings."""

    task: DrawingTask
    spread: float = 1.0
    config: GlyphsConfig | None = None

    def __post_init__(self) -> None:
        if not (self.task.data.simulated and self.task.data.name.startswith("glyphs")):
            raise UserError(
                f"redraw knows the programs of glyphs only, not of {self.task.data.name}: use --data glyphs"
            )

    def __call__(self, exemplars: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """exemplars: (k, h, w), of the task → (k, n, h, w) uint8, ink 255."""
        from exemplar.images.glyphs import DEFAULT, redraw  # here: they compile their pen

        shown = [self.task.concepts[place] for place in concept_of(self.task, exemplars)]
        drawer = f"stranger{rng.integers(2**32)}-"  # a name makes a hand: other strangers each time
        images = redraw(shown, n, config=self.config or DEFAULT, spread=self.spread, drawer=drawer)
        size = (exemplars.shape[1], exemplars.shape[2])
        return resize(images.reshape(-1, *images.shape[2:]), size).reshape(len(shown), n, *size)


def _make(task: DrawingTask, setting: str) -> Redraw:
    try:
        return Redraw(task, float(setting or 1))
    except ValueError as problem:
        raise UserError(f"the spread of redraw@{setting} is not a number: write redraw@0.5, say") from problem


REDRAW = DrawingAgent("redraw", "glyphs drawn again by their true program", _make, setting="SPREAD, such as 0.5")
