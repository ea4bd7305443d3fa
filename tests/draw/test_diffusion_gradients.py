"""Gradients written by hand, which GPUs use: the same numbers as autograd's, also by the kernel and when compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from exemplar.draw.diffusion import depthwise, normalising
from exemplar.draw.diffusion.averaging import Averaged
from exemplar.draw.diffusion.networks import NETWORKS
from exemplar.draw.diffusion.normalising import HandNorm, normalise
from exemplar.draw.diffusion.sum_kernels import Layout

CASES = [(1, False, False), (1, False, True), (1, True, False), (3, False, True), (3, True, False)]


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (normalising, depthwise):
        monkeypatch.setattr(part, "by_hand", lambda images: True)


@pytest.mark.parametrize(("groups", "gelu", "has_added"), CASES)
class TestNormalisation:
    def test_it_is_group_norm_of_what_is_prepared(self, groups: int, gelu: bool, has_added: bool) -> None:
        images, weight, bias = numbers(2, 6, 3, 5), numbers(6), numbers(6)
        added = numbers(2, 6) if has_added else None
        shifted = images if added is None else images + added[:, :, None, None]
        expected = functional.group_norm(functional.gelu(shifted) if gelu else shifted, groups, weight, bias)
        torch.testing.assert_close(HandNorm.apply(images, weight, bias, added, groups, 1e-5, gelu), expected)
        torch.testing.assert_close(normalise(images, weight, bias, groups, added=added, gelu=gelu), expected)

    def test_its_gradient_is_that_of_small_differences(self, groups: int, gelu: bool, has_added: bool) -> None:
        given = (numbers(2, 6, 3, 2), numbers(6), numbers(6), numbers(2, 6) if has_added else None)
        assert torch.autograd.gradcheck(lambda *parts: HandNorm.apply(*parts, groups, 1e-5, gelu), given)


def test_a_flat_image_stays_finite() -> None:
    images = torch.full((1, 4, 3, 3), 2.0, requires_grad=True)
    out = HandNorm.apply(images, torch.ones(4), torch.zeros(4), None, 1, 1e-5, True)
    out.sum().backward()
    assert images.grad is not None and images.grad.isfinite().all() and out.abs().max() < 1e-2


def test_the_gradient_of_a_depthwise_convolution_is_that_of_small_differences() -> None:
    assert torch.autograd.gradcheck(
        depthwise.TurnedGradient.apply, (numbers(2, 3, 8, 7), numbers(3, 1, 7, 7), numbers(3))
    )


def test_a_depthwise_layer_computes_what_the_library_does(as_on_a_gpu: None) -> None:
    layer, images = depthwise.Depthwise(4), torch.randn(1, 4, 9, 9)
    torch.testing.assert_close(layer(images), functional.conv2d(images, layer.weight, layer.bias, padding=3, groups=4))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(images).dtype == torch.bfloat16


@given(n_px=st.integers(1, 3000), channels=st.integers(1, 400))
def test_programs_cover_an_image_once(n_px: int, channels: int) -> None:
    layout = Layout.of(n_px, channels)
    n_rows, rest = divmod(n_px * channels, layout.row)
    assert rest == 0 and layout.row % channels == 0 and layout.row <= layout.padded
    assert (layout.chunks - 1) * layout.rows * 8 < n_rows <= layout.chunks * layout.rows * 8


def test_our_kernel_sums_over_px() -> None:
    """By Triton's interpreter, which needs no GPU."""
    pytest.importorskip("triton", reason="our kernel is Triton's")
    script = """
import torch
from exemplar.draw.diffusion.normalising import sum_channels
from exemplar.draw.diffusion.sum_kernels import sum_in_chunks
torch.manual_seed(0)
for c, h, gelu, has_added, has_change in ((6, 5, True, False, True), (40, 12, False, True, False), (26, 6, False, True, True),
                                          (80, 9, True, False, False)):
    images = torch.randn(3, c, h, h)
    added = torch.randn(3, c) if has_added else None
    change = torch.randn(3, c, h, h) if has_change else None
    found = sum_in_chunks(images, added, change, gelu).unflatten(3, (-1, c)).sum((1, 3))
    expected = torch.stack(sum_channels(images, added, change, gelu), dim=1)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
"""
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch.compile itself
@pytest.mark.long
@pytest.mark.parametrize(("name", "settings"), [("convnext-unet", {"width": 6}), ("set-unet", {"size": 16})])
def test_a_network_is_compiled_whole(name: str, settings: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: no break in the graph, and the numbers and gradients of the plain network; inductor itself is a GPU's
    business."""
    network = Averaged(NETWORKS[name](**settings), 0.9).train()
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    shown = torch.rand(2, 1, 16, 16) if name == "convnext-unet" else torch.rand(1, 2, 16, 16)
    images = (torch.randn(2, 1, 16, 16), torch.rand(2), shown)
    outcomes: list[list[Any]] = []
    for learner, on_gpu in ((network, False), (compiled, True)):
        for part in (normalising, depthwise):
            monkeypatch.setattr(part, "by_hand", lambda images, on_gpu=on_gpu: on_gpu)
        network.zero_grad()
        out = learner(*images)
        out.square().sum().backward()
        outcomes.append([out, *(p.grad.clone() for p in network.parameters() if p.grad is not None)])
    for one, other in zip(*outcomes, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
