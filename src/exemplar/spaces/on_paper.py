"""A network that was trained on photographs, shown drawings as photographs show them: dark ink on white paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar import seeds
from exemplar.images.pixels import binarised
from exemplar.spaces.inputs import Images, PhotoInput, count_images, take_images
from exemplar.spaces.stage_space import StageSpace

THRESHOLD = 0.5
PART = 512  # images at a time


@dataclass(frozen=True)
class OnPaper:
    """A pretrained stage for drawings. Each drawing is rescaled to fill [0, 1] and binarised at 0.5, at its own size, as for
    every critic; then black on white, the same in three channels, resized (bilinear) to what the network takes."""

    stage: StageSpace

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def layer(self) -> str:
        return self.stage.layer

    @property
    def input(self) -> PhotoInput:
        return self.stage.input

    @property
    def identity(self) -> str:
        inner = self.stage.identity
        return inner and seeds.digest("dark ink on white paper", inner, THRESHOLD)

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32. images: drawings, ink high."""
        n = count_images(images)
        parts = [np.arange(start, min(start + PART, n)) for start in range(0, n, PART)]
        turned = (255 - binarised(take_images(images, rows), THRESHOLD) for rows in parts)
        return np.concatenate([self.stage.encode(part, device=device) for part in turned])
