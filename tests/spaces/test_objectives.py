"""What holds for every objective: what is kept of it, where its numbers are made, in which precision, and what it refuses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.networks import build_network
from exemplar.spaces.objectives.classifier import Classifier
from exemplar.spaces.objectives.maml import Maml
from exemplar.spaces.objectives.pretraining import Learner, Pretraining, jittered, task_accuracies
from exemplar.spaces.objectives.protonet import ProtoNet, episode_logits
from exemplar.spaces.objectives.simclr import SimClr, contrast
from exemplar.spaces.training.images import TrainingImages


def patches(n_classes: int = 20, n_each: int = 20, channels: int = 1, size: int = 16) -> TrainingImages:
    """Noise, brighter with the class."""
    rng = seeds.rng("objectives", n_classes, n_each, channels)
    label = np.arange(n_classes).repeat(n_each)
    pixels = rng.integers(0, 100, (len(label), size, size, channels), dtype=np.uint8) + 7 * label[:, None, None, None]
    names, exemplar = [f"{k}" for k in range(n_classes)], np.arange(n_classes) * n_each
    return TrainingImages.of(pixels.astype(np.uint8), label, names, exemplar)


SMALL = [
    ProtoNet(ways=4, epoch=10, halve_after=2),
    SimClr(batch=12),
    Classifier(batch=12),
    Classifier("conv4-64", batch=12),
    Maml(ways=2, queries=1, tasks=1, inner_steps=1, test_steps=1, test_tasks=1),
    Pretraining("conv4-64", batch=8, steps=10, warm_up=2, test_tasks=3),
]
NAMES = [f"{type(one).__name__}-{getattr(one, 'network', '')}" for one in SMALL]


@pytest.mark.parametrize("objective", SMALL, ids=NAMES)
def test_what_is_kept_is_what_its_card_builds(objective: Any) -> None:
    data = patches(channels=3)
    network = objective.build(data)
    kept = objective.part_to_keep(network, data.shape)
    again = build_network(kept.architecture, kept.config)
    assert str(again) == str(kept.module)
    again.load_state_dict(kept.module.state_dict())
    assert not any("turns" in name for name in kept.module.state_dict())


@pytest.mark.parametrize("objective", SMALL, ids=NAMES)
def test_no_number_is_made_on_a_device_that_nobody_named(objective: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, what is made elsewhere stops the training. Here the device that is meant where none is named is "meta"."""
    data = patches(channels=3)
    data = replace(data, held_out=data)
    network = objective.build(data)

    def as_tensor(values: Any, **how: Any) -> Tensor:  # in truth, too, a tensor stays where it is
        return values if isinstance(values, Tensor) and not how else make(values, **how)

    make = torch.as_tensor
    monkeypatch.setattr(torch, "as_tensor", as_tensor)
    expected = [objective.loss(network, data, seeds.torch_rng("draws"), 9)[0].item()]
    fresh = replace(data)  # with nothing computed yet
    with torch.device("meta"):
        found = [objective.loss(network, fresh, seeds.torch_rng("draws", device="cpu"), 9)[0].item()]
        network.eval()
        with torch.no_grad():
            measured = objective.validate(network, fresh, torch.Generator("cpu").manual_seed(1))
    assert found == expected and all(np.isfinite(value) for value in measured.values())


