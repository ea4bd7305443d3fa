"""Init and tune, pretrain and tune: a network with a new last layer, tuned on each support set as it comes.

The two baselines that every continual learner must beat: nothing keeps them from forgetting, unless a `Keeper` (EWC, LwF) adds
its term to the loss. Batches are whole support sets, so there is nothing random in it but the weights of a network that was
never trained.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from exemplar.recall.agents.shared import Shared
from exemplar.recall.states import as_tensors
from exemplar.user_code import seeded_globals

FRESH_MOMENTUM = 0.5  # of statistics that begin from nothing and see a few batches
PART = 16  # images predicted at once: they stay in the processor's cache
PREFIX = "weight "  # of the network's tensors in a state
Term = Callable[[nn.Module, torch.Tensor], torch.Tensor]  # (network, its outputs) → what is added to the loss


@dataclass(frozen=True)
class TuningConfig:
    """passes: steps of gradient descent per image of a support set, so that sets shown together get as many steps as one by
    one; head_rate: of the last layer, whose weights begin at 0; rate: of the
    backbone, as a share of it. Chosen on validation classes (docs/recall.md)."""

    passes: int = 1
    rate: float = 0.1
    head_rate: float = 0.05


class Keeper(Protocol):
    """What keeps a tuned network from forgetting."""

    def reset(self, n_labels: int) -> None: ...

    def before(self, network: nn.Module, images: torch.Tensor) -> Term | None:
        """The term for the steps on a new set; None where there is nothing to keep yet."""

    def after(self, network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None: ...

    def state(self) -> dict[str, torch.Tensor]: ...

    def restore(self, state: dict[str, torch.Tensor]) -> None: ...


class Tuning:
    """backbone: takes (n, channels, h, w), gives (n, n_features); fresh: whether its weights are drawn again for each task;
    keeper: None for the plain baselines."""

    def __init__(
        self, backbone: nn.Module, n_features: int, config: TuningConfig | None = None, *, fresh: bool = False,
        keeper: Keeper | None = None,
    ) -> None:  # fmt: skip
        self.backbone, self.n_features, self.config = Shared(backbone), n_features, config or TuningConfig()
        self.fresh, self.keeper = fresh, keeper

    def reset(self, n_labels: int, rng: np.random.Generator) -> None:
        head = nn.utils.skip_init(nn.Linear, self.n_features, n_labels)  # which draws nothing
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        backbone = copy.deepcopy(self.backbone.network).requires_grad_(True)
        if self.fresh:
            draw_weights(backbone, rng)
            for module in backbone.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.momentum = FRESH_MOMENTUM
        self.network = nn.Sequential(backbone, head).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.n_sets = 0
        if self.keeper is not None:
            self.keeper.reset(n_labels)

    def observe(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        term = None if self.keeper is None else self.keeper.before(self.network, images)
        self.tune(images, labels, term)
        if self.keeper is not None:
            self.keeper.after(self.network, images, labels)
        self.n_sets += 1

    def tune(self, images: torch.Tensor, labels: torch.Tensor, term: Term | None = None) -> None:
        """A few steps on a support set; term: added to each step's loss."""
        config, (backbone, head) = self.config, self.network
        groups = [{"params": backbone.parameters(), "lr": config.rate * config.head_rate},
                  {"params": head.parameters(), "lr": config.head_rate}]  # fmt: skip
        optimizer = torch.optim.SGD(groups)
        images = images.contiguous(memory_format=torch.channels_last)
        self.network.train(self.fresh)  # a trained network keeps the statistics it was trained with
        for _ in range(config.passes * len(images)):
            optimizer.zero_grad()
            outputs = self.network(images)
            loss = functional.cross_entropy(outputs, labels)
            if term is not None:
                loss = loss + term(self.network, outputs)
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
            optimizer.step()
        self.network.eval()

    @torch.no_grad()
    def predict(self, images: torch.Tensor) -> torch.Tensor:
        self.network.eval()
        return torch.cat(
            [self.network(part.contiguous(memory_format=torch.channels_last)) for part in images.split(PART)]
        )

    def state(self) -> dict[str, Any]:
        """All weights once something was learned; before, what was made or loaded is no part of the task."""
        if not self.n_sets:
            return {}
        kept = {} if self.keeper is None else self.keeper.state()
        return kept | {f"{PREFIX}{name}": value for name, value in self.network.state_dict().items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        if not state:
            return
        found = as_tensors(state)
        own = {name.removeprefix(PREFIX): value for name, value in found.items() if name.startswith(PREFIX)}
        self.network.load_state_dict(own)
        self.n_sets = 1
        if self.keeper is not None:
            self.keeper.restore({name: value for name, value in found.items() if not name.startswith(PREFIX)})


def draw_weights(network: nn.Module, rng: np.random.Generator) -> None:
    """Fresh weights, as torch draws them."""
    with seeded_globals(int(rng.integers(2**62))):
        for module in network.modules():
            if callable(draw := getattr(module, "reset_parameters", None)):
                draw()
