"""ProtoNet: drawings of a class come to lie near its exemplar, nearer than to any other class's (Snell et al. 2017; S1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.images.augment import augment, preset
from exemplar.spaces.networks import build_embedding
from exemplar.spaces.objectives.calibration import calibrated_loss
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate, kept_critic

PART = 1024  # images encoded at once in validation
TEST_WAYS, TEST_EPISODES = 20, 200


@dataclass(frozen=True)
class ProtoNet:
    """network: a critic or a backbone (`networks`). ways, shots, queries: classes of an episode, and support and query
    drawings of each; the first support drawing is the class's exemplar where the data has exemplars. episodes: per step.

    learning_rate: Adam's, halved every `halve_after` epochs of `epoch` steps; 230 batches of 128 are Omniglot's weak-train
    once. new_classes: an augmentation preset drawn once per class and episode, which makes new classes
    ("quickdraw-protonet"); same_for_all: drawn once per episode instead, so that classes cannot be told apart by how they are
    turned, moved and zoomed. views: an augmentation preset of which every drawing takes a view of its own, rescaled to fill
    [0, 1] and binarised again at `threshold`.
    """

    name: ClassVar[str] = "ProtoNet"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = "feature"  # what diversity is measured in
    network: str = "conv4-linear"
    ways: int = 60
    shots: int = 1
    queries: int = 1
    episodes: int = 1
    learning_rate: float = 1e-3
    epoch: int = 230
    halve_after: int = 20
    new_classes: str | None = None
    same_for_all: bool = False
    views: str | None = None
    threshold: float = 0.5

    def build(self, data: TrainingImages) -> nn.Module:
        if min(self.ways - 1, self.shots, self.queries, self.episodes, self.epoch, self.halve_after) < 1:
            raise UserError("an episode needs 2 ways or more, and at least 1 of everything else")
        check_rate(self.learning_rate)
        for name in (self.new_classes, self.views):
            if name is not None:
                preset(name)
        if data.n_classes < self.ways:
            raise UserError(
                f"{self.ways}-way episodes need {self.ways} classes, the data has {data.n_classes}: lower ways"
            )
        check_drawings(data, self.shots + self.queries)
        if data.held_out is not None:
            check_drawings(data.held_out, self.shots + self.queries)
            check_ways(data.held_out)
        return build_embedding(self.network, data.shape)

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        """Cross-entropy over an episode's classes, −‖query − prototype‖² being the logits."""
        each = self.shots + self.queries
        classes = sample_classes(data.n_classes, self.episodes, self.ways, rng).flatten()
        images = data.take(sample_drawings(data, classes, each, rng).flatten())
        if self.new_classes is not None:
            alike = self.ways * each if self.same_for_all else each
            groups = torch.arange(len(images), device=images.device) // alike
            images = augment(images, preset(self.new_classes), rng, groups)
        if self.views is not None:
            images = binarised(augment(images, preset(self.views), rng), self.threshold)
        return episode_loss(network(images).float().view(self.episodes, self.ways, each, -1), self.shots)

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """loss: of 200 episodes like those of training, and what it is when sureness is set aside (`calibrated_loss`);
        accuracy_…: 20-way, as in `accuracies`; loss_20_way: of 200 such episodes."""
        assert data.held_out is not None
        there, embedded = data.held_out, encode(network, data.held_out)
        logits, target = self._test(embedded, there, min(self.ways, there.n_classes), rng)  # fewer may be held out
        return {
            "loss": float(functional.cross_entropy(logits, target)),
            "calibrated_loss": calibrated_loss(logits, target),
            **accuracies(embedded, there, rng, shots=self.shots),
            "loss_20_way": float(functional.cross_entropy(*self._test(embedded, there, TEST_WAYS, rng))),
        }

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), self.learning_rate)

    def rate(self, step: int) -> float:
        return 0.5 ** (step // (self.epoch * self.halve_after))

    def for_steps(self, steps: int) -> Self:
        return self

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {"replay": n_devices == 1}  # a small network waits for its launches more than it computes

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        return kept_critic(network, self.network, shape)

    def _test(
        self, embedded: torch.Tensor, data: TrainingImages, ways: int, rng: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and right answers of 200 random episodes. embedded: (n, d) of data's images."""
        classes = sample_classes(data.n_classes, TEST_EPISODES, ways, rng)
        rows = sample_drawings(data, classes.flatten(), self.shots + self.queries, rng)
        return episode_logits(embedded[rows].unflatten(0, (TEST_EPISODES, ways)), self.shots)


def binarised(images: torch.Tensor, threshold: float) -> torch.Tensor:
    """images: (b, c, h, w) → 0 or 1: ink where above the threshold of the way from an image's least to its largest value."""
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    return (images - low > threshold * (high - low)).to(images.dtype)


def sample_classes(n_classes: int, episodes: int, ways: int, rng: torch.Generator) -> torch.Tensor:
    """(episodes, ways) int64: classes at random and in random order, distinct within an episode."""
    return torch.rand((episodes, n_classes), generator=rng, device=rng.device).topk(ways).indices


def episode_loss(embedded: torch.Tensor, shots: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Cross-entropy and accuracy. embedded: as in `episode_logits`."""
    logits, target = episode_logits(embedded, shots)
    return functional.cross_entropy(logits, target), {"accuracy": (logits.argmax(1) == target).float().mean()}


def episode_logits(embedded: torch.Tensor, shots: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(n, ways) logits of all episodes' queries, and (n,) which class is right.

    embedded: (episodes, ways, shots + queries, d) float32, each class's support first.
    """
    episodes, ways, each, _ = embedded.shape
    prototype = embedded[:, :, :shots].mean(2)  # (episodes, ways, d)
    query = embedded[:, :, shots:].flatten(1, 2)  # (episodes, ways · queries, d)
    with torch.autocast(embedded.device.type, enabled=False):  # differences of large numbers
        # ‖query‖², the same for all classes, is left out
        logits = (2 * query @ prototype.mT - prototype.square().sum(2)[:, None]).flatten(0, 1)
    target = torch.arange(ways, device=embedded.device).repeat_interleave(each - shots).repeat(episodes)
    return logits, target


def sample_drawings(
    data: TrainingImages, classes: torch.Tensor, n: int, rng: torch.Generator, *, exemplar_first: bool = True
) -> torch.Tensor:
    """classes: (k,) → (k, n) rows: n distinct drawings of each at random, the exemplar the first where there is one."""
    rows = data.rows[classes]  # (k, most)
    lot = torch.rand(rows.shape, generator=rng, device=rng.device).masked_fill(rows < 0, -1)
    if exemplar_first and data.exemplar is not None:
        lot = lot.masked_fill(rows == data.exemplar[classes][:, None], 2)
    return rows.gather(1, lot.topk(n).indices)


def encode(encoder: Callable[[torch.Tensor], torch.Tensor], data: TrainingImages) -> torch.Tensor:
    """All images through a network, or a layer of it: (n, d) float32."""
    rows = torch.arange(len(data.pixels), device=data.pixels.device)
    return torch.cat([encoder(data.take(part)).float() for part in rows.split(PART)])


def accuracies(
    features: torch.Tensor,
    data: TrainingImages,
    rng: torch.Generator,
    *,
    shots: int = 1,
    ways: int = TEST_WAYS,
    rounds: int = 20,
) -> dict[str, float]:
    """Expected accuracy of nearest-prototype choices among `ways` classes, over all drawings that are no support.

    features: (n, d) of data's images. accuracy_exemplar: the exemplar (and shots − 1 others) as support, where there are
    exemplars; accuracy_random: random drawings, the mean of `rounds` choices; …_se: the standard error over classes.
    """
    found = {}
    for name, exemplar_first in (("exemplar", True), ("random", False)):
        if exemplar_first and data.exemplar is None:
            continue
        right, asked = torch.zeros((2, data.n_classes), dtype=torch.float64, device=features.device)
        for _ in range(1 if exemplar_first and shots == 1 else rounds):
            classes = torch.arange(data.n_classes, device=features.device)
            support = sample_drawings(data, classes, shots, rng, exemplar_first=exemplar_first)
            distance = torch.cdist(features, features[support].mean(1), compute_mode="donot_use_mm_for_euclid_dist")
            own = distance.gather(1, data.label[:, None])
            n_nearer = (distance <= own).sum(1) - 1  # a tie counts as lost: who tells nothing apart is never right
            query = torch.ones_like(n_nearer, dtype=torch.float64).index_fill_(0, support.flatten(), 0)
            right.index_add_(0, data.label, chance_of_nearest(n_nearer, data.n_classes, ways) * query)
            asked.index_add_(0, data.label, query)
        value = right.sum() / asked.sum()
        found[f"accuracy_{name}"] = float(value)
        found[f"accuracy_{name}_se"] = float((right - value * asked).norm() / asked.sum())
    return found


def chance_of_nearest(n_nearer: torch.Tensor, n_classes: int, ways: int) -> torch.Tensor:
    """The probability that none of the n_nearer classes nearer than one's own is among ways − 1 random others, float64.

    C(K − 1 − c, w − 1) / C(K − 1, w − 1): what sampling episodes without end would give.
    """
    drawn = torch.arange(ways - 1, device=n_nearer.device, dtype=torch.float64)
    left = n_classes - 1 - drawn  # other classes left when each distractor is drawn
    return ((left - n_nearer[..., None]).clamp(min=0) / left).prod(-1)


def check_ways(data: TrainingImages) -> None:
    if data.n_classes < TEST_WAYS:
        raise UserError(f"validation needs {TEST_WAYS} classes, {data.n_classes} are held out: hold out more, or none")


def check_drawings(data: TrainingImages, n: int) -> None:
    least = int((data.rows >= 0).sum(1).min())
    if least < n:
        raise UserError(f"an episode takes {n} drawings of a class, one class has {least}: lower shots or queries")