def test_distances_and_second_derivatives_are_taken_in_full_precision() -> None:
    data = patches(channels=3)
    embedded = 100 + torch.rand((2, 4, 3, 8), generator=seeds.torch_rng("embedded"))
    objective = Maml(ways=4, queries=1, tasks=2, inner_steps=1)
    network = objective.build(data)

    def numbers() -> list[Tensor]:
        return [
            episode_logits(embedded, 1)[0],
            contrast(embedded.flatten(0, 2), 0.5)[0],
            objective.loss(network, data, seeds.torch_rng("full"), 0)[0],
        ]

    halves: list[bool] = []
    network.register_forward_pre_hook(lambda *_: halves.append(torch.is_autocast_enabled("cpu")))
    plain = numbers()
    prototype, query = embedded.double()[:, :, :1].mean(2), embedded.double()[:, :, 1:].flatten(1, 2)
    exact = -torch.cdist(query, prototype).square() + query.square().sum(2, keepdim=True)
    assert torch.allclose(plain[0].double(), exact.flatten(0, 1), rtol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert all(torch.equal(one, other) for one, other in zip(plain, numbers(), strict=True))
    assert halves and not any(halves)


def test_tasks_of_validation_are_drawn_from_the_generator_that_is_given() -> None:
    data = patches()
    features = torch.rand((len(data.pixels), 3), generator=seeds.torch_rng("features"))
    found = [task_accuracies(features, data, seeds.torch_rng(k), shots=1, n_tasks=9) for k in (0, 0, 1)]
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


@pytest.mark.parametrize("objective", SMALL, ids=NAMES)
def test_what_is_trained_is_fixed_before_it_begins(objective: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        objective.learning_rate = 1.0


@pytest.mark.parametrize("objective", SMALL[:5], ids=NAMES[:5])
def test_small_networks_are_replayed_on_a_single_gpu(objective: Any) -> None:
    assert [objective.speed_options(n)["replay"] for n in (1, 2)] == [True, False]


def test_a_rate_is_halved_after_so_many_epochs() -> None:
    for kind in (ProtoNet, Classifier):
        objective = kind(epoch=5, halve_after=3)
        assert [objective.rate(step) for step in (0, 14, 15, 29, 30, 45)] == [1, 1, 0.5, 0.5, 0.25, 0.125]


COUNTS = {
    ProtoNet(ways=4): ("ways", "shots", "queries", "episodes", "epoch", "halve_after"),
    Classifier(batch=8): ("batch", "epoch", "halve_after"),
    Maml(ways=4, queries=1): ("ways", "shots", "queries", "tasks", "inner_steps", "test_steps", "test_tasks"),
    Pretraining("conv4-64", batch=8, test_tasks=2): ("batch", "steps", "mix", "test_tasks"),
}


@pytest.mark.parametrize(("objective", "name"), [(one, name) for one, names in COUNTS.items() for name in names])
def test_every_count_is_at_least_1(objective: Any, name: str) -> None:
    """Of ways and of test tasks, 2: one alone tells nothing, and has no spread."""
    objective.build(patches(channels=3))
    least = {"ways": 2, "batch": 4 if isinstance(objective, Pretraining) else 1}.get(name, 1)
    least = 2 if isinstance(objective, Pretraining) and name == "test_tasks" else least
    replace(objective, **{name: least}).build(patches(channels=3))
    with pytest.raises(UserError, match="at least 1|or more"):
        replace(objective, **{name: least - 1}).build(patches(channels=3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 6}, "a batch of 4, 8"),
        ({"batch": 0}, "a batch of 4, 8"),
        ({"warm_up": -1}, "a batch of 4, 8"),
        ({"mixed": -0.1}, "mixed share must lie between 0 and 1"),
        ({"mixed": 1.1}, "mixed share must lie between 0 and 1"),
        ({"jitter": 1.0}, "jitter from 0 to below 1"),
        ({"jitter": -0.1}, "jitter from 0 to below 1"),
        ({"decay": -1e-9}, "must be a number from 0 up"),
        ({"decay": float("inf")}, "must be a number from 0 up"),
        ({"decay": float("nan")}, "must be a number from 0 up"),
    ],
)
def test_a_backbone_refuses_shares_that_are_none(change: dict[str, float], message: str) -> None:
    objective, data = Pretraining("conv4-64", batch=8), patches(channels=3)
    for fine in ({"warm_up": 0}, {"mixed": 0.0}, {"mixed": 1.0}, {"mixed": 0.5}, {"jitter": 0.0}, {"decay": 0.0}):
        replace(objective, **fine).build(data)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=message):
        replace(objective, **change).build(data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("objective", "enough", "few", "message"),
    [
        (ProtoNet(ways=4), (20, 2), (19, 2), "validation needs 20 classes, 19 are held out"),
        (ProtoNet(ways=4), (20, 2), (20, 1), "takes 2 drawings of a class, one class has 1"),
        (SimClr(batch=8), (20, 1), (19, 1), "validation needs 20 classes, 19 are held out"),
        (SimClr(batch=24), (24, 1), (20, 1), "a batch of 24 needs as many images, there are 20"),
        (Maml(ways=4, queries=1), (4, 2), (3, 2), "4-way tasks need 4 classes, there are 3"),
        (Maml(ways=4, queries=1), (4, 2), (4, 1), "takes 2 drawings of a class, one class has 1"),
        (Pretraining("conv4-64", batch=8), (5, 20), (4, 20), "needs 5 classes of 20 images, held out are 4 of 20"),
        (Pretraining("conv4-64", batch=8), (5, 20), (5, 19), "needs 5 classes of 20 images, held out are 5 of 19"),
    ],
)
def test_what_is_held_out_must_do_for_validation(
    objective: Any, enough: tuple[int, int], few: tuple[int, int], message: str
) -> None:
    data = patches(channels=3)
    objective.build(data)  # nothing is held out
    objective.build(replace(data, held_out=patches(*enough, channels=3)))
    with pytest.raises(UserError, match=message):
        objective.build(replace(data, held_out=patches(*few, channels=3)))


