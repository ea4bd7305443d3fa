"""MAML: gradients through gradient descent, against closed forms and a plain loop of torch.autograd."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.networks.adapted import build_learner
from exemplar.spaces.objectives import maml as meta
from exemplar.spaces.objectives.maml import Maml, adapt, logits, slopes
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train


class Point(nn.Module):
    """One number, whatever it is shown."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value, dtype=torch.float64))

    def forward(self, seen: Tensor) -> Tensor:
        return self.value.expand(len(seen))


def squared(outputs: Tensor, target: Tensor) -> Tensor:
    return 0.5 * (outputs - target).square().sum()


def strokes(n_classes: int = 12, n_each: int = 8, size: int = 16, *, exemplars: bool = True) -> TrainingImages:
    """Classes told apart by where two bright bars cross, with noise."""
    rng = seeds.rng("strokes", n_classes, n_each, size)
    label = np.arange(n_classes).repeat(n_each)
    pixels = rng.integers(0, 60, (len(label), size, size), dtype=np.uint8)
    for row, k in enumerate(label):
        pixels[row, 3 * (k % 4) + 2 : 3 * (k % 4) + 4] = 255
        pixels[row, :, 4 * (k // 4) + 2 : 4 * (k // 4) + 4] = 255
    exemplar = np.arange(n_classes) * n_each if exemplars else None
    return TrainingImages.of(pixels, label, [f"cross {k}" for k in range(n_classes)], exemplar)


@settings(deadline=None)
@given(
    st.floats(-3, 3), st.lists(st.floats(-3, 3), min_size=1, max_size=4), st.floats(0.01, 1.5), st.integers(0, 6), st.booleans()
)  # fmt: skip
def test_the_meta_gradient_of_a_parabola_is_the_one_on_paper(
    start: float, minima: list[float], rate: float, steps: int, first_order: bool
) -> None:
    """Descent on ½(θ − a)² leaves a + (1 − r)ᵏ(θ − a); to that, ½(θ′ − b)² has the slope (θ′ − b)(1 − r)ᵏ."""
    network, a, b = Point(start), torch.tensor(minima, dtype=torch.float64)[:, None], 0.7
    params = adapt(network, torch.zeros(len(a), 1), a, steps, rate, loss=squared, first_order=first_order)
    shrunk = (1 - rate) ** steps
    expected = a[:, 0] + shrunk * (start - a[:, 0])
    torch.testing.assert_close(params["value"], expected)
    (0.5 * (params["value"] - b).square()).sum().backward()
    through = 1.0 if first_order else shrunk
    assert network.value.grad is not None
    assert float(network.value.grad) == pytest.approx(float((expected - b).sum()) * through, rel=1e-9, abs=1e-12)


def naive_meta_loss(
    network: nn.Module, support: Tensor, query: Tensor, label: Tensor, steps: int, rate: float
) -> Tensor:
    """Task by task and step by step, keeping the graph of every gradient."""
    total = torch.zeros((), dtype=support.dtype)
    for shown, asked in zip(support, query, strict=True):
        params: dict[str, Tensor] = dict(network.named_parameters())
        for _ in range(steps):
            loss = functional.cross_entropy(functional_call(network, params, (shown,)), label)
            found = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            params = {name: p - rate * g for (name, p), g in zip(params.items(), found, strict=True)}
        total = total + functional.cross_entropy(functional_call(network, params, (asked,)), label)
    return total / len(support)


def test_meta_gradients_agree_with_a_plain_loop_of_autograd() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build_learner(
            "conv4", 16, 1, 3
        ).double()  # in float32 the norms of three 1 × 1 maps round by more than 1e-5
    rng = seeds.torch_rng("meta-gradients")
    support, query = (torch.rand((2, 3, 1, 16, 16), generator=rng, dtype=torch.float64) for _ in range(2))
    label = torch.arange(3)
    naive_meta_loss(network, support, query, label, 3, 0.1).backward()
    expected = {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}
    network.zero_grad()
    outputs = logits(network, adapt(network, support, label.expand(2, -1), 3, 0.1), query)
    functional.cross_entropy(outputs.flatten(0, 1), label.repeat(2)).backward()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-5, atol=1e-8)
    assert max(float(g.abs().max()) for g in expected.values()) > 0.01  # not all 0

    network.zero_grad()
    outputs = logits(network, adapt(network, support, label.expand(2, -1), 3, 0.1, first_order=True), query)
    functional.cross_entropy(outputs.flatten(0, 1), label.repeat(2)).backward()
    gradient = network.get_parameter("last.weight").grad
    assert gradient is not None and (gradient - expected["last.weight"]).abs().max() > 1e-4


def test_tasks_adapted_together_know_nothing_of_each_other() -> None:
    network, rng = build_learner("conv4", 16, 1, 4), seeds.torch_rng("apart")
    support, query = (torch.rand((3, 4, 1, 16, 16), generator=rng) for _ in range(2))
    label = torch.arange(4).expand(3, -1)
    with torch.no_grad():
        together = logits(network, adapt(network, support, label, 2, 0.1), query)
        for k in range(3):
            alone = logits(network, adapt(network, support[k, None], label[k, None], 2, 0.1), query[k, None])
            torch.testing.assert_close(together[k], alone[0], rtol=1e-4, atol=1e-4)


def test_adapting_lowers_the_loss_on_the_support_and_leaves_the_network_alone() -> None:
    network, rng = build_learner("conv4", 16, 1, 5), seeds.torch_rng("support")
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    support, label = torch.rand((2, 5, 1, 16, 16), generator=rng), torch.arange(5).expand(2, -1)
    with torch.no_grad():
        losses = []
        for steps in (0, 3, 10):
            params = adapt(network, support, label, steps, 0.05)
            losses.append(float(functional.cross_entropy(logits(network, params, support).mT, label)))
    assert losses[0] > losses[1] > losses[2]
    assert all(torch.equal(p, before[name]) for name, p in network.named_parameters())
    assert not any(p.requires_grad for p in params.values())  # nothing is kept for a backward pass nobody wants


def test_slopes_are_those_of_each_task_at_its_own_weights() -> None:
    network = Point(2.0)
    here = {"value": torch.tensor([0.0, 1.0, 5.0], dtype=torch.float64)}
    minima = torch.tensor([[1.0], [1.0], [1.0]], dtype=torch.float64)
    assert slopes(network, here, torch.zeros(3, 1), minima, squared)["value"].tolist() == [-1.0, 0.0, 4.0]


def test_the_learner_is_the_critic_with_as_many_outputs_as_ways() -> None:
    for network in (build_learner(), build_learner("conv4")):
        assert sum(p.numel() for p in network.parameters()) == 292_544 - 257 * 128 + 257 * 20 == 264_788
        assert not list(network.buffers())  # batch normalisation keeps nothing from task to task


def test_the_learner_is_the_one_that_maml_trains() -> None:
    assert repr(build_learner(ways=5, size=16)) == repr(Maml(ways=5).build(strokes()))


def test_an_image_is_seen_beside_the_others_of_its_task() -> None:
    """Transductive: batch statistics are those of the queries shown together."""
    network, rng = build_learner("conv4", 16, 1, 2).eval(), seeds.torch_rng("transductive")
    image, others = torch.rand((1, 1, 1, 16, 16), generator=rng), torch.rand((1, 3, 1, 16, 16), generator=rng)
    params = adapt(network, image, torch.zeros((1, 1), dtype=torch.int64), 0, 0.1)
    first, second = (logits(network, params, torch.cat((image, x), 1))[0, 0] for x in (others, others.square()))
    assert not torch.allclose(first, second, atol=1e-4)


def test_a_few_steps_of_training_learn_to_learn() -> None:
    data = strokes()
    objective = Maml(ways=4, queries=2, tasks=4, inner_steps=2, test_steps=3, inner_rate=0.05, test_tasks=16)
    trained = train(objective, replace(data, held_out=data), steps=25, seed=0, every=25, device="cpu")
    last = trained.curve[-1]
    assert last["held_out_accuracy_exemplar"] > 0.6 and last["held_out_accuracy_random"] > 0.6  # a guess: 0.25


@pytest.mark.parametrize("exemplars", [True, False])
def test_the_support_of_a_task_is_the_exemplars_and_its_queries_are_other_drawings_of_the_same_classes(
    exemplars: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, objective, shown = strokes(exemplars=exemplars), Maml(ways=5, queries=2, tasks=3, inner_steps=1), []

    def spy(network: nn.Module, support: Tensor, *settings: Any, **more: Any) -> dict[str, Tensor]:
        shown.append(support)
        return adapt(network, support, *settings, **more)

    def spy_logits(network: nn.Module, params: dict[str, Tensor], images: Tensor) -> Tensor:
        shown.append(images)
        return logits(network, params, images)

    monkeypatch.setattr(meta, "adapt", spy)
    monkeypatch.setattr(meta, "logits", spy_logits)
    objective.loss(objective.build(data), data, seeds.torch_rng("exemplar"), 0)
    row_of = {
        tuple(image.flatten().tolist()): row for row, image in enumerate(data.take(torch.arange(len(data.pixels))))
    }
    support, query = (
        torch.tensor([[row_of[tuple(image.flatten().tolist())] for image in task] for task in images])
        for images in shown
    )
    assert support.shape == (3, 5) and query.shape == (3, 10)
    assert torch.equal(data.label[query], data.label[support].repeat_interleave(2, 1))
    assert all(len({*s.tolist(), *q.tolist()}) == 15 for s, q in zip(support, query, strict=True))
    assert all(task.unique().numel() == 5 for task in data.label[support])
    assert not all(
        torch.equal(task, task.sort().values) for task in data.label[support]
    )  # no output belongs to a class
    assert bool((support % 8 == 0).all()) == exemplars


def test_the_meta_gradient_is_cut_to_its_largest_norm() -> None:
    objective = Maml(ways=4, clip=1e-3, learning_rate=1.0)
    network = objective.build(strokes())
    optimizer = objective.optimizer(network)
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    norm = torch.stack([p.grad.square().sum() for p in network.parameters() if p.grad is not None]).sum().sqrt()
    assert float(norm) == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Maml(), "20-way tasks need 20 classes, there are 12"),
        (Maml(ways=5, queries=8), "takes 9 drawings of a class, one class has 8"),
        (Maml(ways=1), "2 ways or more"),
        (Maml(ways=5, inner_rate=0), "rate and clip above 0"),
        (Maml(ways=5, clip=float("nan")), "rate and clip above 0"),
        (Maml(ways=5, learning_rate=float("nan")), "the learning rate nan must be a number above 0"),
        (Maml("conv5", ways=5), "did you mean conv4"),
    ],
)
def test_maml_refuses_what_it_cannot_use(objective: Maml, message: str) -> None:
    with pytest.raises(UserError, match=message):
        objective.build(strokes())
