"""MAML: weights from which a few steps of gradient descent on a support set suffice; set after set, the steps go on.

After Finn et al. (2017), and MAML++ (Antoniou et al. 2019) where the network has learned rates of its steps, with the
meta-trained network and the inner loop of `spaces`. It normalises by the batch it is shown, so its predictions are
transductive, which the run says. The network has more outputs than a task has labels; the others are left out of every loss.
Left out of the continual versions of the literature: meta-training on streams (`oml` has it); of MAML++: normalisation per
step, and loss weights and derivatives that change in training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.recall.agents.shared import Shared
from exemplar.recall.states import as_tensors
from exemplar.spaces.objectives.maml import Params, adapt, logits, own_weights


class MamlLearner:
    """network: meta-trained (`spaces.objectives.maml`); steps, rate: of the inner loop on each support set."""

    def __init__(self, network: nn.Module, n_outputs: int, steps: int = 5, rate: float = 0.1) -> None:
        self.shared, self.n_outputs, self.steps, self.rate = Shared(network), n_outputs, steps, rate

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        if n_labels > self.n_outputs:
            raise UserError(
                f"this network was meta-trained for {self.n_outputs} labels, the task has {n_labels}: lower --nss or --ways"
            )
        self.n_labels = n_labels
        self.fast: Params = {}  # of the one task, (1, *shape); nothing before the first set

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        n = self.n_labels

        def loss(outputs: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
            return functional.cross_entropy(outputs[:, :n], label)

        with torch.no_grad():
            network, start = self.shared.network, self.fast or None
            self.fast = adapt(network, images[None], labels[None], self.steps, self.rate, loss=loss, start=start)

    @torch.no_grad()
    def predict(self, images: torch.Tensor) -> torch.Tensor:
        network = self.shared.network
        return logits(network, self.fast or own_weights(network, 1), images[None])[0, :, : self.n_labels]

    def state(self) -> dict[str, Any]:
        return {f"fast {name}": value[0] for name, value in self.fast.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.fast = {name.removeprefix("fast "): value[None] for name, value in as_tensors(state).items()}
