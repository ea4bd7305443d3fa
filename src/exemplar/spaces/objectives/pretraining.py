"""Backbones for few-shot tasks on photographs: classification of base classes, rotation self-supervision, manifold mix-up.

After Mangla et al. (2020), whose backbone the paper uses, with two changes that held-out classes asked for: the heads are
linear, not cosines, and only a quarter of a batch is mixed, late and briefly. The first half of a batch is upright, the other
half is turned and tells its turn. A step's mix-up is weights, not branches: one compiled graph does all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from exemplar.errors import UserError
from exemplar.spaces.networks import NETWORKS, build_backbone
from exemplar.spaces.objectives.protonet import encode, sample_drawings
from exemplar.spaces.readouts import fit_nearest_mean
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.objective import KeptNetwork, Loss, check_rate

if TYPE_CHECKING:
    from exemplar.spaces.networks import Backbone

TURNS = 4  # quarter turns of an image
REACH = 4  # px by which a crop is shifted at most
TEST_WAYS, TEST_QUERIES = 5, 15


class Learner(nn.Module):
    """A backbone with two heads: which class, and how it is turned."""

    def __init__(self, backbone: Backbone, n_classes: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.classes, self.turns = nn.Linear(backbone.n_features, n_classes), nn.Linear(backbone.n_features, TURNS)

    def forward(self, images: Tensor, mix: Tensor) -> tuple[Tensor, Tensor]:
        """images: (4 q, c, side, side) in [0, 1], the first q to be mixed with each other, first with last; mix: (stages,)
        share of the other image, before each stage. Returns class logits (4 q, classes) and turn logits (2 q, 4)."""
        x, quarter = images, len(images) // 4
        for share, stage in zip(mix, self.backbone, strict=True):
            first = x[:quarter]  # a batch is drawn at random, so any fixed partner is a random one
            x = stage(torch.cat((first.lerp(first.flip(0), share.to(x.dtype)), x[quarter:])))
        return self.classes(x), self.turns(x[2 * quarter :])


@dataclass(frozen=True)
class Pretraining:
    """What a backbone is trained on: its own network is `Trained.network.backbone`; the two heads are dropped after training.

    backbone: one of `networks`; batch: images per step, half of them turned; steps: of the whole schedule, the same as
    `train` gets; mixed: the share of them, at the end, that mixes a quarter of the batch; mix: λ ~ Beta(mix, mix), a whole
    number.

    learning_rate: SGD's (Nesterov, momentum 0.9), rising over `warm_up` steps, then falling as a cosine to 0; decay: of
    kernels and matrices; turn_weight: of the loss of the turns; jitter: largest relative change of brightness, contrast and
    saturation; test_tasks: of validation.
    """

    name: ClassVar[str] = "Pretraining"  # on cards and checkpoints: it stays whatever the class is called
    layer: ClassVar[str] = ""  # the backbone's output
    backbone: str = "wrn28-4"
    batch: int = 256
    steps: int = 10_000
    mixed: float = 0.2
    mix: int = 2
    learning_rate: float = 0.1
    warm_up: int = 500
    decay: float = 5e-4
    turn_weight: float = 1.0
    jitter: float = 0.4
    test_tasks: int = 500

    def build(self, data: TrainingImages) -> Learner:
        if min(self.batch // 4, self.steps, self.mix, self.test_tasks - 1) < 1 or self.batch % 4 or self.warm_up < 0:
            raise UserError(
                "a backbone needs a batch of 4, 8, … images, 1 step and mix or more, and 2 test tasks or more"
            )
        if not (0 <= self.mixed <= 1 and 0 <= self.jitter < 1):
            raise UserError("the mixed share must lie between 0 and 1, jitter from 0 to below 1")
        if not 0 <= self.decay < float("inf"):
            raise UserError(f"the decay {self.decay} must be a number from 0 up")
        check_rate(self.learning_rate)
        data.check_batch(self.batch)
        if data.held_out is not None:
            check_tasks(data.held_out)
        network = build_backbone(self.backbone, data.shape)
        return Learner(network, data.n_classes).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def loss(self, network: nn.Module, data: TrainingImages, rng: torch.Generator, step: int) -> Loss:
        """Cross-entropy of the classes of all images, mixed ones counting for both, and of the turns of the turned half."""
        rows, half, quarter = data.sample(self.batch, rng), self.batch // 2, self.batch // 4
        turn = torch.randint(TURNS, (self.batch,), generator=rng, device=rng.device)
        turn[:half] = 0
        images = jittered(crops(data.pixels, rows, turn, rng), self.jitter, rng)
        share, place = self._mixing(rng, step)
        n_stages = len(list(_plain(network).backbone))
        stage = functional.one_hot((place * n_stages).long(), n_stages)
        classes, turns = network(images, share * stage)

        label, loss = data.label[rows], functional.cross_entropy
        mixed, rest = classes[:quarter], loss(classes[quarter:], label[quarter:])
        own, other = loss(mixed, label[:quarter]), loss(mixed, label[:quarter].flip(0))
        turning = loss(turns, turn[half:])
        metrics = {
            "class_loss": own.lerp(other, share) / 4 + 3 * rest / 4,
            "turn_loss": turning,
            "accuracy": (classes[half:].argmax(1) == label[half:]).float().mean(),  # of the half that is never mixed
            "turn_accuracy": (turns.argmax(1) == turn[half:]).float().mean(),
        }
        return metrics["class_loss"] + self.turn_weight * turning, metrics

    def validate(self, network: nn.Module, data: TrainingImages, rng: torch.Generator) -> dict[str, float]:
        """accuracy_1_shot, accuracy_5_shot: of nearest means in 5-way tasks of held-out classes, and …_se over tasks."""
        assert data.held_out is not None
        features = encode(_plain(network).backbone, data.held_out)
        found = {}
        for shots in (1, 5):
            share = task_accuracies(features, data.held_out, rng, shots=shots, n_tasks=self.test_tasks)
            found[f"accuracy_{shots}_shot"] = float(share.mean())
            found[f"accuracy_{shots}_shot_se"] = float(share.std() / len(share) ** 0.5)
        return found

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        kernels = [p for p in network.parameters() if p.ndim > 1]
        others = [p for p in network.parameters() if p.ndim < 2]  # norms, biases, sharpness
        groups = [{"params": kernels, "weight_decay": self.decay}, {"params": others, "weight_decay": 0.0}]
        return torch.optim.SGD(groups, self.learning_rate, momentum=0.9, nesterov=True)

    def rate(self, step: int) -> float:
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        done = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return 0.5 + 0.5 * math.cos(math.pi * min(1.0, done))

    def for_steps(self, steps: int) -> Self:
        return replace(self, steps=steps)

    def speed_options(self, n_devices: int) -> dict[str, Any]:
        return {"precision": "bf16-mixed", "compile": True}

    def part_to_keep(self, network: nn.Module, shape: tuple[int, int, int]) -> KeptNetwork:
        """The backbone, without the heads."""
        kind = NETWORKS[self.backbone]
        config = {**kind.arguments, "channels": shape[0], "size": shape[1]}
        return KeptNetwork(_plain(network).backbone, kind.architecture or self.backbone, config)

    def _mixing(self, rng: torch.Generator, step: int) -> tuple[Tensor, Tensor]:
        """The share 1 − λ of the other image, 0 in the first phase, and a place in [0, 1) for the stage to mix before."""
        drawn = torch.rand(2 * self.mix, generator=rng, device=rng.device)
        # of 2a − 1 uniform numbers the middle one is Beta(a, a)
        share = drawn[1:].sort().values[self.mix - 1]
        return share * float(step >= self.steps * (1 - self.mixed)), drawn[0]


def crops(pixels: Tensor, rows: Tensor, turn: Tensor, rng: torch.Generator) -> Tensor:
    """These images, each shifted by up to 4 px (the border mirrored), flipped with probability ½ and given its quarter turns.

    pixels: (n, c, side, side) uint8; rows, turn: (b,) int64 → (b, c, side, side) float32 in [0, 1], channels last. All is
    one gather of bytes: only the coordinates are turned and shifted.
    """
    side = pixels.shape[2]
    i = torch.arange(side, device=pixels.device)
    down, across = i[:, None].expand(side, side), i.expand(side, side)
    # which place of the upright view each place of the turned one takes, counter-clockwise as torch.rot90
    views = torch.stack((down, across, side - 1 - down, side - 1 - across))
    y, x = views[turn], views[(turn + 1) % TURNS]
    flip = torch.randint(2, (len(rows), 1, 1), generator=rng, device=rng.device)
    x = torch.where(flip == 1, side - 1 - x, x)
    shift = torch.randint(-REACH, REACH + 1, (2, len(rows), 1, 1), generator=rng, device=rng.device)
    y, x = (_mirrored(place, side) for place in (y + shift[0], x + shift[1]))
    return pixels[rows[:, None, None], :, y, x].permute(0, 3, 1, 2).float() / 255


def jittered(images: Tensor, most: float, rng: torch.Generator) -> Tensor:
    """Brightness, contrast and saturation of each image (b, c, h, w) in [0, 1] times 1 − most to 1 + most."""
    factor = 1 + most * (2 * torch.rand((3, len(images), 1, 1, 1), generator=rng, device=rng.device) - 1)
    bright = images * factor[0]
    grey = bright.mean(1, keepdim=True)
    middle = grey.mean((2, 3), keepdim=True)
    return (middle + factor[1] * (grey + factor[2] * (bright - grey) - middle)).clamp(0, 1)


def task_accuracies(
    features: Tensor, data: TrainingImages, rng: torch.Generator, *, shots: int, n_tasks: int, ways: int = TEST_WAYS
) -> Tensor:
    """(n_tasks,) float64: the share of 15 queries per class that lie nearest to their own class's mean, at random tasks.

    features: (n, d) of data's images, divided by their length here.
    """
    lot = torch.rand((n_tasks, data.n_classes), generator=rng, device=rng.device)
    classes = lot.topk(ways).indices.flatten()
    rows = sample_drawings(data, classes, shots + TEST_QUERIES, rng, exemplar_first=False)
    unit = functional.normalize(features)[rows].unflatten(0, (n_tasks, ways))  # (tasks, ways, shots + 15, d)
    label = torch.arange(ways, device=features.device)
    support, query = unit[:, :, :shots].flatten(1, 2), unit[:, :, shots:].flatten(1, 2)
    readout = fit_nearest_mean(support, label.repeat_interleave(shots).expand(n_tasks, -1), ways)
    return (readout.predict(query) == label.repeat_interleave(TEST_QUERIES)).double().mean(1)


def check_tasks(data: TrainingImages) -> None:
    """5-way 5-shot tasks with 15 queries per class can be drawn."""
    least, needed = int((data.rows >= 0).sum(1).min()), 5 + TEST_QUERIES
    if data.n_classes < TEST_WAYS or least < needed:
        raise UserError(
            f"validation needs {TEST_WAYS} classes of {needed} images, held out are {data.n_classes} of {least} and more: "
            "hold out more, or none"
        )


def _mirrored(place: Tensor, side: int) -> Tensor:
    """Coordinates a little outside of 0 … side − 1 come back in, as in a mirror behind the border pixel."""
    return side - 1 - (side - 1 - place.abs()).abs()


def _plain(network: nn.Module) -> Learner:
    """The learner itself, where torch.compile has wrapped it."""
    plain = getattr(network, "_orig_mod", network)
    assert isinstance(plain, Learner)
    return plain
