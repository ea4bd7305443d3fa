"""The VAEs: parameter counts that identify them, and terms of the bound that can be computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from exemplar import seeds
from exemplar.draw.batches import sample_pairs, sample_sets
from exemplar.draw.presets import PRESETS
from exemplar.draw.vae.contextual import ContextVae, turn_sets
from exemplar.draw.vae.elbo import context_elbo, sequence_elbo
from exemplar.draw.vae.gaussians import Gaussian, kl_divergence, kl_from_standard, log_likelihood
from exemplar.draw.vae.sequential import SequentialVae
from exemplar.draw.vae.spatial_transformer import invert, look_everywhere, read_patch, write_patch
from exemplar.draw.vae.statistician import VaeNs
from exemplar.draw.vae.stn import VaeStn
from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import compile_network, train

STN = PRESETS["vae-stn-tiny"].objective
NS = PRESETS["vae-ns-tiny"].objective
assert isinstance(STN, SequentialVae) and isinstance(NS, ContextVae)


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [
        ("vae-stn", 4_924_647),
        ("vae-stn-wide", 8_155_047),
        ("vae-stn-quickdraw", 9_978_058),
        ("vae-ns", 7_479_623),
        ("vae-ns-coded", 7_479_623),
        ("vae-ns-quickdraw", 12_399_771),
    ],
)
def test_parameters(preset: str, parameters: int) -> None:
    assert PRESETS[preset].parameters == parameters


def test_the_rows_of_table_s6() -> None:
    with torch.device("meta"):
        network = VaeNs()
    count = {name: sum(p.numel() for p in part.parameters()) for name, part in network.named_children()}
    read = 256 * 16 * 256 + 256 + 512  # the linear block that the table counts with the statistic network
    assert count["encoder"] - read == 1_958_400 and count["statistic"] + read == 1_445_122
    assert (count["inference"], count["prior"], count["observation"]) == (408_610, 342_818, 3_324_673)


def test_attention_steps_cost_no_parameters() -> None:
    assert replace(PRESETS["vae-stn"], objective=SequentialVae(attention_steps=20)).parameters == 4_924_647


class TestGaussians:
    def test_equal_ones_are_no_distance_apart(self) -> None:
        one = Gaussian(torch.randn(4, 3), torch.randn(4, 3))
        torch.testing.assert_close(kl_divergence(one, one), torch.zeros(4), atol=1e-6, rtol=0)
        torch.testing.assert_close(kl_from_standard(Gaussian(torch.zeros(2, 3), torch.zeros(2, 3))), torch.zeros(2))

    def test_by_hand(self) -> None:
        """N(1, 4) from N(0, 1): ½ (4 + 1 − 1 − ln 4). N(0, 1) from N(2, 4): ½ (ln 4 + (1 + 4) / 4 − 1)."""
        one = Gaussian(torch.ones(1, 1), torch.full((1, 1), math.log(4)))
        standard = Gaussian(torch.zeros(1, 1), torch.zeros(1, 1))
        assert float(kl_divergence(one, standard)) == pytest.approx(0.5 * (4 - math.log(4)))
        assert float(kl_from_standard(one)) == pytest.approx(0.5 * (4 - math.log(4)))
        other = Gaussian(torch.full((1, 1), 2.0), torch.full((1, 1), math.log(4)))
        assert float(kl_divergence(standard, other)) == pytest.approx(0.5 * (math.log(4) + 0.25))

    def test_a_draw_is_mean_plus_noise_times_deviation(self) -> None:
        drawn = Gaussian(torch.ones(1, 2), torch.full((1, 2), math.log(9))).draw(torch.tensor([[2.0, -1.0]]))
        torch.testing.assert_close(drawn, torch.tensor([[7.0, -2.0]]))

    def test_likelihood_of_four_px(self) -> None:
        """Ink where the probability of ink is .8, paper where it is .5, twice each."""
        logit = math.log(4)
        logits = torch.tensor([[logit, 0.0], [logit, 0.0]])[None, None]
        found = log_likelihood(torch.tensor([[1.0, 0], [1, 0]])[None, None], logits)
        assert float(found) == pytest.approx(2 * math.log(0.8) + 2 * math.log(0.5))


class TestBounds:
    def test_of_a_sequence(self) -> None:
        loss, terms = sequence_elbo(torch.tensor([-10.0, -20]), torch.tensor([3.0, 5]), beta=2)
        assert float(loss) == 15 + 2 * 4 and float(terms["kl"]) == 4 and float(terms["likelihood"]) == -15

    @pytest.mark.parametrize(("on_both", "expected"), [(False, 10 + 3 * 2 + 6 / 4), (True, 10 + 3 * 2 + 3 * 6 / 4)])
    def test_with_a_context_that_is_paid_once_per_set(self, on_both: bool, expected: float) -> None:
        """Two sets of two drawings."""
        loss, terms = context_elbo(
            torch.full((4,), -10.0), torch.full((4,), 2.0), torch.tensor([2.0, 4]), 3.0, on_both=on_both
        )
        assert float(loss) == expected and float(terms["kl_context"]) == 1.5


def rotation(degrees: float, scale: float, x: float = 0.0, y: float = 0.0) -> torch.Tensor:
    c, s = scale * math.cos(math.radians(degrees)), scale * math.sin(math.radians(degrees))
    return torch.tensor([[[c, -s, x], [s, c, y]]])


class TestSpatialTransformer:
    def test_looking_everywhere_is_the_image_itself(self) -> None:
        image = torch.rand(2, 1, 9, 9)
        torch.testing.assert_close(read_patch(image, look_everywhere(2, image.device), 9), image)

    def test_a_window_is_read_px_by_px(self) -> None:
        """A quarter of the image: half as wide, its centre at (½, −½), so right and up."""
        image = torch.arange(64.0).view(1, 1, 8, 8)
        patch = read_patch(image, torch.tensor([[[0.5, 0, 0.5], [0, 0.5, -0.5]]]), 4)
        torch.testing.assert_close(patch, image[:, :, :4, 4:])

    def test_and_written_back_where_it_was_read(self) -> None:
        image, transform = torch.rand(1, 1, 8, 8), torch.tensor([[[0.5, 0, 0.5], [0, 0.5, -0.5]]])
        written = write_patch(read_patch(image, transform, 4), transform, 8)
        inner = written[:, :, 1:3, 5:7]  # at the rim a px is mixed with the nothing beside it
        torch.testing.assert_close(inner, image[:, :, 1:3, 5:7])
        assert float(written[:, :, 4:].abs().max()) == 0 and float(written[:, :, :, :3].abs().max()) == 0

    @pytest.mark.parametrize("turn", [90, 180, 270])
    def test_turned_and_turned_back_nothing_is_lost(self, turn: int) -> None:
        image, transform = torch.rand(1, 1, 7, 7), rotation(turn, 1.0)
        read = read_patch(image, transform, 7)
        torch.testing.assert_close(read, torch.rot90(image, turn // 90, (2, 3)), atol=1e-4, rtol=0)
        torch.testing.assert_close(write_patch(read, transform, 7), image, atol=1e-4, rtol=0)

    def test_the_inverse_is_the_inverse(self) -> None:
        transform = torch.cat([rotation(33, 0.4, 0.2, -0.1), rotation(-70, 1.7, -0.5, 0.3)])
        whole = torch.cat([transform, torch.tensor([[[0.0, 0, 1]]]).expand(2, 1, 3)], 1)
        torch.testing.assert_close(invert(transform), torch.linalg.inv(whole)[:, :2])

    def test_a_window_without_extent_gives_no_nan(self) -> None:
        transform = torch.zeros(1, 2, 3, requires_grad=True)
        written = write_patch(torch.rand(1, 1, 3, 3), transform, 6)
        written.sum().backward()
        assert torch.isfinite(written).all() and transform.grad is not None and torch.isfinite(transform.grad).all()


class TestVaeStn:
    def test_the_first_step_writes_what_an_empty_state_says(self) -> None:
        """From h before it is changed: with one step, the drawing does not depend on what was seen."""
        network = VaeStn(steps=1, latent=4, lstm=12, read=6, write=6, located=4, layers="tiny")
        noise = torch.randn(2, 4)
        logits, _ = network(torch.rand(2, 1, 20, 20), torch.rand(2, 1, 20, 20), noise)
        torch.testing.assert_close(logits[0], logits[1])
        expected = write_patch(
            network.decoder(torch.zeros(1, 8)).view(1, 1, 6, 6), look_everywhere(1, noise.device), 20
        )
        torch.testing.assert_close(logits[:1], expected)

    def test_drawing_is_what_training_would_do_with_the_same_z(self) -> None:
        """With an encoder that says μ = 0 and σ = 1 both take z from the prior."""
        torch.manual_seed(0)
        network = VaeStn(steps=4, latent=4, lstm=12, read=6, write=6, located=4, layers="tiny")
        last = network.encoder[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight), nn.init.zeros_(last.bias)
        shown, noise = torch.rand(3, 1, 20, 20).round(), torch.randn(3, network.n_noise)
        logits, kl = network(torch.rand(3, 1, 20, 20), shown, noise)
        torch.testing.assert_close(logits.sigmoid(), network.draw(shown, noise))
        torch.testing.assert_close(kl, torch.zeros(3))

    def test_one_step_is_compiled_not_all_of_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[Any] = []
        monkeypatch.setattr(torch, "compile", lambda what, options: calls.append((what, options)) or what)
        network = VaeStn(steps=3, latent=4, lstm=12, read=6, write=6, located=4, layers="tiny")
        assert compile_network(network, {"some": True}) is network
        assert calls == [(network.take_step, {"some": True})]
        shown = torch.rand(2, 1, 12, 12)
        assert network(shown, shown, torch.randn(2, 12))[0].shape == (2, 1, 12, 12)
        assert not any("compiled" in name for name in network.state_dict())


class TestVaeNs:
    def test_the_context_is_read_from_the_whole_set_in_any_order(self) -> None:
        network = VaeNs(16, 4, 3, 8, 1, 2, 2).eval()
        sets = torch.rand(2, 3, 16, 16).round()
        read = network.encoder(sets.flatten(0, 1)[:, None]).view(2, 3, -1)
        torch.testing.assert_close(network.read_context(read).mean, network.read_context(read[:, [2, 0, 1]]).mean)

    def test_to_draw_the_context_is_the_mean_and_z_comes_from_its_prior(self) -> None:
        network = VaeNs(16, 4, 3, 8, 2, 2, 2).eval()
        shown, noise = torch.rand(2, 1, 16, 16).round(), torch.randn(2, 6)
        context = network.read_context(network.encoder(shown)[:, None]).mean
        first = network.prior[0](context, torch.zeros(2, 3)).draw(noise[:, :3])
        second = network.prior[1](context, first).draw(noise[:, 3:])
        expected = network.observation(torch.cat([first, second], 1), context).sigmoid()
        torch.testing.assert_close(network.draw(shown, noise), expected)

    def test_a_set_is_turned_as_a_whole(self) -> None:
        sets = torch.rand(8, 2, 5, 5)
        turned = turn_sets(sets, torch.arange(8))
        torch.testing.assert_close(turned[0], sets[0])
        torch.testing.assert_close(turned[3], torch.rot90(sets[3], 3, (1, 2)))
        torch.testing.assert_close(turned[6], torch.rot90(sets[6], 2, (1, 2)).flip(2))
        one = turn_sets(sets[:1].expand(8, 2, 5, 5), torch.arange(8))
        assert len({tuple(some.flatten().tolist()) for some in one}) == 8


def test_pairs_and_sets_are_of_one_class(few_images: TrainingImages) -> None:
    every = few_images.take(torch.arange(len(few_images.pixels)))

    def label_of(drawings: torch.Tensor) -> torch.Tensor:
        return few_images.label[(drawings[:, None] - every).abs().sum((2, 3, 4)).argmin(1)]

    drawings, shown = sample_pairs(few_images, 20, seeds.torch_rng(0), shuffle=False)
    assert torch.equal(label_of(drawings), label_of(shown)) and few_images.exemplar is not None
    assert torch.equal(shown, few_images.take(few_images.exemplar)[label_of(shown)])
    labels = label_of(sample_sets(few_images, 4, 3, seeds.torch_rng(0))).view(4, 3)
    assert torch.equal(labels, labels[:, :1].expand(4, 3))


@pytest.mark.parametrize("objective", [replace(STN, attention_steps=3), NS], ids=["VAE-STN", "VAE-NS"])
def test_some_steps_lower_the_loss(objective: Any, few_images: TrainingImages) -> None:
    small = replace(few_images, pixels=few_images.pixels[:, :, 8:40:2, 8:40:2].contiguous())
    curve = train(objective, small, steps=40, seed=0, every=10, device="cpu").curve
    assert curve[-1]["loss"] < 0.9 * curve[0]["loss"]
    assert curve[-1]["loss"] == pytest.approx(
        curve[-1]["kl"] + curve[-1].get("kl_context", 0) - curve[-1]["likelihood"], rel=1e-5
    )


@pytest.mark.parametrize(
    ("objective", "changed", "said"),
    [
        (STN, {"beta": -1.0}, "β weights the KL and must be a number of at least 0, not -1.0"),
        (STN, {"batch": 0}, "Batch size must be at least 1"),
        (STN, {"located": 24}, "of the LSTM's 24 numbers"),
        (STN, {"attention_steps": 0}, "at least 1"),
        (STN, {"layers": "tny"}, "did you mean tiny"),
        (STN, {"gradient_clip": 0.0}, "gradients must be allowed some length"),
        (STN, {"learning_rate": 0.0}, "learning rate"),
        (NS, {"beta_on": "c"}, "there is no part that β weights 'c'"),
        (NS, {"sets": 1}, "2 sets or more"),
        (NS, {"latent": 0}, "at least 1"),
        (NS, {"set_size": 6}, "sets of 6 drawings need as many of each class, one has 5: lower set_size"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    objective: Any, changed: dict[str, Any], said: str, few_images: TrainingImages
) -> None:
    with pytest.raises(UserError, match=said):
        train(replace(objective, **changed), few_images, steps=1, seed=0, device="cpu")


def test_a_vanished_kl_is_said() -> None:
    assert not STN.find_warnings([{"step": 1, "loss": 1.0, "kl": 3.0}])
    (said,) = NS.find_warnings([{"step": 1, "loss": 1.0, "kl": 0.01}])
    assert said.startswith("The KL of z has vanished (0.01 nats per drawing)")
