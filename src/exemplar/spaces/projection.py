"""Fixed random projections of large features, and the centring and radius that warm-up images give.

A projection keeps squared distances right on average, each with a standard deviation of about √(2 / n_out) of itself
(3 % at 2,048). The sparse one has that variance too, and costs a few hundredths of a network's forward pass; the dense
one costs several of them.
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
from exemplar.errors import UserError, unknown

N_OUT = 2048
BLOCK = 1 << 14  # input dimensions a sparse projection takes at once: a batch of them stays in the cache
DENSE_BLOCK = 1 << 10  # input dimensions of a dense projection drawn at once: 8 MB of weights
HELD = 1 << 28  # bytes of dense weights kept between batches; a larger matrix is drawn again, block by block
QUANTILES = {"paper": 0.99, "hobj": 0.999}  # of the warm-up norms, the radius of the features

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
        return features.to(torch.float32, copy=True)  # a network may go on to overwrite what it gave

    return keep


@dataclass(frozen=True, eq=False)
class Calibration:
    """centre: (d,) float32, mean of the warm-up features; radius: > 0, a quantile of their distances to it."""

    centre: np.ndarray
    radius: float

    def apply(self, features: np.ndarray) -> np.ndarray:
        """(n, d) → (n, d) float32: centred, divided by the radius, and norms above 1 brought back to 1."""
        if features.ndim != 2 or features.shape[1] != len(self.centre):
            raise UserError(
                f"the warm-up features have {len(self.centre)} dimensions, these are {features.shape}: "
                "encode both with the same space"
            )
        _check_finite(features, "features")
        scaled = (features - self.centre) / np.float32(self.radius)
        norm = np.linalg.norm(scaled, axis=1, keepdims=True)
        return (scaled / np.maximum(norm, 1)).astype(np.float32, copy=False)


def fit_calibration(warm_up: np.ndarray, variant: str = "paper") -> Calibration:
    """warm_up: (n, d) features of images that are used for nothing else; variant: which quantile, a name in QUANTILES."""
    if variant not in QUANTILES:
        raise unknown("calibration", variant, QUANTILES)
    if warm_up.ndim != 2 or len(warm_up) == 0:
        raise UserError(
            f"calibration needs (n, d) features of warm-up images, these are {warm_up.shape}: give some images"
        )
    _check_finite(warm_up, "warm-up features")
    centre = warm_up.mean(axis=0, dtype=np.float64)
    radius = float(np.quantile(np.linalg.norm(warm_up - centre, axis=1), QUANTILES[variant]))
    if not radius > 1e-6 * np.linalg.norm(centre):  # rounding alone leaves about this much between equal features
        raise UserError(f"all {len(warm_up)} warm-up images have the same features: give warm-up images that differ")
    return Calibration(centre.astype(np.float32), radius)


def _check_n_out(n_out: int) -> None:
    if n_out < 1:
        raise UserError(f"a projection needs at least 1 output dimension, not {n_out}")


def _check(features: Tensor, n_in: int) -> None:
    if features.ndim != 2 or features.shape[1] != n_in:
        raise UserError(f"this projection was drawn for (n, {n_in}) features, these are {tuple(features.shape)}")


def _check_finite(features: np.ndarray, what: str) -> None:
    bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(bad):
        raise UserError(
            f"the {what} of {len(bad)} of {len(features)} images are not finite (first: image {bad[0]}): "
            "look at those images, or at the network"
        )


PROJECTIONS: dict[str, Projection] = {"sparse": Sparse(), "dense": Dense()}
