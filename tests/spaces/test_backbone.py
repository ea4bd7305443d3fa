"""Backbones for photographs: their sizes, their views of images, mix-up between stages, and what validation measures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.networks import BACKBONE, NETWORKS, build_backbone, build_network, list_networks
from exemplar.spaces.networks.conv4 import Conv64
from exemplar.spaces.networks.densenet import DenseNet
from exemplar.spaces.networks.wide_resnet import WideResNet
from exemplar.spaces.objectives.pretraining import (
    REACH,
    Learner,
    Pretraining,
    crops,
    jittered,
    task_accuracies,
)
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train


def n_parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def patches(n_classes: int = 6, n_each: int = 24, size: int = 16) -> TrainingImages:
    """Classes told apart by colour and by the place of a bright patch; noise, so that no two images are the same."""
    rng = seeds.rng("patches", n_classes, n_each, size)
    label = np.arange(n_classes).repeat(n_each)
    pixels = rng.integers(0, 80, (len(label), size, size, 3), dtype=np.uint8)
    for row, k in enumerate(label):
        pixels[row, 2:7, 2 + k : 8 + k, k % 3] = 230
    return TrainingImages.of(pixels, label, [f"patch {k}" for k in range(n_classes)])


def test_backbones_have_as_many_parameters_as_they_should() -> None:
    assert n_parameters(WideResNet(28, 4)) == 5_846_480
    assert n_parameters(WideResNet(28, 10)) + 640 * 10 + 10 == 36_479_194  # with the ten outputs of its authors' table
    assert n_parameters(DenseNet(100, 12)) + 342 * 10 + 10 == 769_162  # likewise
    assert n_parameters(DenseNet()) == 933_800
    assert n_parameters(Conv64()) == 113_088


@pytest.mark.parametrize(("name", "n_features"), [("wrn28-4", 256), ("densenet", 308), ("conv4-64", 256)])
def test_a_backbone_gives_features_that_are_nowhere_below_0(name: str, n_features: int) -> None:
    backbone = build_backbone(name, (3, 32, 32)).eval()
    with torch.no_grad():
        features = backbone(torch.rand((2, 3, 32, 32), generator=seeds.torch_rng("features")))
    assert features.shape == (2, n_features) == (2, backbone.n_features)
    assert (features >= 0).all() and (features > 0).any()


@pytest.mark.parametrize("name", list_networks(BACKBONE))
def test_a_backbone_that_is_trained_is_the_one_the_zoo_builds_to_load_it(name: str) -> None:
    data, objective = patches(), Pretraining(name, batch=8)
    with torch.device("meta"):  # millions of weights are not asked for
        trained = objective.build(data)
        kept = objective.part_to_keep(trained, data.shape)
        loaded = build_network(kept.architecture, kept.config)
    assert kept.module is trained.backbone and str(kept.module) == str(loaded)
    assert kept.architecture == (NETWORKS[name].architecture or name)


def test_a_wide_block_is_normalise_relu_convolve_twice_and_add() -> None:
    block = WideResNet(10, 1).eval().get_submodule("group2.0")
    x = torch.randn((2, 16, 8, 8), generator=seeds.torch_rng("block"))
    kernel = {name: p for name, p in block.named_parameters()}
    ready = functional.relu(x / (1 + 1e-5) ** 0.5)  # fresh statistics: mean 0, variance 1
    middle = functional.relu(functional.conv2d(ready, kernel["conv1.weight"], stride=2, padding=1) / (1 + 1e-5) ** 0.5)
    expected = functional.conv2d(middle, kernel["conv2.weight"], padding=1)
    expected = expected + functional.conv2d(ready, kernel["shortcut.weight"], stride=2)
    torch.testing.assert_close(block(x), expected)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 3))
def test_a_crop_is_a_part_of_the_mirrored_image_flipped_and_turned(seed: int, turn: int) -> None:
    """Of all shifts and flips there are, one gives the crop, and by no more than 4 px."""
    side = 12
    pixels = torch.randint(256, (3, 2, side, side), generator=seeds.torch_rng("image"), dtype=torch.uint8)
    row = seed % 3
    crop = crops(pixels, torch.tensor([row]), torch.tensor([turn]), seeds.torch_rng(seed))[0]
    wide = functional.pad(pixels[row].float() / 255, (REACH,) * 4, mode="reflect")
    parts = [wide[:, y : y + side, x : x + side] for y in range(2 * REACH + 1) for x in range(2 * REACH + 1)]
    views = [view.rot90(turn, (1, 2)) for part in parts for view in (part, part.flip(2))]
    assert sum(torch.equal(view, crop) for view in views) == 1


def test_all_crops_occur() -> None:
    pixels = torch.randint(256, (1, 1, 12, 12), generator=seeds.torch_rng("image"), dtype=torch.uint8)
    zeros = torch.zeros(4000, dtype=torch.int64)
    seen = crops(pixels, zeros, zeros, seeds.torch_rng("all")).flatten(1)
    assert len(seen.unique(dim=0)) == 2 * (2 * REACH + 1) ** 2


def test_jitter_of_nothing_changes_nothing_and_some_stays_within_bounds() -> None:
    images = torch.rand((20, 3, 8, 8), generator=seeds.torch_rng("jitter"))
    torch.testing.assert_close(jittered(images, 0.0, seeds.torch_rng("none")), images)
    changed = jittered(images, 0.4, seeds.torch_rng("some"))
    assert (changed >= 0).all() and (changed <= 1).all()
    assert ((changed - images).flatten(1).abs().max(1).values > 0.01).all()
    grey = torch.full((50, 3, 4, 4), 0.5)  # only brightness is left to change
    factor = jittered(grey, 0.4, seeds.torch_rng("grey"))[:, 0, 0, 0] / 0.5
    assert factor.min() >= 0.6 and factor.max() <= 1.4 and factor.max() - factor.min() > 0.5


@pytest.mark.parametrize("place", range(5))
def test_mixing_before_a_stage_mixes_what_the_stage_before_gave(place: int) -> None:
    """Recomputed stage by stage, in evaluation, where images do not touch each other otherwise."""
    network = Learner(Conv64(3, 16), 4).eval()
    images = torch.rand((12, 3, 16, 16), generator=seeds.torch_rng("mix"))
    with torch.no_grad():
        classes, turns = network(images, 0.3 * functional.one_hot(torch.tensor(place), 5))
        x = images
        for k, stage in enumerate(network.backbone):
            if k == place:
                x = torch.cat((0.7 * x[:3] + 0.3 * x[[2, 1, 0]], x[3:]))
            x = stage(x)
        torch.testing.assert_close(classes, network.classes(x))
        torch.testing.assert_close(turns, network.turns(x[6:]))
        plain, _ = network(images, torch.zeros(5))
        torch.testing.assert_close(plain, network.classes(network.backbone(images)))


def test_mixing_begins_with_the_second_phase_and_follows_a_beta_distribution() -> None:
    objective = Pretraining(steps=100, mixed=0.3)
    assert objective._mixing(seeds.torch_rng("early"), 69)[0] == 0
    rng = seeds.torch_rng("late")
    drawn = np.array([[float(value) for value in objective._mixing(rng, 70)] for _ in range(4000)])
    share, place = drawn[:, 0], drawn[:, 1]
    assert share.mean() == pytest.approx(0.5, abs=0.02) and share.var() == pytest.approx(
        1 / 20, abs=0.005
    )  # Beta(2, 2)
    assert place.mean() == pytest.approx(0.5, abs=0.03) and abs(np.corrcoef(share, place)[0, 1]) < 0.08
    flat = np.array([float(replace(objective, mix=1)._mixing(rng, 99)[0]) for _ in range(4000)])
    assert flat.var() == pytest.approx(1 / 12, abs=0.006)  # Beta(1, 1) is uniform


class Spy(Learner):
    """Keeps what it was shown."""

    def forward(self, images: Tensor, mix: Tensor) -> tuple[Tensor, Tensor]:
        self.images, self.mix = images, mix
        self.found = super().forward(images, mix)
        return self.found


@pytest.mark.parametrize("step", [0, 99])
def test_the_loss_counts_mixed_images_for_both_classes_and_turns_for_the_turned_half(
    step: int, monkeypatch: Any
) -> None:
    data, objective = patches(), Pretraining("conv4-64", batch=12, steps=100, turn_weight=0.5, jitter=0.0)
    network, rows = Spy(Conv64(3, 16), 6), torch.arange(0, 120, 10)
    monkeypatch.setattr(TrainingImages, "sample", lambda self, n, rng: rows)
    loss, metrics = objective.loss(network, data, seeds.torch_rng("loss"), step)
    share = float(network.mix.sum())
    assert (share > 0) == (step == 99) and int((network.mix > 0).sum()) == (step == 99)
    log_p, label = network.found[0].log_softmax(1), data.label[rows]
    mixed = [(1 - share) * log_p[i, label[i]] + share * log_p[i, label[2 - i]] for i in range(3)]
    plain = [log_p[i, label[i]] for i in range(3, 12)]
    class_loss = -torch.stack(mixed + plain).mean().item()
    assert metrics["class_loss"].item() == pytest.approx(class_loss, rel=1e-5)
    assert loss.item() == pytest.approx(class_loss + 0.5 * metrics["turn_loss"].item(), rel=1e-5)

    turns = []  # found again in the images: which quarter turn of which crop was shown?
    for image, row in zip(network.images, rows, strict=True):
        wide = functional.pad(data.take(row[None]), (REACH,) * 4, mode="reflect")[0]
        parts = torch.stack(
            [wide[:, y : y + 16, x : x + 16] for y in range(2 * REACH + 1) for x in range(2 * REACH + 1)]
        )
        upright = torch.cat((parts, parts.flip(3)))
        (turn,) = [k for k in range(4) if (upright.rot90(k, (2, 3)) - image).abs().flatten(1).amax(1).min() < 1e-5]
        turns.append(turn)
    assert turns[:6] == [0] * 6 and len(set(turns[6:])) > 1
    turn_loss = functional.cross_entropy(network.found[1], torch.tensor(turns[6:])).item()
    assert metrics["turn_loss"].item() == pytest.approx(turn_loss, rel=1e-5)


def test_a_step_needs_one_graph_whatever_it_mixes() -> None:
    """Compiled code is made once: neither phase nor stage is a branch."""
    data, graphs = patches(), []

    def count(graph: torch.fx.GraphModule, example: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    objective = Pretraining("conv4-64", batch=8, steps=20, mixed=0.5)
    network: Any = torch.compile(objective.build(data), backend=count)
    for step in (0, 1, 10, 11, 12, 19):
        objective.loss(network, data, seeds.torch_rng("compiled", step), step)[0].backward()
    assert len(graphs) == 1


def test_accuracy_is_1_for_separate_classes_and_chance_for_none_and_as_a_plain_loop_finds_it_between() -> None:
    data, rng = patches(n_classes=8), seeds.torch_rng("tasks")
    apart = torch.eye(8)[data.label]
    assert task_accuracies(apart, data, rng, shots=1, n_tasks=20).eq(1).all()
    noise = torch.randn((len(data.label), 16), generator=rng)
    shares = task_accuracies(noise, data, rng, shots=5, n_tasks=400)
    assert shares.shape == (400,) and float(shares.mean()) == pytest.approx(0.2, abs=0.02)

    features, numbers = noise + 2 * torch.nn.functional.pad(apart, (0, 8)), seeds.rng("loop")
    unit, label = functional.normalize(features).numpy(), data.label.numpy()
    right = []
    for _ in range(400):
        classes = numbers.permutation(8)[:5]
        rows = np.stack([numbers.permutation(np.flatnonzero(label == k))[:20] for k in classes])
        means = unit[rows[:, :5]].mean(1)
        distance = ((unit[rows[:, 5:]][:, :, None] - means) ** 2).sum(-1)
        right.append((distance.argmin(-1) == np.arange(5)[:, None]).mean())
    shares = task_accuracies(features, data, rng, shots=5, n_tasks=400)
    assert float(shares.mean()) == pytest.approx(np.mean(right), abs=0.02) and 0.4 < np.mean(right) < 0.95


def test_a_few_steps_of_training_learn_classes_and_turns() -> None:
    data = patches()
    objective = Pretraining("conv4-64", batch=32, steps=40, warm_up=5, learning_rate=0.05, test_tasks=50)
    curve = train(objective, replace(data, held_out=data), steps=40, seed=0, every=20, device="cpu").curve
    assert curve[1]["loss"] < curve[0]["loss"]
    assert curve[1]["accuracy"] > 0.4 and curve[1]["turn_accuracy"] > 0.4  # guesses: 0.17 and 0.25
    assert curve[1]["held_out_accuracy_5_shot"] >= curve[1]["held_out_accuracy_1_shot"] > 0.8


def test_the_rate_rises_then_falls_to_nothing() -> None:
    objective = Pretraining(steps=100, warm_up=10)
    assert [objective.rate(step) for step in (0, 9, 10, 55, 100)] == pytest.approx([0.1, 1, 1, 0.5, 0])


def test_only_kernels_and_matrices_decay() -> None:
    network = Pretraining("conv4-64", batch=8).build(patches())
    decaying, staying = Pretraining(decay=0.1).optimizer(network).param_groups
    assert decaying["weight_decay"] == 0.1 and staying["weight_decay"] == 0
    assert all(p.ndim > 1 for p in decaying["params"]) and all(p.ndim < 2 for p in staying["params"])
    assert sum(p.numel() for group in (decaying, staying) for p in group["params"]) == n_parameters(network)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Pretraining("wrn28-5", batch=8), "did you mean wrn28-4"),
        (Pretraining("conv4-64"), "a batch of 256 needs as many images, there are 144"),
        (Pretraining("conv4-64", batch=10), "a batch of 4, 8"),
        (Pretraining("conv4-64", batch=8, mixed=1.5), "mixed share"),
        (Pretraining("conv4-64", batch=8, jitter=1.0), "mixed share"),
        (Pretraining("conv4-64", batch=8, learning_rate=-1), "the learning rate -1 must be a number above 0"),
        (Pretraining("conv4-64", batch=8, decay=float("nan")), "the decay nan must be"),
    ],
)
def test_an_objective_refuses_what_it_cannot_use(objective: Pretraining, message: str) -> None:
    with pytest.raises(UserError, match=message):
        objective.build(patches())


def test_networks_refuse_shapes_that_do_not_exist() -> None:
    with pytest.raises(UserError, match="no WRN-27-4"):
        WideResNet(27, 4)
    with pytest.raises(UserError, match="depth 41"):
        DenseNet(41)
    with pytest.raises(UserError, match="at least 16 px"):
        Conv64(3, 8)
    few = patches(n_classes=4)
    with pytest.raises(UserError, match="needs 5 classes of 20 images, held out are 4 of 24"):
        Pretraining("conv4-64", batch=8).build(replace(few, held_out=few))
