"""OML: features that were meta-trained on streams, and a small head that is tuned on set after set (Javed & White 2019).

`spaces.objectives.oml` says what of the paper its training leaves out. The features of an image do not depend on what it is
shown with, so predictions are not transductive. Outputs beyond a task's labels are left out of every loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from exemplar.recall.agents.maml import MamlLearner
from exemplar.recall.agents.shared import Shared
from exemplar.spaces.networks.adapted import HeadLearner


class OmlLearner:
    """network: meta-trained; steps, rate: of the head's descent on each support set."""

    def __init__(self, network: HeadLearner, n_outputs: int, steps: int = 5, rate: float = 0.1) -> None:
        self.backbone = Shared(network.backbone.eval().to(memory_format=torch.channels_last))  # type: ignore[call-overload]
        self.head = MamlLearner(network.head, n_outputs, steps, rate)

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        self.head.reset(n_labels, rng)

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.head.observe(self._encode(images), labels)

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        return self.head.predict(self._encode(images))

    def state(self) -> dict[str, Any]:
        return self.head.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.head.restore(state)

    @torch.no_grad()
    def _encode(self, images: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.backbone.network(images.to(memory_format=torch.channels_last))
        return features
