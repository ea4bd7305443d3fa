"""A trained partner: its network, what it was trained on, and its guesses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import nn

from exemplar.attend.partner.network import find_lipschitz_bound
from exemplar.errors import UserError
from exemplar.report.resizing import resize
from exemplar.spaces.cards import Card
from exemplar.spaces.zoo import load_network

ROOM = "attend"


@dataclass(frozen=True, eq=False)
class LipschitzPartner:
    """card: names its concepts; network: (n, 1, s, s) in [0, 1] → outputs, one per concept."""

    card: Card
    network: nn.Sequential

    @property
    def concepts(self) -> tuple[str, ...]:
        """In the order of the outputs."""
        return tuple(sorted(self.card.concepts))

    @property
    def size(self) -> int:
        return self.card.input.size[0]

    @cached_property
    def lipschitz_bound(self) -> float:
        return find_lipschitz_bound(self.network, self.size)

    def log_p(self, canvases: np.ndarray) -> np.ndarray:
        """canvases: (n, h, w) uint8, ink 255 on paper 0, partly uncovered → (n, k) natural log of each concept's
        probability."""
        with torch.inference_mode():
            logits = self.network(prepare(canvases, self.size)) * float(self.card.training["temperature"])
            return torch.log_softmax(logits.double(), dim=1).numpy()


def prepare(canvases: np.ndarray, size: int) -> torch.Tensor:
    """(n, 1, size, size) float32 in [0, 1], grey as the drawings that it was trained on: a canvas with little ink stays so."""
    if canvases.ndim != 3 or canvases.dtype != np.uint8:
        raise UserError(f"A canvas is (h, w) uint8, ink 255 on paper 0; these are {canvases.shape} {canvases.dtype}.")
    return torch.from_numpy(resize(canvases, (size, size)).astype(np.float32)[:, None] / np.float32(255))


def load_partner(name: str) -> LipschitzPartner:
    """A partner that was trained, FOLDER/NAME, ready to guess.

    Its `log_p(canvases)` takes (n, h, w) uint8, ink 255, of any size; `guess(partner, canvas)` names one.
    """
    network, card = load_network(name, room=ROOM)
    assert isinstance(network, nn.Sequential)
    return LipschitzPartner(card, network)
