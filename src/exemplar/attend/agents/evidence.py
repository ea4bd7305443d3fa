"""How much speaks for an image's own concept, in a space: what gradients and occlusion take apart.

Each concept is where its exemplar lies in the space. With several concepts the evidence is the log probability of the
image's own among them, by a softmax of negative squared distances (prototypical networks); with one, or with
against=exemplar, it is the negative squared distance to the exemplar itself. Distances are divided by the mean squared
distance between exemplars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from exemplar.errors import UserError
from exemplar.spaces.space import NetworkSpace, Space

BATCH = 32


def log_evidence(features: Tensor, prototypes: Tensor, label: Tensor, scale: float, against: str) -> Tensor:
    """features: (n, d), prototypes: (k, d), label: (n,) → (n,). scale: squared distances are divided by it."""
    distance = ((features[:, None] - prototypes[None]) ** 2).sum(dim=2) / scale
    if against == "exemplar" or len(prototypes) == 1:
        return -distance.gather(1, label[:, None])[:, 0]
    return torch.log_softmax(-distance, dim=1).gather(1, label[:, None])[:, 0]


def find_scale(prototypes: np.ndarray) -> float:
    """Mean squared distance between two of them; of one alone its squared length, so that it has a unit at all."""
    several = len(prototypes) > 1
    scale = float(2 * prototypes.var(axis=0, ddof=1).sum() if several else (prototypes**2).sum())
    if not scale > 0:
        raise UserError("The exemplars all lie in one place of this space, so nothing tells them apart: name another.")
    return scale


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of images in a space. against: concepts or exemplar."""

    space: Space
    against: str = "concepts"

    def of_images(self, images: np.ndarray, label: np.ndarray, exemplars: np.ndarray) -> np.ndarray:
        """(n,) float64, by the space's own `encode`: any space will do. images: float in [0, 1]."""
        features, prototypes = (self.space.encode(_bytes(some)) for some in (images, exemplars))
        found = log_evidence(
            torch.as_tensor(features, dtype=torch.float64),
            torch.as_tensor(prototypes, dtype=torch.float64),
            torch.as_tensor(label),
            find_scale(prototypes),
            self.against,
        )
        return found.numpy()

    def network(self) -> Network:
        """With gradients, which only a network has."""
        space = self.space
        if not isinstance(space, NetworkSpace):
            raise UserError(
                f"{space.name} has no network that could be differentiated: use occlusion, or a trained space "
                "(exemplar spaces list)."
            )
        return Network(space, self.against)


@dataclass(frozen=True, eq=False)
class Network:
    """A space whose network is differentiated."""

    space: NetworkSpace
    against: str

    def prepare(self, images: np.ndarray) -> Tensor:
        """(n, channels, h', w') as the network takes them."""
        return torch.as_tensor(self.space.input.prepare(_bytes(images)), dtype=torch.float32)

    def encode(self, x: Tensor) -> Tensor:
        """(n, d), with gradients to x."""
        layer = self.space.layer
        if not layer:
            return self.space.network(x).flatten(1)
        found: list[Any] = []
        module = self.space.network.get_submodule(layer)
        handle = module.register_forward_hook(lambda _module, _inputs, output: found.append(output))
        try:
            self.space.network(x)
        finally:
            handle.remove()
        return found[0].flatten(1)

    def gradients(self, x: Tensor, label: np.ndarray, exemplars: np.ndarray) -> Tensor:
        """Of the evidence by the prepared images x: the same shape."""
        network: nn.Module = self.space.network.eval()
        with torch.no_grad():
            prototypes = self.encode(self.prepare(exemplars))
        scale, found = find_scale(prototypes.numpy()), []
        before = [(weight, weight.requires_grad) for weight in network.parameters()]
        for weight, _ in before:
            weight.requires_grad_(False)
        try:
            for rows in torch.arange(len(x)).split(BATCH):
                some = x[rows].clone().requires_grad_(True)
                code = torch.as_tensor(label)[rows]
                evidence = log_evidence(self.encode(some), prototypes, code, scale, self.against)
                (slope,) = torch.autograd.grad(evidence.sum(), some)
                found.append(slope)
        finally:
            for weight, asked in before:
                weight.requires_grad_(asked)
        return torch.cat(found)

    def evidence(self, x: Tensor, label: np.ndarray, exemplars: np.ndarray) -> Tensor:
        """(n,) of prepared images."""
        with torch.no_grad():
            prototypes = self.encode(self.prepare(exemplars))
            scale = find_scale(prototypes.numpy())
            parts = [
                log_evidence(self.encode(x[rows]), prototypes, torch.as_tensor(label)[rows], scale, self.against)
                for rows in torch.arange(len(x)).split(BATCH)
            ]
        return torch.cat(parts)


def _bytes(images: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(images) * 255).astype(np.uint8)
