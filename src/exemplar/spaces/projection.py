"""Fixed random projections of large features.

A projection keeps squared distances right on average, each with a standard deviation of about √(2 / n_out) of itself
(3 % at 2,048). The sparse one has that variance too, and costs a few hundredths of a network's forward pass a stage; the
dense one costs several of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from exemplar import seeds
from exemplar.errors import UserError

N_OUT = 2048
BLOCK = 1 << 14  # input dimensions a sparse projection takes at once: a batch of them stays in the cache
DENSE_BLOCK = 1 << 10  # input dimensions of a dense projection drawn at once: 8 MB of weights
HELD = 1 << 28  # bytes of dense weights kept between batches; a larger matrix is drawn again, block by block

Map = Callable[[Tensor], Tensor]  # (n, n_in) → (n, n_out) float32


class Projection(Protocol):
    """A family of fixed maps, one for each number of input dimensions."""

    @property
    def n_out(self) -> int: ...

    def draw(self, n_in: int, device: str | torch.device = "cpu") -> Map:
        """The map that belongs to this many inputs, always the same one; with n_in ≤ n_out, nothing changes."""


@dataclass(frozen=True)
class Sparse:
    """Each input goes to `nonzeros` outputs, one in each of as many equal parts, with random signs (Kane & Nelson 2014).

    seed: a name; the same name gives the same map on every machine.
    """

    n_out: int = N_OUT
    nonzeros: int = 1
    seed: str = "projection"

    def __post_init__(self) -> None:
        _check_n_out(self.n_out)
        if self.nonzeros < 1 or self.n_out % self.nonzeros:
            raise UserError(f"a projection to {self.n_out} needs a divisor of it as nonzeros, not {self.nonzeros}")

    def draw(self, n_in: int, device: str | torch.device = "cpu") -> Map:
        if n_in <= self.n_out:
            return unchanged(n_in)
        rng = seeds.rng("sparse projection", self.seed, self.n_out, self.nonzeros, n_in)
        part = self.n_out // self.nonzeros
        place = rng.integers(part, size=(self.nonzeros, n_in))  # int64: torch is five times slower with int32
        place += np.arange(0, self.n_out, part)[:, None]
        sign = rng.integers(2, size=(self.nonzeros, n_in)).astype(np.float32) * 2 - 1
        places = torch.from_numpy(place).to(device)
        weights = torch.from_numpy(sign / np.float32(math.sqrt(self.nonzeros))).to(device)

        def project(features: Tensor) -> Tensor:
            _check(features, n_in)
            out = features.new_zeros((len(features), self.n_out), dtype=torch.float32)
            for start in range(0, n_in, BLOCK):
                now = slice(start, start + BLOCK)
                for k in range(self.nonzeros):
                    out.index_add_(1, places[k, now], features[:, now] * weights[k, now])
            return out

        return project


@dataclass(frozen=True)
class Dense:
    """Independent Gaussian weights of variance 1 / n_out. seed: a name, as in Sparse."""

    n_out: int = N_OUT
    seed: str = "projection"

    def __post_init__(self) -> None:
        _check_n_out(self.n_out)

    def draw(self, n_in: int, device: str | torch.device = "cpu") -> Map:
        if n_in <= self.n_out:
            return unchanged(n_in)

        def weights(start: int) -> Tensor:
            rng = seeds.rng("dense projection", self.seed, self.n_out, n_in, start)
            drawn = rng.standard_normal((min(DENSE_BLOCK, n_in - start), self.n_out), dtype=np.float32)
            return torch.from_numpy(drawn / np.float32(math.sqrt(self.n_out))).to(device)

        starts = range(0, n_in, DENSE_BLOCK)
        held = [weights(start) for start in starts] if 4 * n_in * self.n_out <= HELD else None

        def project(features: Tensor) -> Tensor:
            _check(features, n_in)
            out = features.new_zeros((len(features), self.n_out), dtype=torch.float32)
            for i, start in enumerate(starts):
                block = features[:, start : start + DENSE_BLOCK].float()
                out.addmm_(block, held[i] if held is not None else weights(start))
            return out

        return project


def unchanged(n_in: int) -> Map:
    """The map for features that are small enough as they are."""

    def keep(features: Tensor) -> Tensor:
        _check(features, n_in)
        return features.to(torch.float32, copy=True)  # a later layer may overwrite it in place

    return keep


def _check_n_out(n_out: int) -> None:
    if n_out < 1:
        raise UserError(f"a projection needs at least 1 output dimension, not {n_out}")


def _check(features: Tensor, n_in: int) -> None:
    if features.ndim != 2 or features.shape[1] != n_in:
        raise UserError(f"this projection was drawn for (n, {n_in}) features, these are {tuple(features.shape)}")


PROJECTIONS: dict[str, Projection] = {"sparse": Sparse(), "dense": Dense()}
