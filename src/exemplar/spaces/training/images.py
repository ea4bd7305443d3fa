"""Images to train on: bytes that live on the device, from which an objective draws its own batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from exemplar import seeds
from exemplar.errors import UserError


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """What is trained on, all of it on one device. Build one from arrays with `TrainingImages.of`.

    pixels: (n, c, h, w) uint8; label: (n,) int64, the place of each image's class in `names`; exemplar: (n_classes,) int64,
    the row of each class's exemplar, or None; held_out: the images validation is done on.
    """

    pixels: torch.Tensor
    label: torch.Tensor
    names: tuple[str, ...]
    exemplar: torch.Tensor | None = None
    held_out: TrainingImages | None = None

    def __post_init__(self) -> None:
        n, k = len(self.pixels), len(self.names)
        if self.pixels.dtype != torch.uint8 or self.pixels.ndim != 4 or not n:
            found = f"{tuple(self.pixels.shape)} {self.pixels.dtype}"
            raise UserError(f"images to train on must be (n, c, h, w) bytes, at least one, these are {found}")
        if self.label.shape != (n,) or self.label.dtype != torch.int64:
            raise UserError(
                f"{n} images need {n} labels (int64), these are {tuple(self.label.shape)} {self.label.dtype}"
            )
        if not 0 <= int(self.label.min()) <= int(self.label.max()) < k:
            raise UserError(f"labels must count from 0 to {k - 1}, one for each of the {k} class names")
        if self.exemplar is not None:
            classes = torch.arange(k, device=self.label.device)
            if self.exemplar.shape != (k,) or not 0 <= int(self.exemplar.min()) <= int(self.exemplar.max()) < n:
                raise UserError(f"exemplars must be {k} rows of the {n} images, one per class")
            if not torch.equal(self.label[self.exemplar], classes):
                raise UserError("each class's exemplar must be one of its own images: give their rows in class order")

    @classmethod
    def of(
        cls,
        images: np.ndarray,
        label: Sequence[int] | np.ndarray,
        names: Sequence[str],
        exemplar: Sequence[int] | np.ndarray | None = None,
        held_out: TrainingImages | None = None,
    ) -> TrainingImages:
        """images: (n, h, w) or (n, h, w, c) uint8; label: (n,) places in names; exemplar: (n_classes,) rows."""
        if not isinstance(images, np.ndarray) or images.ndim not in (3, 4):
            found = images.shape if isinstance(images, np.ndarray) else f"a {type(images).__name__}"
            raise UserError(
                f"images to train on must be an array (n, h, w) or (n, h, w, c) of bytes, these are {found}"
            )
        planes = np.ascontiguousarray(images[:, None] if images.ndim == 3 else np.moveaxis(images, 3, 1))
        rows = None if exemplar is None else _whole(exemplar, "exemplars")
        return cls(torch.as_tensor(planes), _whole(label, "labels"), tuple(names), rows, held_out)

    @property
    def n_classes(self) -> int:
        return len(self.names)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, h, w) of one image."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    def check_batch(self, n: int) -> None:
        if len(self.pixels) < n:
            raise UserError(f"a batch of {n} needs as many images, there are {len(self.pixels)}: lower batch")

    @cached_property
    def rows(self) -> torch.Tensor:
        """(n_classes, most) int64: the rows of each class's images, filled up with −1."""
        order = self.label.argsort(stable=True)
        counts = self.label.bincount(minlength=self.n_classes)
        place = torch.arange(len(order), device=order.device) - (counts.cumsum(0) - counts)[self.label[order]]
        table = order.new_full((self.n_classes, int(counts.max())), -1)
        table[self.label[order], place] = order
        return table

    def take(self, rows: torch.Tensor) -> torch.Tensor:
        """rows: (b,) int64 → (b, c, h, w) float32 in [0, 1]."""
        return self.pixels[rows].float() / 255

    def sample(self, n: int, rng: torch.Generator) -> torch.Tensor:
        """(n,) int64: distinct rows at random. A device draws them without anybody waiting for it."""
        return torch.rand(len(self.pixels), generator=rng, device=rng.device).topk(n).indices

    def to(self, device: torch.device) -> TrainingImages:
        return replace(
            self,
            pixels=self.pixels.to(device),
            label=self.label.to(device),
            exemplar=None if self.exemplar is None else self.exemplar.to(device),
            held_out=None if self.held_out is None else self.held_out.to(device),
        )

    def digest(self) -> str:
        """A name for what is trained on; what is held out changes no weight and is no part of it."""
        parts = [self.pixels, self.label] + ([] if self.exemplar is None else [self.exemplar])
        return seeds.digest(*(part.cpu().numpy() for part in parts), self.names)


def _whole(values: Sequence[int] | np.ndarray, what: str) -> torch.Tensor:
    """int64; nothing is rounded."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iu":
        raise UserError(f"{what} must be whole numbers, at least one, these are {numbers.dtype}: give them as integers")
    return torch.as_tensor(numbers.astype(np.int64))
