"""The critics' networks and what they learn from: SimCLR, ProtoNet and the standard classifier."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.networks import CRITIC, build_critic, list_networks
from exemplar.spaces.networks.conv4 import Conv4
from exemplar.spaces.networks.quickdraw import Conv3, ResNet
from exemplar.spaces.objectives.calibration import calibrated_loss
from exemplar.spaces.objectives.classifier import Classifier
from exemplar.spaces.objectives.protonet import ProtoNet, accuracies, chance_of_nearest, sample_drawings
from exemplar.spaces.objectives.simclr import SimClr, contrast
from exemplar.spaces.training.images import TrainingImages


def dots(n_classes: int = 24, n_each: int = 6, size: int = 16, *, exemplars: bool = True) -> TrainingImages:
    """Classes told apart by the place of a bright square; no two drawings of one are the same."""
    rng = seeds.rng("dots", n_classes, n_each, size)
    pixels = rng.integers(0, 40, (n_classes * n_each, size, size), dtype=np.uint8)
    label = np.arange(n_classes).repeat(n_each)
    for row, k in enumerate(label):
        pixels[row, 3 * (k // 5) : 3 * (k // 5) + 3, 3 * (k % 5) : 3 * (k % 5) + 3] = 255
    exemplar = np.arange(n_classes) * n_each + 2 if exemplars else None
    return TrainingImages.of(pixels, label, [f"place {k}" for k in range(n_classes)], exemplar)


class Pixels(nn.Module):
    """The images themselves, as a network."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.seen = images
        return images.flatten(1)


def n_parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def test_the_critics_have_as_many_parameters_as_published() -> None:
    assert n_parameters(Conv4(50)) == n_parameters(Conv4(48)) == 292_544
    assert n_parameters(Conv3(48)) == 1_435_520
    assert n_parameters(ResNet(48)) == 11_686_208


def test_the_narrow_residual_network_is_a_fifteenth_of_the_published_one() -> None:
    narrow = build_critic("resnet-narrow", (1, 48, 48))
    assert n_parameters(narrow) == 788_336
    assert narrow(torch.zeros(2, 1, 48, 48)).shape == ResNet(48)(torch.zeros(2, 1, 48, 48)).shape


def test_conv4_sees_50_and_48_px_through_the_same_576_numbers() -> None:
    assert Conv4(50).feature.in_features == Conv4(48).feature.in_features == 576


@pytest.mark.parametrize("name", list_networks(CRITIC))
def test_a_critic_gives_256_features_before_any_relu_and_128_outputs(name: str) -> None:
    network = build_critic(name, (1, 48, 48)).eval()
    caught = []
    network.feature.register_forward_hook(lambda layer, given, result: caught.append(result.clone()))
    images = torch.rand(3, 1, 48, 48, generator=seeds.torch_rng("critic"))
    with torch.no_grad():
        outputs, features = network(images), network.features(images)
    assert outputs.shape == (3, 128) and features.shape == (3, 256)
    assert torch.equal(caught[0], features) and (features < 0).any()


@pytest.mark.parametrize("name", ["conv4", "conv3-wide"])
def test_with_the_tables_relu_features_that_are_all_negative_leave_nothing_but_the_bias(name: str) -> None:
    table, coded = build_critic(name, (1, 48, 48)).eval(), build_critic(f"{name}-linear", (1, 48, 48)).eval()
    for network in (table, coded):
        nn.init.constant_(network.feature.bias, -1e4)
    images = torch.rand(2, 1, 48, 48, generator=seeds.torch_rng("negative"))
    with torch.no_grad():
        assert torch.equal(table(images), table.last.bias.expand(2, -1))
        assert torch.equal(coded(images), coded.last(coded.features(images)))
        assert not torch.equal(coded(images), coded.last.bias.expand(2, -1))


def test_the_critics_that_ship_and_the_tables_differ_in_no_parameter() -> None:
    for name in ("conv4", "conv3-wide"):
        table, coded = build_critic(name, (1, 48, 48)), build_critic(f"{name}-linear", (1, 48, 48))
        assert {k: v.shape for k, v in table.state_dict().items()} == {
            k: v.shape for k, v in coded.state_dict().items()
        }


def test_a_loss_at_its_best_temperature_by_hand() -> None:
    """Three of four right by the same margin m: p = 3/4 is best, wherever m lies."""
    for margin in (0.01, 1.0, 40.0):
        logits = torch.tensor([[margin, 0.0]] * 4)
        target = torch.tensor([0, 0, 0, 1])
        wanted = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
        assert calibrated_loss(logits, target) == pytest.approx(wanted, rel=1e-9)
    assert calibrated_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0])) == pytest.approx(0, abs=1e-9)
    assert calibrated_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([1])) == pytest.approx(np.log(2), abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.floats(1e-8, 1e8))
