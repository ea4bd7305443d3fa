"""Gradients: how fast the evidence changes with a pixel, at the drawing (Simonyan et al. 2014), or along the way from
empty paper to it (integrated gradients, Sundararajan et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from exemplar.attend.agents.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Gradient:
    """|∂ evidence / ∂ pixel|, summed over channels, on the network's own grid."""

    evidence: Evidence

    def __call__(
        self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        network = self.evidence.network()
        slope = network.gradients(network.prepare(images), label, exemplars)
        return slope.abs().sum(dim=1).numpy()


@dataclass(frozen=True, eq=False)
class IntegratedGradient:
    """|attribution| of each pixel, summed over channels; n_steps: midpoints of the way from empty paper."""

    evidence: Evidence
    n_steps: int = 16

    def __call__(
        self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        return np.abs(self.attribute(images, label, exemplars)).sum(axis=1)

    def attribute(self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray) -> np.ndarray:
        """(n, channels, h', w'), signed: over an image they add up to its evidence less that of empty paper."""
        network = self.evidence.network()
        x, paper = network.prepare(images), network.prepare(np.zeros_like(images[:1]))
        total = torch.zeros_like(x)
        for step in range(self.n_steps):
            share = (step + 0.5) / self.n_steps
            total += network.gradients(paper + share * (x - paper), label, exemplars)
        return ((x - paper) * total / self.n_steps).numpy()
