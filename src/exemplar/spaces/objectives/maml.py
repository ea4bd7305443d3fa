"""MAML: weights from which a few steps of gradient descent on a new task's support suffice (Finn et al. 2017; S6).

All tasks of a meta-step are adapted at once, on torch.func. Batch normalisation takes the statistics of whatever one task
shows the network together, as MAML usually does: it is transductive, an image's logits depend on its task's other queries.

Two of MAML++'s improvements (Antoniou et al. 2019) are options: a loss after every inner step, and learned rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks import square_side
from exemplar.spaces.networks.adapted import Rated, adapted_part, build_learner, shared_part
from exemplar.spaces.objectives.protonet import check_drawings, sample_classes, sample_drawings
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, check_rate
from exemplar.spaces.training.objective import Loss as StepLoss

PART = 8  # tasks adapted at once in validation
Params = dict[str, Tensor]  # name of a parameter → (tasks, *its shape)
TaskLoss = Callable[[Tensor, Tensor], Tensor]  # a task's outputs (n, ways) and labels (n,) → 0-d


@dataclass(frozen=True)
class Maml:
    """network: a critic or a backbone (`networks`), its last layer as wide as a task has ways. ways, shots, queries: classes
    of a task, and support and query drawings of each; the first support drawing is the class's exemplar where the data has
    exemplars.

    tasks: of a meta-step; inner_steps, test_steps: of gradient descent on a task's support, in training and in testing;
    inner_rate: of those steps; 0.01 in the paper, with which it learns far more slowly; learning_rate: Adam's, which stays as
    it is; clip: the largest norm of the meta-gradient, which at times explodes through the inner steps; first_order: take the
    inner gradients for constants; multi_step: the queries' loss counts after every inner step, in proportion to the step's
    number (MAML++ moves the weight to the last step as training goes on, but a replayed step does not know its number);
    learned_rates: of the inner steps, one per tensor of weights and step, beginning at inner_rate; adapted: the stage of a
    backbone from which on it is adapted to tasks, "" for all of it, which of a deep one is dear; test_tasks: of validation.
    Always computed in full precision: second derivatives need it. Fit for `replay`, not for `compile`.
    """

    name: ClassVar[str] = "Maml"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = ""
    network: str = "conv4-linear"
    ways: int = 20
    shots: int = 1
    queries: int = 3
    tasks: int = 4
    inner_steps: int = 5
    test_steps: int = 10
    inner_rate: float = 0.1
    learning_rate: float = 1e-3
    clip: float = 10.0
    first_order: bool = False
    multi_step: bool = False
    learned_rates: bool = False
    test_tasks: int = 64
    adapted: str = ""

    def build(self, data: TrainingImages) -> nn.Module:
        steps = (self.inner_steps, self.test_steps)
        counts = (self.ways - 1, self.shots, self.queries, self.tasks, *steps, self.test_tasks)
        if min(counts) < 1 or not (self.inner_rate > 0 and self.clip > 0):  # as NaN is not
            raise UserError("MAML needs 2 ways or more, at least 1 of everything it counts, and rate and clip above 0")
        check_rate(self.learning_rate)
        for images in (data, data.held_out):
            if images is None:
                continue
            if images.n_classes < self.ways:
                raise UserError(
                    f"{self.ways}-way tasks need {self.ways} classes, there are {images.n_classes}: lower ways"
                )
            check_drawings(images, self.shots + self.queries)
        rated = self.inner_steps if self.learned_rates else 0
        learner = build_learner(self.network, square_side(data.shape), data.shape[0], self.ways, rated, self.adapted)
        if isinstance(learner, Rated):
            for rate in learner.rates:
                nn.init.constant_(rate, self.inner_rate)
        return learner

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> StepLoss:
        """Cross-entropy of the queries after adapting to the support, over `tasks` tasks; to be differentiated through."""
        after, target = self._attempt(network, data, rng, self.tasks, self.inner_steps, every_step=self.multi_step)
        accuracy = (after[-1].argmax(2) == target).float().mean()
        losses = [functional.cross_entropy(outputs.flatten(0, 1), target.flatten()) for outputs in after]
        share = torch.arange(1.0, len(losses) + 1, device=rng.device)
        return (torch.stack(losses) * share).sum() / share.sum(), {"accuracy": accuracy}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss and accuracy_exemplar (where there are exemplars), accuracy_random: the support being exemplars or random
        drawings; accuracy_…_se: their standard errors over tasks."""
        assert data.held_out is not None
        found: dict[str, float] = {}
        for name, exemplar_first in (("exemplar", True), ("random", False)):
            if exemplar_first and data.held_out.exemplar is None:
                continue
            losses, right = [], []
            for start in range(0, self.test_tasks, PART):
                n_tasks = min(PART, self.test_tasks - start)
                (outputs,), target = self._attempt(
                    network, data.held_out, rng, n_tasks, self.test_steps, exemplar_first=exemplar_first
                )
                losses.append(functional.cross_entropy(outputs.mT, target, reduction="none").mean(1))
                right.append((outputs.argmax(2) == target).double().mean(1))
            share = torch.cat(right)
            found.setdefault("loss", float(torch.cat(losses).mean()))
            found[f"accuracy_{name}"] = float(share.mean())
            found[f"accuracy_{name}_se"] = float(share.std(correction=0) / len(share) ** 0.5)
        return found

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        parameters = list(network.parameters())
        optimizer = torch.optim.Adam(parameters, self.learning_rate)

        def shorten(*_: object) -> None:
            nn.utils.clip_grad_norm_(parameters, self.clip)

        optimizer.register_step_pre_hook(shorten)
        return optimizer

    def rate(self, step: int) -> float:
        return 1.0

    def for_steps(self, steps: int) -> Self:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {"replay": n_devices == 1}

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        config = {"network": self.network, "size": shape[1], "channels": shape[0], "ways": self.ways}
        if self.learned_rates:
            config["rated"] = self.inner_steps
        if self.adapted:
            config["adapted"] = self.adapted
        return KeptNetwork(network, "maml", config)

    def _attempt(
        self,
        network: nn.Module,
        data: TrainingImages,
        rng: torch.Generator,
        n_tasks: int,
        steps: int,
        *,
        exemplar_first: bool = True,
        every_step: bool = False,
    ) -> tuple[list[Tensor], Tensor]:
        """Outputs (n_tasks, ways · queries, ways) for the queries of tasks at random, after the last inner step or after every
        one, and their labels."""
        classes = sample_classes(data.n_classes, n_tasks, self.ways, rng).flatten()
        each = self.shots + self.queries
        rows = sample_drawings(data, classes, each, rng, exemplar_first=exemplar_first)
        images = data.take(rows.flatten()).view(n_tasks, self.ways, each, *data.shape)
        label = torch.arange(self.ways, device=rng.device)
        support, query = images[:, :, : self.shots].flatten(1, 2), images[:, :, self.shots :].flatten(1, 2)
        shown = label.repeat_interleave(self.shots).expand(n_tasks, -1)
        target = label.repeat_interleave(self.queries).expand(n_tasks, -1)
        with torch.autocast(rng.device.type, enabled=False):
            if not every_step:
                params = adapt(network, support, shown, steps, self.inner_rate, first_order=self.first_order)
                return [logits(network, params, query)], target
            path = adapted_path(network, support, shown, steps, self.inner_rate, first_order=self.first_order)
            return [logits(network, params, query) for params in path], target