@settings(deadline=None, max_examples=40)
def test_a_loss_at_its_best_temperature_does_not_depend_on_sureness_and_is_never_larger(
    seed: int, factor: float
) -> None:
    rng = seeds.torch_rng("calibrated", seed)
    logits = torch.randn((30, 5), generator=rng)
    target = torch.where(torch.rand(30, generator=rng) < 0.7, logits.argmax(1), 0)
    found = calibrated_loss(logits, target)
    assert calibrated_loss(factor * logits, target) == pytest.approx(found, rel=1e-5)
    assert found <= float(nn.functional.cross_entropy(logits, target)) + 1e-6


def test_the_residual_network_leaves_6_by_6_places_before_it_pools() -> None:
    network = ResNet(48).eval()
    with torch.no_grad():
        assert network.blocks(network.stem(torch.zeros(1, 1, 48, 48))).shape == (1, 512, 6, 6)


def test_critics_refuse_images_they_cannot_see() -> None:
    with pytest.raises(UserError, match="at least 16 px"):
        build_critic("conv4", (1, 12, 12))
    with pytest.raises(UserError, match="square"):
        build_critic("conv4", (1, 50, 48))
    with pytest.raises(UserError, match="did you mean conv4"):
        build_critic("conv5", (1, 50, 50))


def test_contrast_agrees_with_the_definition_written_out() -> None:
    b, temperature = 4, 0.5
    z = torch.randn(2 * b, 5, generator=seeds.torch_rng("contrast"), dtype=torch.float64)
    total = 0.0
    for i in range(2 * b):
        j = (i + b) % (2 * b)
        cosine = [float(z[i] @ z[k] / (z[i].norm() * z[k].norm())) for k in range(2 * b)]
        others = sum(np.exp(cosine[k] / temperature) for k in range(2 * b) if k != i)
        total -= np.log(np.exp(cosine[j] / temperature) / others) / (2 * b)
    assert float(contrast(z, temperature)[0]) == pytest.approx(total, rel=1e-5)


def test_contrast_is_lowest_when_views_agree_and_images_differ() -> None:
    apart = torch.eye(4).repeat(2, 1)
    loss, correct = contrast(apart, 0.5)
    assert float(loss) == pytest.approx(np.log(1 + 6 * np.exp(-2)))  # one at cosine 1, six at cosine 0
    assert correct == 1
    assert contrast(torch.ones(8, 4), 0.5)[0] == pytest.approx(np.log(7))


def test_simclr_sees_two_different_views_of_distinct_images(monkeypatch: pytest.MonkeyPatch) -> None:
    network, data = Pixels(), dots()
    n, taken = len(data.pixels), []
    take = TrainingImages.take
    monkeypatch.setattr(TrainingImages, "take", lambda self, rows: taken.append(rows) or take(self, rows))
    SimClr(batch=n).loss(network, data, seeds.torch_rng("views"), 0)
    assert torch.equal(
        torch.cat(taken).unique(return_counts=True)[1], torch.ones(n, dtype=torch.int64)
    )  # each image once
    first, second = network.seen[:n], network.seen[n:]
    assert (first != second).flatten(1).any(1).float().mean() > 0.9


def test_a_prototypical_loss_is_the_cross_entropy_of_squared_distances() -> None:
    """Recomputed, class by class, from the images the network was shown."""
    objective, network = ProtoNet(ways=5, shots=2, queries=3, episodes=2), Pixels()
    loss, metrics = objective.loss(network, dots(), seeds.torch_rng("episode"), 0)
    z = network.seen.flatten(1).double().view(2, 5, 5, -1)
    expected, right = [], []
    for episode in z:
        prototypes = episode[:, :2].mean(1)
        for k in range(5):
            for query in episode[k, 2:]:
                distance = (query - prototypes).square().sum(1)
                expected.append(float((-distance).softmax(0)[k].log().neg()))
                right.append(float(distance.argmin() == k))
    assert float(loss) == pytest.approx(np.mean(expected), rel=1e-4, abs=1e-6)
    assert float(metrics["accuracy"]) == pytest.approx(np.mean(right))


