"""MAML++ and OML: learned rates, a loss after every step, and heads adapted set after set, against closed forms and plain loops."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_meta import Point, squared, strokes
from torch.func import functional_call
from torch.nn import functional

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.spaces.networks.adapted import HeadLearner, Rated, TailLearner, build_learner
from exemplar.spaces.objectives.maml import Maml, adapt, logits, own_weights
from exemplar.spaces.objectives.oml import Oml
from exemplar.spaces.training.loop import train
from exemplar.user_code import seeded_globals

SMALL = Oml(sets=2, ways=3, queries=2, tasks=3, inner_steps=2, hidden=16, test_tasks=20)


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.lists(st.floats(0.01, 0.9), min_size=1, max_size=4))
def test_learned_rates_and_their_gradient_are_the_ones_on_paper(start: float, least: float, rates: list[float]) -> None:
    """Steps with rates r on ½(θ − a)² leave a + Π(1 − r)(θ − a), whose slope by one rate is −(θ − a) times the other factors."""
    network = Rated(Point(start), len(rates), 0.0)
    (mine,) = network.rates
    mine.data = torch.tensor(rates, dtype=torch.float64)
    target = torch.full((1, 1), least, dtype=torch.float64)
    params = adapt(network, torch.zeros(1, 1), target, len(rates), 123.0, loss=squared)
    left = 1 - torch.tensor(rates, dtype=torch.float64)
    assert float(params["value"].detach()) == pytest.approx(least + float(left.prod()) * (start - least), abs=1e-9)
    params["value"].sum().backward()
    assert mine.grad is not None
    assert mine.grad.tolist() == pytest.approx((-(start - least) * left.prod() / left).tolist(), abs=1e-9)


def test_steps_beyond_those_trained_have_the_last_rate() -> None:
    network = Rated(Point(1.0), 2, 0.0)
    network.rates[0].data = torch.tensor([0.5, 0.1], dtype=torch.float64)
    params = adapt(network, torch.zeros(1, 1), torch.zeros(1, 1, dtype=torch.float64), 4, 9.0, loss=squared)
    assert float(params["value"].detach()) == pytest.approx(0.5 * 0.9**3)


def test_learned_rates_begin_at_the_inner_rate_and_are_kept_with_the_network() -> None:
    data, objective = strokes(), Maml(network="conv4-64", ways=4, inner_steps=3, inner_rate=0.05, learned_rates=True)
    network = objective.build(data)
    assert isinstance(network, Rated) and len(network.rates) == len(list(network.network.parameters()))
    assert all(rate.tolist() == pytest.approx([0.05] * 3) for rate in network.rates)
    kept = objective.part_to_keep(network, data.shape)
    again = build_learner(**kept.config)
    again.load_state_dict(kept.module.state_dict())
    assert isinstance(again, Rated) and torch.equal(again.rates[0], network.rates[0])


@pytest.mark.parametrize("rated", [0, 2])
def test_a_task_alone_is_adapted_as_among_others(rated: int) -> None:
    """One task needs no vmap; its logits, and the slopes of its loss by the network's own weights, are the same."""
    with seeded_globals(0):
        network = build_learner("conv4-64", 16, 2, 3, rated).double()
        support, query = torch.rand(2, 6, 2, 16, 16).double(), torch.rand(2, 4, 2, 16, 16).double()
    for rate in network.rates if isinstance(network, Rated) else ():
        rate.data.fill_(0.1)
    labels = torch.arange(3).repeat(2).expand(2, -1)

    def after(part: slice) -> tuple[torch.Tensor, list[torch.Tensor]]:
        outputs = logits(network, adapt(network, support[part], labels[part], 2, 0.1), query[part])
        return outputs[-1], list(torch.autograd.grad(outputs[-1].square().sum(), list(network.parameters())))

    (alone, own), (among, others) = after(slice(1, 2)), after(slice(0, 2))
    assert float(alone.detach().std()) > 0.01 and torch.allclose(alone, among, atol=1e-10)
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(own, others, strict=True))