def test_validation_of_maml_counts_tasks_and_gives_the_error_of_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten tasks of two queries and two ways, of which every other one is answered rightly, with logits of 2 and 0."""
    asked: list[tuple[int, int, bool]] = []

    def attempt(
        self: Maml, network: nn.Module, data: TrainingImages, rng: Any, n: int, steps: int, *, exemplar_first: bool
    ) -> tuple[list[Tensor], Tensor]:
        first = sum(one[0] for one in asked if one[2] == exemplar_first)
        asked.append((n, steps, exemplar_first))
        target = torch.tensor([0, 1]).expand(n, 2)
        right = (torch.arange(first, first + n) % 2 == 0) if exemplar_first else torch.ones(n, dtype=torch.bool)
        shown = torch.where(right[:, None], target, 1 - target)
        return [2.0 * functional.one_hot(shown, 2)], target

    monkeypatch.setattr(Maml, "_attempt", attempt)
    objective, data = Maml(ways=2, queries=1, test_steps=7, test_tasks=10), patches()
    found = objective.validate(nn.Identity(), replace(data, held_out=data), seeds.torch_rng(0))
    sure, wrong = np.log1p(np.exp(-2)), np.log1p(np.exp(2))
    assert found == pytest.approx(
        {
            "loss": (sure + wrong) / 2,
            "accuracy_exemplar": 0.5,
            "accuracy_exemplar_se": 0.5 / np.sqrt(10),
            "accuracy_random": 1.0,
            "accuracy_random_se": 0.0,
        }
    )
    for exemplar_first in (True, False):
        assert sum(n for n, _, which in asked if which == exemplar_first) == 10
    assert {steps for _, steps, _ in asked} == {7}
    asked.clear()
    bare = replace(data, exemplar=None)
    found = objective.validate(nn.Identity(), replace(data, held_out=bare), seeds.torch_rng(0))
    assert "accuracy_exemplar" not in found and found["loss"] == pytest.approx(sure)


def test_brightness_contrast_and_saturation_change_independently_of_each_other() -> None:
    """An image of two greys and a tint, in the middle of the range: its mean, its spread and its tint tell the three factors."""
    light = torch.tensor([0.35, 0.45])[:, None].expand(2, 2)
    tint = torch.tensor([0.05, 0.0, -0.05])[:, None, None]
    image = (light + tint).expand(2000, 3, 2, 2)
    changed = jittered(image, 0.4, seeds.torch_rng("three")).double()
    grey = changed.mean(1)
    brightness = grey.mean((1, 2)) / 0.4
    contrasted = (grey[:, 1, 0] - grey[:, 0, 0]) / 0.1 / brightness
    saturation = (changed[:, 0, 0, 0] - changed[:, 2, 0, 0]) / 0.1 / brightness / contrasted
    factors = torch.stack([brightness, contrasted, saturation])
    assert (factors.amin(1) > 0.6 - 1e-4).all() and (factors.amax(1) < 1.4 + 1e-4).all()
    assert torch.allclose(factors.mean(1), torch.ones(3, dtype=torch.float64), atol=0.02)
    assert torch.allclose(factors.std(1), torch.full((3,), 0.8 / 12**0.5, dtype=torch.float64), atol=0.01)  # uniform
    assert torch.allclose(torch.corrcoef(factors), torch.eye(3, dtype=torch.float64), atol=0.1)


def test_a_mix_has_a_share_for_each_stage() -> None:
    objective = Pretraining("conv4-64", batch=8)
    network = objective.build(patches(channels=3))
    assert isinstance(network, Learner)
    with pytest.raises(ValueError, match="zip"):
        network(torch.zeros(8, 3, 16, 16), torch.zeros(len(list(network.backbone)) + 1))


def test_the_schedule_of_a_backbone_by_hand() -> None:
    objective = Pretraining(steps=12, warm_up=4)
    assert [objective.rate(step) for step in (0, 1, 3)] == [0.25, 0.5, 1.0]
    assert [objective.rate(step) for step in (4, 8, 12, 99)] == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert objective.rate(6) == pytest.approx((1 + np.cos(np.pi / 4)) / 2)
    assert Pretraining(steps=3, warm_up=4).rate(4) == 1.0  # a schedule that ends before it has warmed up
