"""What a partner is, and the simplest: it names the concept whose drawings, blurred, lie in the most similar direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from exemplar.attend.measures.blurring import blur
from exemplar.attend.tasks import AttendTask
from exemplar.report.resizing import resize

SIDE = 28  # px at which templates are compared


class Partner(Protocol):
    """Who guesses. concepts: the names it knows."""

    @property
    def concepts(self) -> tuple[str, ...]: ...

    def log_p(self, canvases: np.ndarray) -> np.ndarray:
        """canvases: (n, h, w) uint8, ink 255 on paper 0, partly uncovered → (n, k) natural log of each concept's
        probability."""


@dataclass(frozen=True, eq=False)
class Guess:
    """name: what the partner thinks it is; probability: in (0, 1]."""

    name: str
    probability: float


def guess(partner: Partner, canvas: np.ndarray) -> Guess:
    """One canvas (h, w) uint8, as it is being uncovered."""
    log_p = partner.log_p(canvas[None])[0]
    best = int(log_p.argmax())
    return Guess(partner.concepts[best], float(np.exp(log_p[best])))


@dataclass(frozen=True, eq=False)
class Templates:
    """Needs no training. concepts: names; template: (k, SIDE, SIDE) float32, blurred; sharpness: of the softmax of cosines."""

    concepts: tuple[str, ...]
    template: np.ndarray
    sharpness: float = 20.0

    @classmethod
    def of(cls, task: AttendTask) -> Templates:
        """From the exemplars of a task alone."""
        return cls(task.concepts, _blurred(task.exemplar))

    @cached_property
    def direction(self) -> np.ndarray:
        return _direction(self.template)

    def log_p(self, canvases: np.ndarray) -> np.ndarray:
        cosine = _direction(_blurred(canvases)) @ self.direction.T
        level = self.sharpness * cosine.astype(np.float64)
        level -= level.max(axis=1, keepdims=True)
        return level - np.log(np.exp(level).sum(axis=1, keepdims=True))


def _blurred(images: np.ndarray) -> np.ndarray:
    return blur(resize(images, (SIDE, SIDE)).astype(np.float32) / 255, 5)


def _direction(images: np.ndarray) -> np.ndarray:
    """(n, d) of length 1; 0 where there is nothing."""
    flat = images.reshape(len(images), -1)
    return flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-9)
