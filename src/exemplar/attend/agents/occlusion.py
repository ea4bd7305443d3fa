"""Occlusion (Zeiler & Fergus 2014): how much evidence is lost when a square of the drawing is covered with paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.attend.agents.evidence import Evidence

PART = 2048  # covered drawings encoded at once


@dataclass(frozen=True, eq=False)
class Occlusion:
    """share: side of the square in sides of the image; it moves by half its own side. A pixel's importance is the mean
    loss over the squares that cover it; where covering helps, it is 0."""

    evidence: Evidence
    share: float = 0.2

    def __call__(
        self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        n, h, w = images.shape
        squares = self.squares(h, w)
        whole = self.evidence.of_images(images, label, exemplars)
        hidden = np.empty((n, len(squares)))
        per_part = max(PART // len(squares), 1)
        for start in range(0, n, per_part):
            rows = np.arange(start, min(start + per_part, n))
            covered = np.where(squares[None], 0, images[rows][:, None]).reshape(-1, h, w)
            told = self.evidence.of_images(covered, np.repeat(label[rows], len(squares)), exemplars)
            hidden[rows] = told.reshape(len(rows), -1)
        lost = np.clip(whole[:, None] - hidden, 0, None)
        flat = squares.reshape(len(squares), -1).astype(np.float64)
        return (lost @ flat / flat.sum(axis=0)).reshape(n, h, w)

    def squares(self, h: int, w: int) -> np.ndarray:
        """(s, h, w) bool: what each covers; together they cover all."""
        side = max(round(self.share * min(h, w)), 1)
        found = []
        for top in _starts(h, side):
            for left in _starts(w, side):
                one = np.zeros((h, w), bool)
                one[top : top + side, left : left + side] = True
                found.append(one)
        return np.stack(found)


def _starts(length: int, side: int) -> list[int]:
    """Where squares begin: every half side, and once at the very end."""
    return sorted({*range(0, length - side + 1, max(side // 2, 1)), length - side})
