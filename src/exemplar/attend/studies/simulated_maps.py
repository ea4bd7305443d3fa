"""Annotations whose truth is known: smooth Gaussian fields that share a chosen part."""

from __future__ import annotations

import numpy as np

from exemplar.attend.annotations import Annotations
from exemplar.images.concepts import Labels

SIDE = 48  # px


def annotate(maps: np.ndarray, *, agent: str = "simulated people", pictures: np.ndarray | None = None) -> Annotations:
    """maps: (concepts, images, participants, h, w) → annotations; a participant marks every image of its own concept, and none
    of another. pictures: (concepts, images, h, w), blank unless given."""
    k, i, p, h, w = maps.shape
    concept, image, who = (part.ravel() for part in np.meshgrid(range(k), range(i), range(p), indexing="ij"))
    shown = np.zeros((k, i, h, w), np.float32) if pictures is None else pictures
    return Annotations(
        agent,
        Labels.of(f"concept {c}" for c in concept),
        Labels.of(f"{c}-{one}" for c, one in zip(concept, who, strict=True)),
        concept * i + image,
        shown.reshape(-1, h, w).astype(np.float32),
        maps.reshape(-1, h, w).astype(np.float32),
    )


def noisy_maps(
    reliability: float, concepts: int, images: int, participants: int, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(concepts, images, participants, SIDE, SIDE) maps of which any two of one image correlate by `reliability` (Pearson), and
    the (concepts, images, SIDE, SIDE) truth they share. White noise, which the scores' own blur makes smooth."""
    truth = rng.standard_normal((concepts, images, 1, SIDE, SIDE), dtype=np.float32)
    own = rng.standard_normal((concepts, images, participants, SIDE, SIDE), dtype=np.float32)
    return np.sqrt(reliability) * truth + np.sqrt(1 - reliability) * own, truth[:, :, 0]


def as_spearman(pearson: float) -> float:
    """Spearman's r of two normal variables by their Pearson's r.

    >>> as_spearman(1.0), as_spearman(0.0)
    (1.0, 0.0)
    """
    return float(6 / np.pi * np.arcsin(pearson / 2))
