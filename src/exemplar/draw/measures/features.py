"""What critics made of drawings: the input of every measure. Nothing here loads or encodes anything."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class CriticFeatures:
    """One critic's features. space: its name; drawn: (k, n, d) float32, the agent's drawings; exemplars: (k, d); drawers:
    (k, n, d), of the data's own drawers, None where they made too few; training: (p, d), of what the agent was trained on, or
    None."""

    space: str
    drawn: np.ndarray
    exemplars: np.ndarray
    drawers: np.ndarray | None = None
    training: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class EncodedDrawings:
    """An agent's drawings in the spaces of all critics, and what else a score must know.

    see: for diversity and originality, one per critic; recognise: for recognizability, likewise; groups: (k,) of the concepts;
    makers: (k, n) of the data's own drawings, None where there are too few; chosen_by: how the exemplars were; drawers: who
    the data's own drawers are, "people" or "simulated drawers".
    """

    see: tuple[CriticFeatures, ...]
    recognise: tuple[CriticFeatures, ...]
    agent: str
    concepts: tuple[str, ...]
    groups: np.ndarray
    makers: np.ndarray | None
    chosen_by: str
    drawers: str

    def without_drawers(self) -> EncodedDrawings:
        """The same with none of the data's own drawings."""
        see, recognise = (tuple(replace(one, drawers=None) for one in kind) for kind in (self.see, self.recognise))
        return replace(self, see=see, recognise=recognise, makers=None)