def test_a_loss_after_every_step_counts_by_the_number_of_the_step() -> None:
    data, objective = strokes(), Maml(ways=4, queries=2, tasks=2, inner_steps=3, multi_step=True)
    network = objective.build(data)
    found, _ = objective.loss(network, data, seeds.torch_rng("every step"), 0)
    alone = [
        replace(objective, inner_steps=k, multi_step=False).loss(network, data, seeds.torch_rng("every step"), 0)[0]
        for k in (1, 2, 3)
    ]
    expected = sum(k * float(loss.detach()) for k, loss in enumerate(alone, start=1)) / 6
    assert float(found.detach()) == pytest.approx(expected, rel=1e-5)


def test_a_stream_is_descent_on_one_set_after_the_other() -> None:
    """Task by task and step by step, keeping the graph of every gradient."""
    data = strokes()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = SMALL.build(data)
    network.eval()  # which keeps each image's features to itself
    loss, _ = SMALL.loss(network, data, seeds.torch_rng("stream"), 0)
    loss.backward()
    found = {
        name: parameter.grad.clone() for name, parameter in network.named_parameters() if parameter.grad is not None
    }
    network.zero_grad()

    from exemplar.spaces.objectives.protonet import sample_classes, sample_drawings

    rng = seeds.torch_rng("stream")
    classes = sample_classes(data.n_classes, SMALL.tasks, 6, rng).flatten()
    rows = sample_drawings(data, classes, 3, rng, exemplar_first=False).view(SMALL.tasks, 6, 3)
    total = torch.zeros(())
    for task in rows:
        params = dict(network.head.named_parameters())
        for one in (slice(0, 3), slice(3, 6)):
            shown, label = network.backbone(data.take(task[one, 0])), torch.arange(6)[one]
            for _ in range(SMALL.inner_steps):
                cost = functional.cross_entropy(functional_call(network.head, params, (shown,)), label)
                slope = torch.autograd.grad(cost, list(params.values()), create_graph=True)
                params = {name: p - SMALL.inner_rate * g for (name, p), g in zip(params.items(), slope, strict=True)}
        asked = network.backbone(data.take(task[:, 1:].flatten()))
        outputs = functional_call(network.head, params, (asked,))
        total = total + functional.cross_entropy(outputs, torch.arange(6).repeat_interleave(2)) / SMALL.tasks
    assert float(loss.detach()) == pytest.approx(float(total.detach()), rel=1e-5)
    total.backward()
    assert found.keys() == dict(network.named_parameters()).keys()  # the backbone learns, too
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-3, atol=1e-6)


def test_a_few_steps_of_training_learn_streams() -> None:
    data = strokes()
    trained = train(SMALL, replace(data, held_out=data), steps=60, seed=0, every=60, device="cpu")
    last = trained.curve[-1]
    assert last["held_out_accuracy"] > 0.5  # a guess: 1/6
    network = trained.network
    assert isinstance(network, HeadLearner)
    rng = seeds.torch_rng("alone")
    images = torch.rand((4, *data.shape), generator=rng)
    with torch.no_grad():
        torch.testing.assert_close(network(images)[:1], network(images[:1]))  # whatever it is shown with