@settings(deadline=None)
@given(st.integers(1, 6), st.booleans(), st.integers(0, 2**32))
def test_drawings_of_an_episode_are_distinct_and_of_their_class(n: int, exemplar_first: bool, seed: int) -> None:
    data = dots()
    classes = torch.tensor([3, 3, 0, 23])
    rows = sample_drawings(data, classes, n, seeds.torch_rng(seed), exemplar_first=exemplar_first)
    assert (data.label[rows] == classes[:, None]).all()
    assert all(row.unique().numel() == n for row in rows)
    if exemplar_first:
        assert data.exemplar is not None and (rows[:, 0] == data.exemplar[classes]).all()


def test_every_drawing_is_as_likely_to_be_chosen_as_any_other() -> None:
    """Also in a class with fewer drawings than the others."""
    whole = dots(exemplars=False)
    data = TrainingImages(whole.pixels[2:], whole.label[2:], whole.names)  # class 0 is left with 4
    rows = sample_drawings(data, torch.zeros(4000, dtype=torch.int64), 2, seeds.torch_rng("fair"))
    share = rows.flatten().bincount(minlength=4) / 4000
    assert share.shape == (4,) and (share - 0.5).abs().max() < 0.04  # 5 standard errors


def test_the_closed_form_counts_episodes() -> None:
    assert chance_of_nearest(torch.tensor([0, 1, 130, 131, 149]), 150, 20).tolist() == pytest.approx(
        [1.0, 130 / 149, comb(19, 19) / comb(149, 19), 0, 0]
    )


@settings(deadline=None)
@given(st.integers(2, 200), st.data())
def test_the_closed_form_agrees_with_binomial_coefficients(n_classes: int, draw: st.DataObject) -> None:
    ways = draw.draw(st.integers(2, n_classes))
    nearer = draw.draw(st.integers(0, n_classes - 1))
    expected = comb(n_classes - 1 - nearer, ways - 1) / comb(n_classes - 1, ways - 1)
    found = float(chance_of_nearest(torch.tensor(nearer), n_classes, ways))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("shots", [1, 2])
def test_the_closed_form_agrees_with_sampled_episodes(shots: int) -> None:
    """Random features with a little class in them; support, distractors and queries drawn episode by episode."""
    data, ways = dots(exemplars=False), 5
    rng = seeds.rng("episodes", shots)
    features = rng.normal(size=(24, 1, 4)) * 0.8 + rng.normal(size=(24, 6, 4))
    exact = accuracies(
        torch.as_tensor(features.reshape(-1, 4)), data, seeds.torch_rng("exact"), shots=shots, ways=ways, rounds=400
    )
    right = []
    for _ in range(6000):
        classes, drawing = rng.permutation(24)[:ways], rng.permuted(np.tile(np.arange(6), (ways, 1)), axis=1)
        prototypes = np.stack([features[k, d[:shots]].mean(0) for k, d in zip(classes, drawing, strict=True)])
        query = features[classes[0], drawing[0, shots]]
        right.append(((query - prototypes) ** 2).sum(1).argmin() == 0)
    assert exact["accuracy_random"] == pytest.approx(np.mean(right), abs=0.03)


def test_the_exemplar_itself_is_no_query_and_ties_are_lost() -> None:
    data = dots()
    assert data.exemplar is not None
    features = torch.zeros(len(data.pixels), 2)  # nothing is told apart …
    assert accuracies(features, data, seeds.torch_rng("ties"))["accuracy_exemplar"] == 0
    features[data.exemplar, 0] = torch.arange(24.0)  # … but the exemplars, which would be right about themselves
    features[:, 1] = 1.0
    found = accuracies(features, data, seeds.torch_rng("ties"), ways=24)
    assert found["accuracy_exemplar"] == pytest.approx(1 / 24)  # one class is right, the others are wrong …
    assert found["accuracy_exemplar_se"] == pytest.approx((23 / 24**3) ** 0.5)  # … √(p (1 − p) / 24)


def test_a_class_without_queries_does_not_count() -> None:
    """One of 24 has but the drawing that is its support: 23 are asked, of which one is right."""
    data = dots()
    keep = torch.ones(len(data.pixels), dtype=torch.bool)
    keep[data.rows[5][data.rows[5] != data.exemplar[5]]] = False  # type: ignore[index]
    place = keep.cumsum(0) - 1
    fewer = TrainingImages.of(
        data.pixels[keep, 0].numpy(), data.label[keep].numpy(), data.names, place[data.exemplar].numpy()
    )
    features = torch.ones(int(keep.sum()), 2)
    features[fewer.exemplar, 0] = 1 + torch.arange(24.0)
    found = accuracies(features, fewer, seeds.torch_rng("ties"), ways=24)
    assert found["accuracy_exemplar"] == pytest.approx(1 / 23)
    assert found["accuracy_exemplar_se"] == pytest.approx((22 / 23**3) ** 0.5)


