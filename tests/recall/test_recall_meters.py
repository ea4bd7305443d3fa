"""Meters against hand counts: MACs of layers, distances, inner loops and outer steps; memory kept; memory in use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, grad
from torch.nn import functional

from exemplar.recall.meters.atm import across_task_memory, charge_state, printed_atm
from exemplar.recall.meters.macs import count_operations
from exemplar.recall.meters.memory import peak_memory


def macs(work: Any) -> int:
    with count_operations() as done:
        work()
    assert not done.unknown, done.unknown
    return done.macs


def test_a_linear_layer_and_its_backward_pass() -> None:
    """5 × 7 × 3 forwards; the same for the weights' gradient, and again for the input's."""
    layer, x = nn.Linear(7, 3), torch.randn(5, 7, requires_grad=True)
    assert macs(lambda: layer(x)) == 105
    assert macs(lambda: layer(x).sum().backward()) == 3 * 105
    with torch.inference_mode():
        assert macs(lambda: layer(x)) == 105


def test_a_convolution() -> None:
    """Each of 4 × 8 × 8 outputs of 5 images sums 2 × 3 × 3 products; groups divide it; backwards it is twice that."""
    x = torch.randn(5, 2, 8, 8, requires_grad=True)
    once = 5 * 4 * 8 * 8 * 2 * 9
    layer = nn.Conv2d(2, 4, 3, padding=1)
    assert macs(lambda: layer(x)) == once
    assert macs(lambda: layer(x).sum().backward()) == 3 * once
    assert macs(lambda: nn.Conv2d(2, 4, 3, padding=1, groups=2)(x)) == once // 2


def test_attention() -> None:
    """3 heads: 6 × 6 scores of 8 numbers each, then 6 × 6 weights of 8 numbers each."""
    q, k, v = torch.randn(3, 2, 3, 6, 8)
    assert macs(lambda: functional.scaled_dot_product_attention(q, k, v)) == 2 * 3 * (6 * 6 * 8 + 6 * 6 * 8)


@pytest.mark.parametrize("n", [3, 40])  # torch has two ways to do it
def test_distances(n: int) -> None:
    a, b = torch.randn(n, 7), torch.randn(n + 1, 7)
    assert macs(lambda: torch.cdist(a, b)) == n * (n + 1) * 7


def test_norms_normalisation_and_recurrent_layers() -> None:
    x = torch.randn(4, 3, 8, 8)
    assert macs(lambda: torch.linalg.vector_norm(x)) == x.numel()
    assert macs(lambda: nn.BatchNorm2d(3)(x)) == 3 * x.numel()
    assert macs(lambda: nn.BatchNorm2d(3).eval()(x)) == x.numel()
    steps, batch = 6, 2
    sequence = torch.randn(steps, batch, 5)
    assert macs(lambda: nn.LSTM(5, 7)(sequence)) == steps * batch * 4 * (5 * 7 + 7 * 7)
    assert macs(lambda: nn.GRU(5, 7)(sequence)) == steps * batch * 3 * (5 * 7 + 7 * 7)


def inner_loop(network: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> dict[str, torch.Tensor]:
    weights = dict(network.named_parameters())
    for _ in range(steps):
        slope = grad(lambda w: functional.cross_entropy(functional_call(network, w, (x,)), y))(weights)
        weights = {name: value - 0.1 * slope[name] for name, value in weights.items()}
    return weights


def test_five_inner_steps_and_a_second_order_outer_step() -> None:
    """Two layers without bias, 6 → 4 → 3, 5 samples: a forward pass is 5 (24 + 12) MACs. Backwards, both layers' weights and
    the second one's input have a gradient: 5 (24 + 2 · 12). An inner step is both."""
    network = nn.Sequential(nn.Linear(6, 4, bias=False), nn.Tanh(), nn.Linear(4, 3, bias=False))
    x, y = torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1])
    first, second = 5 * 6 * 4, 5 * 4 * 3
    forward, backward = first + second, first + 2 * second
    assert macs(lambda: network(x)) == forward
    assert macs(lambda: inner_loop(network, x, y, 5)) == 5 * (forward + backward)

    def outer() -> None:
        weights = inner_loop(network, x, y, 1)
        functional.cross_entropy(functional_call(network, weights, (x,)), y).backward()

    # Through the outer loss (forward, backward) and the inner step (forward, backward); then the inner step's own derivative:
    # the first layer's product x·W1 has one gradient (of W1) for each of its two uses (forward: first, its slope: first);
    # of the second layer, h·W2, δ·W2 and hᵀ·δ, each has a gradient of both its factors.
    inner_forward_again, slope_of_first = first + 2 * second, first
    slopes_of_second = 2 * 2 * second
    assert macs(outer) == 2 * (forward + backward) + inner_forward_again + slope_of_first + slopes_of_second


def test_inner_steps_of_a_deep_network_cost_as_the_facts_say() -> None:
    """5 inner gradient steps are about 15 times one forward pass."""
    network = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(32, 32), nn.ReLU())), nn.Linear(32, 4))
    x, y = torch.randn(5, 32), torch.tensor([0, 1, 2, 3, 0])
    ratio = macs(lambda: inner_loop(network, x, y, 5)) / macs(lambda: network(x))
    assert 14 < ratio < 15


def test_what_has_no_formula_is_listed() -> None:
    with count_operations() as done:
        torch.linalg.svdvals(torch.randn(3, 3))
    assert done.unknown and not done.macs
    x = torch.ones(10)
    with count_operations() as done:
        (x - 1).square().sum()
    assert done.elementwise == 10 + 10 + 1 and not done.macs and not done.unknown  # counted apart, and told


def test_memory_is_bits_by_type_of_what_is_new_or_changed() -> None:
    before = {"weights": np.ones(10, np.float32), "statistics": np.zeros(4)}
    now = {"weights": np.ones(10, np.float32), "statistics": np.array([0, 0, 1.0, 0]), "half": np.zeros(3, np.float16),
           "bytes": np.zeros(5, np.int8), "flags": np.zeros(6, bool), "labels": np.array([0, 1, 2])}  # fmt: skip
    charge = charge_state(now, before, n_samples=3, n_labels=3)
    assert dict(charge.by_array) == {"statistics": 4 * 64, "half": 48, "bytes": 40, "flags": 6}
    assert charge.label_bits == 3 * 64
    assert "labels" in charge_state(now, before, n_samples=2, n_labels=3).by_array  # more labels than samples


def test_prototypes_of_the_literatures_embedding_take_082() -> None:
    """Facts: .082 for ProtoNets on Omniglot at NSS = 3: 15 means of 64 float32 numbers, for 15 images of 784."""
    state = {"mean": np.ones((15, 64), np.float32)}
    charge = charge_state(state, {}, n_samples=15, n_labels=15)
    assert across_task_memory(charge.bits, 15, (1, 28, 28)) == pytest.approx(0.082, abs=5e-4)
    assert printed_atm(charge, state, 15, 784) == pytest.approx(0.082, abs=5e-4)
    assert across_task_memory(15 * 1024 * 32, 15, (3, 64, 64)) == pytest.approx(0.083, abs=5e-4)  # SlimageNet64


def test_peak_memory_is_what_is_alive_at_once() -> None:
    x = torch.randn(1000)
    with peak_memory() as seen:
        a = x + 1
        b = a * 2
        del a
        c = b + 1
        del b, c
    assert seen.peak == 8000 and seen.now == 0
    with peak_memory() as seen:
        view = (x + 1)[10:]
        view.mul_(2)
    assert seen.peak == 4000
