"""OML: features in which a few steps on one set after another do not undo what the sets before taught (Javed & White 2019).

A task is a stream of support sets, each with classes of its own. The head takes a few steps of gradient descent on each set as
it comes; the queries of all sets are asked after the last. Backbone and the head's first weights are learned from that.

Left out: the paper's stream goes on for hundreds of single samples, and its loss also asks about random other classes. The
features' statistics are learned over all images of a step, so that an image has the same features whatever it is shown with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks import square_side
from exemplar.spaces.networks.adapted import HeadLearner, build_head_learner
from exemplar.spaces.objectives.maml import Params, adapt, logits
from exemplar.spaces.objectives.protonet import check_drawings, sample_classes, sample_drawings
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate


@dataclass(frozen=True)
class Oml:
    """network: a backbone (`networks`); hidden: units of the head between features and outputs. sets: of a stream; ways, shots,
    queries: classes of a set, and support and query images of each.

    tasks: streams of a meta-step; inner_steps: of gradient descent on each set; inner_rate: of those steps; learning_rate:
    Adam's; gradient_clip: the largest norm of the meta-gradient; test_tasks: of validation.
    Always computed in full precision: second derivatives need it. Fit for `replay`, not for `compile`.
    """

    name: ClassVar[str] = "Oml"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = ""
    network: str = "conv4-64"
    hidden: int = 64
    sets: int = 3
    ways: int = 5
    shots: int = 1
    queries: int = 3
    tasks: int = 4
    inner_steps: int = 5
    inner_rate: float = 0.1
    learning_rate: float = 1e-3
    gradient_clip: float = 10.0
    test_tasks: int = 200

    @property
    def n_labels(self) -> int:
        return self.sets * self.ways

    def build(self, data: TrainingImages) -> HeadLearner:
        counts = (self.hidden, self.sets, self.ways - 1, self.shots, self.queries, self.tasks, self.inner_steps)
        if min(*counts, self.test_tasks) < 1 or not (self.inner_rate > 0 and self.gradient_clip > 0):  # as NaN is not
            raise UserError("OML needs 2 ways or more, at least 1 of everything it counts, and rate and clip above 0")
        check_rate(self.learning_rate)
        for images in (data, data.held_out):
            if images is None:
                continue
            if images.n_classes < self.n_labels:
                raise UserError(
                    f"streams of {self.sets} sets of {self.ways} classes need {self.n_labels} classes, there are "
                    f"{images.n_classes}: lower sets or ways"
                )
            check_drawings(images, self.shots + self.queries)
        return build_head_learner(self.network, square_side(data.shape), data.shape[0], self.hidden, self.n_labels)

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        """Cross-entropy of all sets' queries after the last set; to be differentiated through the whole stream."""
        outputs, target = self._stream(cast("HeadLearner", network), data, rng, self.tasks)
        right = (outputs.argmax(2) == target).float()
        first = right[:, : self.ways * self.queries].mean()
        loss = functional.cross_entropy(outputs.flatten(0, 1), target.flatten())
        return loss, {"accuracy": right.mean(), "accuracy_first_set": first}

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss, accuracy, and accuracy_first_set: of the first set's queries, which had the most time to be forgotten; …_se:
        standard errors over streams."""
        assert data.held_out is not None
        outputs, target = self._stream(cast("HeadLearner", network), data.held_out, rng, self.test_tasks)
        right = (outputs.argmax(2) == target).double()
        found = {"loss": float(functional.cross_entropy(outputs.flatten(0, 1), target.flatten()))}
        for name, part in (("accuracy", right), ("accuracy_first_set", right[:, : self.ways * self.queries])):
            share = part.mean(1)
            found[name] = float(share.mean())
            found[f"{name}_se"] = float(share.std(correction=0) / len(share) ** 0.5)
        return found

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 1.0

    def for_steps(self, steps: int) -> Self:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {"replay": n_devices == 1}

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        config = {"network": self.network, "size": shape[1], "channels": shape[0], "hidden": self.hidden}
        return KeptNetwork(network, "oml", {**config, "ways": self.n_labels})

    def _stream(
        self, network: HeadLearner, data: TrainingImages, rng: torch.Generator, n_tasks: int
    ) -> tuple[Tensor, Tensor]:
        """Outputs (n_tasks, n_labels · queries, n_labels) for the queries of random streams, set by set, and their labels."""
        classes = sample_classes(data.n_classes, n_tasks, self.n_labels, rng).flatten()
        each = self.shots + self.queries
        rows = sample_drawings(data, classes, each, rng, exemplar_first=False)
        label = torch.arange(self.n_labels, device=rng.device)
        shown = label.view(self.sets, self.ways).repeat_interleave(self.shots, dim=1)
        with torch.autocast(rng.device.type, enabled=False):
            features = network.backbone(data.take(rows.flatten())).view(n_tasks, self.n_labels, each, -1)
            support = features[:, :, : self.shots].unflatten(1, (self.sets, self.ways)).flatten(2, 3)
            params: Params | None = None
            for place in range(self.sets):
                labels = shown[place].expand(n_tasks, -1)
                params = adapt(network.head, support[:, place], labels, self.inner_steps, self.inner_rate, start=params)
            assert params is not None
            outputs = logits(network.head, params, features[:, :, self.shots :].flatten(1, 2))
        return outputs, label.repeat_interleave(self.queries).expand(n_tasks, -1)