def test_the_head_adapts_and_the_rest_stays() -> None:
    network, rng = SMALL.build(strokes()), seeds.torch_rng("head")
    before = {name: value.clone() for name, value in network.state_dict().items()}
    features, label = torch.rand((2, 3, network.head[0].in_features), generator=rng), torch.arange(3).expand(2, -1)
    with torch.no_grad():
        params = adapt(network.head, features, label, 5, 0.5)
        after = functional.cross_entropy(logits(network.head, params, features).mT, label)
        first = functional.cross_entropy(
            logits(network.head, adapt(network.head, features, label, 0, 0.5), features).mT, label
        )
    assert after < first
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Oml(), "streams of 3 sets of 5 classes need 15 classes, there are 12: lower sets or ways"),
        (replace(SMALL, queries=8), "takes 9 drawings of a class, one class has 8"),
        (replace(SMALL, ways=1), "2 ways or more"),
        (replace(SMALL, sets=0), "at least 1 of everything"),
        (replace(SMALL, inner_rate=0.0), "rate and clip above 0"),
        (replace(SMALL, learning_rate=float("nan")), "the learning rate nan must be a number above 0"),
        (replace(SMALL, network="conv4-63"), "did you mean conv4-64"),
    ],
)
def test_oml_refuses_what_it_cannot_use(objective: Oml, message: str) -> None:
    with pytest.raises(UserError, match=message):
        objective.build(strokes())


def test_from_a_stage_on_is_descent_on_the_tail_alone() -> None:
    """Step by step with autograd: the trunk is the same for all tasks, and learns from what comes after the steps."""
    data, objective = strokes(), Maml(network="conv4-64", ways=3, queries=2, tasks=2, inner_steps=2, adapted="block3")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = objective.build(data)
    assert (
        isinstance(network, TailLearner)
        and own_weights(network, 1).keys() == dict(network.tail.named_parameters()).keys()
    )
    loss, _ = objective.loss(network, data, seeds.torch_rng("tail"), 0)
    loss.backward()
    found = {
        name: parameter.grad.clone() for name, parameter in network.named_parameters() if parameter.grad is not None
    }
    network.zero_grad()

    from exemplar.spaces.objectives.protonet import sample_classes, sample_drawings

    rng = seeds.torch_rng("tail")
    classes = sample_classes(data.n_classes, 2, 3, rng).flatten()
    total = torch.zeros(())
    for rows in sample_drawings(data, classes, 3, rng, exemplar_first=True).view(2, 3, 3):
        params, label = dict(network.tail.named_parameters()), torch.arange(3)
        shown, asked = network.trunk(data.take(rows[:, 0])), network.trunk(data.take(rows[:, 1:].flatten()))
        for _ in range(2):
            cost = functional.cross_entropy(functional_call(network.tail, params, (shown,)), label)
            slope = torch.autograd.grad(cost, list(params.values()), create_graph=True)
            params = {name: p - objective.inner_rate * g for (name, p), g in zip(params.items(), slope, strict=True)}
        outputs = functional_call(network.tail, params, (asked,))
        total = total + functional.cross_entropy(outputs, label.repeat_interleave(2)) / 2
    assert float(loss.detach()) == pytest.approx(float(total.detach()), rel=1e-5)
    total.backward()
    assert found.keys() == dict(network.named_parameters()).keys()  # the trunk learns, too
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-3, atol=1e-5)


def test_only_what_is_adapted_has_rates_and_a_card_builds_it_again() -> None:
    data = strokes()
    objective = Maml(network="conv4-64", ways=4, inner_steps=3, learned_rates=True, adapted="block4")
    network = objective.build(data)
    assert isinstance(network, Rated) and len(network.rates) == len(own_weights(network, 1)) < len(
        list(network.network.parameters())
    )
    kept = objective.part_to_keep(network, data.shape)
    again = build_learner(**kept.config)
    again.load_state_dict(kept.module.state_dict())
    images = data.pixels[None, :8].float() / 255
    with torch.no_grad():
        one, two = (logits(each.eval(), own_weights(each, 1), images) for each in (network, again))
    assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Maml(network="conv4-64", ways=3, adapted="block9"), "block9"),
        (Maml(network="conv4-linear", ways=3, adapted="block4"), "adapted as a whole"),
    ],
)
def test_a_stage_that_is_not_there_is_refused(objective: Maml, message: str) -> None:
    with pytest.raises(UserError, match=message):
        objective.build(strokes())
