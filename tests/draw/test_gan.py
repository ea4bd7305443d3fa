"""The GANs: parameter counts that identify them, the penalty by hand, and two networks that take turns within a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from exemplar import seeds
from exemplar.draw.gan.critic import Critic, gradient_penalty
from exemplar.draw.gan.generator import Generator
from exemplar.draw.gan.objective import Adversarial, GeneratorAndCritic
from exemplar.draw.presets import PRESETS, RECIPES
from exemplar.errors import UserError
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train

TINY = PRESETS["dagan-tiny"].objective
assert isinstance(TINY, Adversarial)


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [
        ("dagan-un", 6_813_857),
        ("dagan-un-quickdraw", 10_567_811),
        ("dagan-rn", 6_149_153),
        ("dagan-rn-quickdraw", 9_681_347),
    ],
)
def test_parameters(preset: str, parameters: int) -> None:
    assert PRESETS[preset].parameters == parameters


@pytest.mark.parametrize("size", [16, 33, 48, 50])
@pytest.mark.parametrize("skips", [True, False])
def test_drawings_have_the_size_of_the_exemplars(size: int, skips: bool) -> None:
    network = Generator(size, 3, 1, skips, 2).eval()
    drawn = network.draw(torch.rand(2, 1, size, size), torch.randn(2, 3)).detach()
    assert drawn.shape == (2, 1, size, size) and float(drawn.min()) > 0 and float(drawn.max()) < 1


@pytest.mark.parametrize("skips", [True, False])
def test_a_px_reaches_its_own_place_by_skips_alone_where_there_are_any(skips: bool) -> None:
    """Without skips all goes through a few px at the bottom: with those cut off, the exemplar no longer matters."""
    torch.manual_seed(0)
    network, noise = Generator(32, 3, 1, skips, 2).eval(), torch.randn(1, 3)
    for block in network.down:  # nothing comes from below
        for part in block.parameters():
            part.data.zero_()
    one, other = (network(torch.rand(1, 1, 32, 32), noise) for _ in range(2))
    assert torch.equal(one, other) != skips


class TestPenalty:
    def test_of_a_linear_critic_by_hand(self) -> None:
        """Its slope is its weights everywhere: of length 5, (5 − 1)²; of length 1, nothing."""
        shown, real, drawn, mix = torch.rand(3, 1, 2, 2), torch.rand(3, 1, 2, 2), torch.rand(3, 1, 2, 2), torch.rand(3)
        weights = torch.tensor([[3.0, 0], [0, 4]], requires_grad=True)

        def critic(shown: torch.Tensor, drawings: torch.Tensor) -> torch.Tensor:
            return (drawings * weights).sum((1, 2, 3)) + shown.sum((1, 2, 3))

        penalty = gradient_penalty(critic, shown, real, drawn, mix)
        assert penalty.item() == pytest.approx(16)
        penalty.backward()  # d/dw (‖w‖ − 1)² = 2 (‖w‖ − 1) w / ‖w‖
        torch.testing.assert_close(weights.grad, 2 * 4 * weights.detach() / 5)
        weights.data /= 5
        assert gradient_penalty(critic, shown, real, drawn, mix).item() == pytest.approx(0, abs=1e-9)

    def test_it_is_taken_between_real_and_drawn(self) -> None:
        """Of a critic ½ Σ x² the slope is x itself."""
        real, drawn = torch.full((1, 1, 1, 1), 3.0), torch.zeros(1, 1, 1, 1)
        critic = lambda shown, x: x.square().sum((1, 2, 3)) / 2  # noqa: E731
        found = [gradient_penalty(critic, drawn, real, drawn, torch.tensor([mix])).item() for mix in (1.0, 2 / 3)]
        assert found == pytest.approx([4, 1])

    def test_a_critic_without_slope_gives_no_nan(self) -> None:
        critic = Critic(16, 1, 2)
        for part in critic.parameters():
            part.data.zero_()
        some = torch.rand(2, 1, 16, 16)
        gradient_penalty(critic, some, some, some, torch.rand(2)).backward()
        assert all(p.grad is None or torch.isfinite(p.grad).all() for p in critic.parameters())

    def test_a_critic_judges_each_drawing_by_itself(self) -> None:
        critic, shown, drawings = Critic(16, 1, 2), torch.rand(3, 1, 16, 16), torch.rand(3, 1, 16, 16)
        torch.testing.assert_close(critic(shown, drawings)[:1], critic(shown[:1], drawings[:1]))


class TestTurns:
    def test_the_critic_learns_from_all_turns_but_one_and_the_generator_from_that_one(
        self, few_images: TrainingImages
    ) -> None:
        network = TINY.build(few_images)
        assert isinstance(network, GeneratorAndCritic)
        updates = list(TINY.losses(network, few_images, seeds.torch_rng(0), 0))
        assert len(updates) == TINY.critic_steps + 1
        assert all(u.parameters == list(network.critic.parameters()) for u in updates[:-1])
        assert updates[-1].parameters == list(network.generator.parameters())

    def test_who_has_no_turn_stays_as_it_was(self, few_images: TrainingImages) -> None:
        """A step of two turns of the critic: Adam's first two updates of it, and one of the generator."""
        before = train(TINY, few_images, steps=1, seed=0, every=1, device="cpu").network
        fresh = self._fresh(few_images)
        optimizer = TINY.optimizer(fresh)
        rng = seeds.torch_rng("training", 0, 0, 0)
        for update in TINY.losses(fresh, few_images, rng, 0):
            for part in fresh.parameters():
                part.grad = None
            update.loss.backward(inputs=update.parameters)
            optimizer.step()
        counts = {p: int(state["step"]) for p, state in optimizer.state.items()}
        assert {counts[p] for p in fresh.critic.parameters()} == {2}
        assert {counts[p] for p in fresh.generator.parameters()} == {1}
        for one, other in zip(before.parameters(), fresh.parameters(), strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)

    @staticmethod
    def _fresh(images: TrainingImages) -> GeneratorAndCritic:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seeds.seed("weights", 0))
            network = TINY.build(images)
        assert isinstance(network, GeneratorAndCritic)
        return network.to(memory_format=torch.channels_last).train()  # type: ignore[call-overload,no-any-return]

    def test_an_exemplar_is_shown_and_reversed_it_is_drawn(self, few_images: TrainingImages) -> None:
        assert few_images.exemplar is not None
        exemplars = {tuple(some.flatten().tolist()) for some in few_images.take(few_images.exemplar)}

        def are_exemplars(drawings: torch.Tensor) -> bool:
            return all(tuple(some.flatten().tolist()) in exemplars for some in drawings)

        shown, real = replace(TINY, batch=16).sample(few_images, seeds.torch_rng(0))
        assert are_exemplars(shown) and not are_exemplars(real)
        shown, real = replace(TINY, batch=16, reversed_pairs=True).sample(few_images, seeds.torch_rng(0))
        assert are_exemplars(real) and not are_exemplars(shown)

    def test_epochs_count_the_critics_batches(self) -> None:
        assert RECIPES["dagan-un-omniglot"].steps == 30 * (29_460 // (5 * 32)) == 5_520


def test_some_updates_teach_the_critic_to_tell_real_from_drawn(few_images: TrainingImages) -> None:
    objective = replace(TINY, critic_steps=1, learning_rate=3e-3)
    network = objective.build(few_images)
    optimizer, found = objective.optimizer(network), []
    for _ in range(8):  # the same batch, since the same rng
        update = next(objective.losses(network, few_images, seeds.torch_rng(0), 0))
        optimizer.zero_grad()
        update.loss.backward(inputs=update.parameters)
        optimizer.step()
        found.append(update.loss.item())
    assert found[-1] < found[0]


@pytest.mark.long
def test_the_generator_comes_nearer_to_real_drawings_once_the_critic_can_tell(few_images: TrainingImages) -> None:
    """What the critic holds real and drawn apart rises while it learns, then falls."""
    small = replace(few_images, pixels=few_images.pixels[:, :, 8:40:2, 8:40:2].contiguous())
    objective = replace(TINY, width=12, batch=16, critic_steps=3, learning_rate=5e-4)
    curve = train(objective, small, steps=120, seed=0, every=20, device="cpu").curve
    assert set(curve[0]) == {"step", "loss", "penalty", "variation"}
    apart = [entry["loss"] for entry in curve]
    assert apart[0] < max(apart) and apart[-1] < 0.85 * max(apart)


def test_a_collapsed_generator_is_said(few_images: TrainingImages) -> None:
    assert not TINY.find_warnings([{"step": 1, "loss": 1.0, "variation": 0.5}])
    (said,) = TINY.find_warnings([{"step": 1, "loss": 1.0, "variation": 0.01}])
    assert said.startswith("The generator has collapsed: two drawings after one exemplar differ by 1.0% of")
    network = TINY.build(few_images)
    assert isinstance(network, GeneratorAndCritic)
    for layer in network.generator.noise:
        for part in layer.parameters():
            part.data.zero_()  # deaf to its noise
    shown, real = TINY.sample(few_images, seeds.torch_rng(0))
    assert float(TINY.measure_variation(network.generator, shown, real, seeds.torch_rng(1))) == 0
    assert network.generator.training


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"batch": 1}, "2 drawings or more"),
        ({"critic_steps": 0}, "at least 1"),
        ({"penalty": -1.0}, "the penalty must be 0 or more"),
        ({"momentum": 1.0}, "the momentum from 0 to below 1"),
        ({"learning_rate": float("nan")}, "learning rate"),
    ],
)
def test_what_cannot_be_trained_is_refused(changed: dict[str, Any], said: str, few_images: TrainingImages) -> None:
    with pytest.raises(UserError, match=said):
        train(replace(TINY, **changed), few_images, steps=1, seed=0, device="cpu")


def test_without_exemplars_it_asks_for_some(few_images: TrainingImages) -> None:
    with pytest.raises(UserError, match="training needs an exemplar of each class"):
        TINY.build(replace(few_images, exemplar=None))
    assert replace(TINY, shuffle=True).build(replace(few_images, exemplar=None)) is not None
