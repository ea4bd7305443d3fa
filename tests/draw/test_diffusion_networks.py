"""The networks of the diffusion agents: parameter counts that identify them, and layers that compute what they say."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from exemplar.draw.diffusion.averaging import Averaged
from exemplar.draw.diffusion.convnext_unet import ConvNextBlock, ConvNextUNet
from exemplar.draw.diffusion.layers import FullAttention, ImageNorm, LinearAttention, embed_time
from exemplar.draw.diffusion.networks import NETWORKS, SetUNet, SetViTUNet, count_parameters, leave_each_out
from exemplar.draw.diffusion.residual_unet import ResidualUNet
from exemplar.draw.diffusion.set_encoders import SetViT, UNetEncoder
from exemplar.draw.presets import PRESETS
from exemplar.errors import UserError


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("network", "n"),
    [
        (lambda: ConvNextUNet(40), 5_956_633),  # the 5.9 M of DDPM and CFGDM on Omniglot
        (lambda: ConvNextUNet(48), 8_488_721),  # what the text's width would be
        (lambda: ConvNextUNet(60), 13_123_221),  # QuickDraw-FS
        (lambda: ResidualUNet(), 4_137_633),  # FSDM's generator on Omniglot
        (lambda: UNetEncoder(), 2_469_664),  # and its encoder
        (lambda: ResidualUNet(blocks=4, context=256), 7_207_905),  # the 7.2 M of FSDM's generator on QuickDraw-FS
        (lambda: SetViT(), 5_697_920),  # the rows of Table 7
    ],
)
def test_the_number_of_parameters_is_the_papers(network: type[nn.Module], n: int) -> None:
    with torch.device("meta"):
        assert count_parameters(network()) == n


def test_presets_count_what_they_build() -> None:
    counts = {name: preset.parameters for name, preset in PRESETS.items()}
    assert counts["ddpm"] == counts["cfgdm"] == 5_956_633
    assert counts["ddpm-wide"] == counts["cfgdm-wide"] == 13_123_221
    assert counts["fsdm"] == 4_137_633 + 2_469_664 and counts["fsdm-vit"] == 7_207_905 + 5_697_920
    assert 0.9e6 < counts["cfgdm-small"] < 1.1e6


@pytest.mark.parametrize("groups", [1, 4])
def test_the_norm_is_group_norm(groups: int) -> None:
    ours, theirs = ImageNorm(12, groups), nn.GroupNorm(groups, 12)
    for part in (ours, theirs):
        with torch.no_grad():
            part.weight.copy_(torch.linspace(-1, 2, 12))
            part.bias.copy_(torch.linspace(0, 1, 12))
    images = torch.randn(3, 12, 5, 7) * 4 + 2
    torch.testing.assert_close(ours(images), theirs(images), atol=1e-5, rtol=1e-5)
    last = images.to(memory_format=torch.channels_last)
    assert ours(last).is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(ours(last), theirs(images), atol=1e-5, rtol=1e-5)


def test_linear_attention_is_the_textbook_formula() -> None:
    """Written out as in the paper it comes from: softmax of queries over a head's width, of keys over px, then two products."""
    layer = LinearAttention(10, heads=2, width=4)
    with torch.no_grad():
        layer.norm.weight.copy_(torch.rand(10) + 0.5)
    images = torch.randn(2, 10, 3, 5)
    query, key, value = (part.view(2, 2, 4, 15) for part in layer.to_qkv(images).chunk(3, dim=1))
    context = torch.einsum("bhdn,bhen->bhde", key.softmax(-1), value)
    read = torch.einsum("bhde,bhdn->bhen", context, query.softmax(-2) * 4**-0.5)
    expected = functional.group_norm(layer.to_out(read.reshape(2, 8, 3, 5)), 1, layer.norm.weight, layer.norm.bias)
    torch.testing.assert_close(layer(images), expected, atol=1e-5, rtol=1e-4)


def test_full_attention_is_the_textbook_formula() -> None:
    layer = FullAttention(10, heads=2, width=4)
    images = torch.randn(2, 10, 3, 5)
    query, key, value = (part.view(2, 2, 4, 15) for part in layer.to_qkv(images).chunk(3, dim=1))
    weights = (torch.einsum("bhdi,bhdj->bhij", query, key) * 4**-0.5).softmax(-1)
    read = torch.einsum("bhij,bhdj->bhdi", weights, value).reshape(2, 8, 3, 5)
    torch.testing.assert_close(layer(images), layer.to_out(read), atol=1e-5, rtol=1e-4)


