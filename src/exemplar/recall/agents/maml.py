"""MAML: weights from which a few steps of gradient descent on a support set suffice; set after set, the steps go on.

After Finn et al. (2017), with the meta-trained network and the inner loop of `spaces`. It normalises by the batch it is shown,
so its predictions are transductive, which the run says. The network has more outputs than a task has labels; the others are
left out of every loss. Left out of the continual versions of the literature: meta-training on streams.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.recall.states import as_tensors
from exemplar.spaces.objectives.maml import adapt


class MamlLearner:
    """network: meta-trained (`spaces.objectives.maml`); steps, rate: of the inner loop on each support set."""

    def __init__(self, network: nn.Module, n_outputs: int, steps: int = 5, rate: float = 0.1) -> None:
        self.network, self.n_outputs, self.steps, self.rate = network, n_outputs, steps, rate

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        if n_labels > self.n_outputs:
            raise UserError(
                f"this network was meta-trained for {self.n_outputs} labels, the task has {n_labels}: lower --nss or --ways"
            )
        self.n_labels = n_labels
        self.fast: dict[str, torch.Tensor] = {}

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        n = self.n_labels

        def loss(outputs: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
            return functional.cross_entropy(outputs[:, :n], label)

        if self.fast:
            self.network.load_state_dict(self.fast)
        with torch.no_grad():
            tuned = adapt(self.network, images[None], labels[None], self.steps, self.rate, loss=loss)
        self.fast = {name: value[0].clone() for name, value in tuned.items()}

    @torch.no_grad()
    def predict(self, images: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = functional_call(self.network, self.fast, (images,))
        return outputs[:, : self.n_labels]

    def state(self) -> dict[str, Any]:
        return {f"fast {name}": value for name, value in self.fast.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.fast = {name.removeprefix("fast "): value for name, value in as_tensors(state).items()}