def test_new_classes_move_all_drawings_of_a_class_alike() -> None:
    """Copies of one drawing stay copies within a class of an episode, and differ between classes."""
    pixels = np.zeros((20, 16, 16), np.uint8)
    pixels[:, 4:8, 3:12] = 255
    data = TrainingImages.of(pixels, np.arange(4).repeat(5), list("abcd"))
    network = Pixels()
    ProtoNet(ways=4, queries=4, new_classes="quickdraw-protonet").loss(network, data, seeds.torch_rng("new"), 0)
    seen = network.seen.view(4, 5, -1)
    assert torch.equal(seen, seen[:, :1].expand_as(seen))
    assert len(seen[:, 0].unique(dim=0)) == 4


def test_new_classes_that_are_the_same_for_all_move_an_episode_alike_and_another_otherwise() -> None:
    pixels = np.zeros((20, 16, 16), np.uint8)
    pixels[:, 4:8, 3:12] = 255
    data, network = TrainingImages.of(pixels, np.arange(4).repeat(5), list("abcd")), Pixels()
    objective = ProtoNet(ways=4, queries=4, episodes=3, new_classes="quickdraw-protonet", same_for_all=True)
    objective.loss(network, data, seeds.torch_rng("same"), 0)
    seen = network.seen.view(3, 20, -1)
    assert torch.equal(seen, seen[:, :1].expand_as(seen))
    assert len(seen[:, 0].unique(dim=0)) == 3


def test_every_drawing_can_have_a_view_of_its_own_which_is_binary_again() -> None:
    pixels = np.zeros((20, 16, 16), np.uint8)
    pixels[:, 4:8, 3:12] = 255
    data, network = TrainingImages.of(pixels, np.arange(4).repeat(5), list("abcd")), Pixels()
    ProtoNet(ways=4, queries=4).loss(network, data, seeds.torch_rng("views"), 0)
    assert len(network.seen.flatten(1).unique(dim=0)) == 1  # copies of one drawing stay copies …
    ProtoNet(ways=4, queries=4, views="coded", threshold=0.3).loss(network, data, seeds.torch_rng("views"), 0)
    assert len(network.seen.flatten(1).unique(dim=0)) > 10  # … unless each has a view
    assert set(network.seen.unique().tolist()) == {0, 1}


def test_halving_follows_epochs() -> None:
    objective = ProtoNet(epoch=10, halve_after=2)
    assert [objective.rate(step) for step in (0, 19, 20, 39, 40)] == [1, 1, 0.5, 0.5, 0.25]
    assert SimClr().rate(10**6) == 1


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (ProtoNet(ways=30), "30-way episodes need 30 classes, the data has 24"),
        (ProtoNet(ways=20, shots=5, queries=2), "takes 7 drawings of a class, one class has 6"),
        (ProtoNet(ways=1), "2 ways or more"),
        (ProtoNet(ways=5, new_classes="strange"), "no augmentation preset 'strange'"),
        (ProtoNet(ways=5, views="coded-lite"), "did you mean coded-light"),
        (SimClr(batch=200), "batch of 200 needs as many images, there are 144"),
        (SimClr(views="moderat"), "did you mean moderate"),
        (SimClr(temperature=0), "temperature above 0"),
        (SimClr(temperature=float("nan")), "temperature above 0"),
        (Classifier(batch=200), "batch of 200"),
        (ProtoNet(ways=5, learning_rate=-1), "the learning rate -1 must be a number above 0"),
        (Classifier(batch=8, learning_rate=float("nan")), "the learning rate nan must be"),
        (SimClr(batch=8, learning_rate=float("inf")), "the learning rate inf must be"),
    ],
)
def test_an_objective_refuses_data_it_cannot_use(objective: ProtoNet | SimClr | Classifier, message: str) -> None:
    with pytest.raises(UserError, match=message):
        objective.build(dots())


def test_a_classifier_is_tested_on_its_own_classes_only() -> None:
    data = dots()
    others = TrainingImages(data.pixels, data.label, tuple(reversed(data.names)))
    with pytest.raises(UserError, match="its own classes"):
        Classifier(batch=8).build(TrainingImages(data.pixels, data.label, data.names, held_out=others))
    assert Classifier(batch=8).build(data).last.out_features == 24
