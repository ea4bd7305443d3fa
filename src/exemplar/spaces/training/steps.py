"""One training step: taken plainly, or recorded once as a CUDA graph and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import Objective, Update

if TYPE_CHECKING:
    from lightning_fabric import Fabric

WARM_UP = 3  # steps before one is recorded: libraries choose their kernels and set up their memory in these
Advance = Callable[[int], dict[str, torch.Tensor]]  # takes one step, gives its loss and metrics as 0-d tensors


def plain_steps(
    fabric: Fabric,
    objective: Objective,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: TrainingImages,
    rng: torch.Generator,
) -> Advance:
    clip: float | None = getattr(objective, "gradient_clip", None)
    losses: Callable[..., Iterator[Update]] | None = getattr(objective, "losses", None)

    def descend(loss: torch.Tensor, parameters: Sequence[nn.Parameter] | None = None) -> None:
        loss.backward(inputs=parameters)
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if fabric.world_size > 1:  # all gradients in one message: a loss may use the network in any way it likes
            mean = mean_over_devices(fabric, torch.cat([gradient.flatten() for gradient in gradients]))
            for gradient, part in zip(gradients, mean.split([g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))
        if clip is not None:
            nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], clip)
        optimizer.step()

    def advance(step: int) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        with fabric.autocast():
            loss, metrics = objective.loss(network, data, rng, step)
        descend(loss)
        return {"loss": loss.detach(), **{name: value.detach() for name, value in metrics.items()}}

    def take_turns(step: int) -> dict[str, torch.Tensor]:
        assert losses is not None
        metrics: dict[str, torch.Tensor] = {}
        updates = losses(network, data, rng, step)
        while True:
            optimizer.zero_grad()  # who has no gradient is not moved
            with fabric.autocast():
                update = next(updates, None)
            if update is None:
                return metrics
            descend(update.loss, update.parameters)
            metrics |= {name: value.detach() for name, value in update.metrics.items()}

    return advance if losses is None else take_turns


def replayed_steps(advance: Advance, rng: torch.Generator) -> Advance:
    """The same steps; after the first few, one is recorded as a CUDA graph and replayed: one launch instead of hundreds."""
    graph, side, n_taken = torch.cuda.CUDAGraph(), torch.cuda.Stream(), 0
    recorded: dict[str, torch.Tensor] = {}

    def replayed(step: int) -> dict[str, torch.Tensor]:
        nonlocal recorded, n_taken
        n_taken += 1
        if n_taken <= WARM_UP:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                metrics = advance(step)
            torch.cuda.current_stream().wait_stream(side)
            return metrics
        if not recorded:
            graph.register_generator_state(rng)  # so that each replay draws from the seed of its own step
            with torch.cuda.graph(graph):
                recorded = advance(step)
        graph.replay()
        return recorded

    return replayed


@contextmanager
def tried_kernels() -> Iterator[None]:
    """On a GPU, every convolution's kernels are tried once and the fastest one is kept: a step's shapes are always the same."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def mean_over_devices(fabric: Fabric, values: torch.Tensor) -> torch.Tensor:
    """values: the same shape on each."""
    mean = fabric.all_reduce(values, reduce_op="mean")
    assert isinstance(mean, torch.Tensor)
    return mean