def test_the_time_is_embedded_as_sines_and_cosines() -> None:
    found = embed_time(torch.tensor([0.0, 1.0]), 6)
    slow = [1.0, 10_000**-0.5, 10_000**-1.0]
    torch.testing.assert_close(found[0], torch.tensor([0.0, 0, 0, 1, 1, 1]))
    torch.testing.assert_close(
        found[1], torch.tensor([*map(torch.sin, torch.tensor(slow)), *map(torch.cos, torch.tensor(slow))])
    )
    assert embed_time(torch.zeros(1), 7, cosine_first=True).tolist() == [[1, 1, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize("name", list(NETWORKS))
def test_every_network_uses_image_time_and_exemplar(name: str) -> None:
    network = NETWORKS[name](**({"width": 6} if name == "convnext-unet" else {"size": 16})).eval()
    for parameter in network.parameters():  # FSDM's last layers begin at 0 and would hide everything
        if not parameter.any():
            nn.init.normal_(parameter, std=0.3)
    noisy, time, shown = torch.randn(2, 1, 16, 16), torch.tensor([0.5, 0.5]), torch.rand(2, 1, 16, 16)
    condition = network.condition(shown)
    first = network(noisy, time, condition)
    assert first.shape == noisy.shape
    assert not torch.equal(first, network(noisy + 0.1, time, condition))
    assert not torch.equal(first, network(noisy, time + 0.4, condition))
    other = network(noisy, time, network.condition(torch.cat([shown[:1], 1 - shown[1:]])))
    torch.testing.assert_close(other[0], first[0], atol=1e-5, rtol=1e-4)  # rows do not know of each other
    assert not torch.allclose(other[1], first[1], atol=1e-4)


def test_an_image_of_another_size_goes_through_if_it_can_be_halved() -> None:
    network = ConvNextUNet(6)
    for side in (16, 48):
        images = torch.randn(1, 1, side, side)
        assert network(images, torch.ones(1), images).shape == images.shape


def test_a_block_without_time_is_its_convolutions() -> None:
    block = ConvNextBlock(4, 6)
    images = torch.randn(2, 4, 8, 8)
    inside = functional.group_norm(
        functional.conv2d(images, block.depthwise.weight, block.depthwise.bias, padding=3, groups=4), 1
    )
    inside = functional.group_norm(functional.gelu(block.widen(inside)), 1)
    torch.testing.assert_close(block(images), block.narrow(inside) + block.around(images), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", [SetUNet, SetViTUNet])
def test_in_training_each_drawing_is_conditioned_on_the_others_of_its_set(kind: type[nn.Module]) -> None:
    network = kind(size=16, width=32, blocks=1).eval()
    for parameter in network.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.3)
    sets, noisy, time = torch.rand(2, 3, 16, 16), torch.randn(6, 1, 16, 16), torch.rand(6)
    together = network(noisy, time, sets)
    for row, others in enumerate([(1, 2), (2, 0), (0, 1), (1, 2), (2, 0), (0, 1)]):
        condition = network.condition(sets[row // 3, list(others)][None])
        alone = network(noisy[row : row + 1], time[row : row + 1], condition)
        torch.testing.assert_close(together[row], alone[0], atol=1e-4, rtol=1e-3)


def test_leaving_each_out() -> None:
    sets = torch.arange(6.0).view(2, 3, 1, 1)
    assert leave_each_out(sets).flatten(1).tolist() == [[1, 2], [2, 0], [0, 1], [4, 5], [5, 3], [3, 4]]


def test_a_set_of_one_is_as_good_as_the_same_drawing_several_times() -> None:
    shown = torch.rand(1, 1, 16, 16)
    for network in (SetUNet(16), SetViTUNet(16)):
        one, several = (network.condition(some) for some in (shown, shown.expand(1, 3, 16, 16)))
        if one.ndim == 2:
            torch.testing.assert_close(one, several, atol=1e-5, rtol=1e-4)
        else:
            when = torch.rand(1, 128)
            torch.testing.assert_close(network.encoder(one, when), network.encoder(several, when))


def test_the_average_follows_by_hand() -> None:
    """Two steps of a single number: 1 → 3 → 5; decays are min(.5, 2/11) and min(.5, 3/12)."""
    network = nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 1.0)
    averaged = Averaged(network, 0.5)
    expected = 1.0
    for value, decay in ((3.0, 2 / 11), (5.0, 3 / 12)):
        nn.init.constant_(averaged.network.weight, value)
        averaged.follow()
        expected = decay * expected + (1 - decay) * value
    assert averaged.average.weight.item() == pytest.approx(expected)
    assert not averaged.average.weight.requires_grad


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: ConvNextUNet(5), "cannot be 5 channels wide"),
        (lambda: ResidualUNet(width=40), "multiple of 32"),
        (lambda: UNetEncoder(size=50), "not divisible by 8"),
        (lambda: SetViT(size=50), "cannot be cut into patches of 8 px"),
    ],
)
def test_what_cannot_be_built_is_refused(build: type[nn.Module], said: str) -> None:
    with pytest.raises(UserError, match=said):
        build()