def adapt(
    network: nn.Module,
    support: Tensor,
    labels: Tensor,
    steps: int,
    rate: float,
    *,
    loss: TaskLoss = functional.cross_entropy,
    first_order: bool = False,
    start: Params | None = None,
) -> Params:
    """The weights after some steps of gradient descent on each task's support, all tasks starting from the network's own.

    support: (tasks, n, c, h, w) float32 in [0, 1]; labels: (tasks, n) int64 below the number of outputs; rate: of the steps,
    unless the network has learned its own; start: begin from these weights instead. Where gradients are recorded, the result
    can be differentiated by the network's parameters, through the steps unless first_order.
    """
    params = own_weights(network, len(support)) if start is None else start
    path = adapted_path(network, support, labels, steps, rate, loss=loss, first_order=first_order, start=params)
    for after in path:
        params = after
    return params


def adapted_path(
    network: nn.Module,
    support: Tensor,
    labels: Tensor,
    steps: int,
    rate: float,
    *,
    loss: TaskLoss = functional.cross_entropy,
    first_order: bool = False,
    start: Params | None = None,
) -> Iterator[Params]:
    """The weights after each step of `adapt`."""
    params = own_weights(network, len(support)) if start is None else start
    inner, support = adapted_part(network), share(network, support)
    for step in range(steps):
        slope = slopes(inner, params, support, labels, loss)
        if first_order:
            slope = {name: value.detach() for name, value in slope.items()}
        rates = network.rates_at(step) if isinstance(network, Rated) else dict.fromkeys(params, rate)
        params = {name: value - rates[name] * slope[name] for name, value in params.items()}
        yield params


def own_weights(network: nn.Module, n_tasks: int) -> Params:
    """The network's own for each of some tasks; rates are no weights, and a shared trunk is nobody's own."""
    return {name: value.expand(n_tasks, *value.shape) for name, value in adapted_part(network).named_parameters()}


def share(network: nn.Module, images: Tensor) -> Tensor:
    """What is adapted sees of each task's images (tasks, n, c, h, w): the images, or what the shared trunk makes of them."""
    trunk = shared_part(network)
    if trunk is None:
        return images
    seen: Tensor = trunk(images[0])[None] if len(images) == 1 else vmap(trunk)(images)
    return seen


def slopes(
    network: nn.Module, params: Params, support: Tensor, labels: Tensor, loss: TaskLoss = functional.cross_entropy
) -> Params:
    """The gradient of each task's loss on its support by its own weights; shapes as in `adapt`."""

    def of_task(weights: Params, images: Tensor, label: Tensor) -> Tensor:
        return loss(functional_call(network, weights, (images,)), label)

    if len(support) == 1:
        slope = grad(of_task)(_of_one(params), _fast(support[0]), labels[0])
        return {name: value[None] for name, value in slope.items()}
    return vmap(grad(of_task))(params, support, labels)


def logits(network: nn.Module, params: Params, images: Tensor) -> Tensor:
    """images: (tasks, m, c, h, w), those of a task in one batch → (tasks, m, ways), by each task's own weights."""
    inner, images = adapted_part(network), share(network, images)
    if len(images) == 1:
        outputs: Tensor = functional_call(inner, _of_one(params), (_fast(images[0]),))
        return outputs[None]
    return vmap(lambda weights, batch: functional_call(inner, weights, (batch,)))(params, images)


def _of_one(params: Params) -> Params:
    """The weights of the only task: without vmap, and with channels last, a processor takes half the time for it."""
    return {name: _fast(value[0]) for name, value in params.items()}


def _fast(value: Tensor) -> Tensor:
    return value.to(memory_format=torch.channels_last) if value.ndim == 4 else value
