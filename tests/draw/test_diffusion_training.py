"""Training diffusion agents: the objectives, what is refused, what is kept, and that a killed training ends as it would have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import exemplar as ex
from exemplar import seeds
from exemplar.draw.diffusion import objective as objectives
from exemplar.draw.diffusion.averaging import Averaged, part_that_draws
from exemplar.draw.diffusion.drawing import Drawer, binarise
from exemplar.draw.diffusion.gathering import find_setting, gather_images
from exemplar.draw.diffusion.objective import Denoising, SetDenoising
from exemplar.draw.diffusion.samplers import Sampling
from exemplar.draw.presets import PRESETS, RECIPES, make_recipe, read_objective, with_settings
from exemplar.draw.training import train_in_memory
from exemplar.errors import UserError
from exemplar.images.glyphs import GlyphsConfig, load_glyphs
from exemplar.spaces.recipes import find_recipe, find_room
from exemplar.spaces.training.checkpoints import CHECKPOINT
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import train
from exemplar.spaces.zoo import load_card

TINY = Denoising(width=6, diffusion_steps=40, batch=4, drop=0.1, last_step=4)
SETS = SetDenoising(sets=2, set_size=3, diffusion_steps=40, blocks=1)


class Spy(nn.Module):
    """Predicts nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[torch.Tensor, ...]] = []

    def forward(self, noisy: torch.Tensor, time: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        self.asked.append((noisy, time, condition))
        return torch.zeros_like(noisy)


class TestWhatIsShown:
    def test_the_condition_is_the_exemplar_of_the_drawings_class(self, few_images: TrainingImages) -> None:
        spy, images = Spy(), few_images
        loss, _ = replace(TINY, drop=0.0, batch=64).loss(spy, images, seeds.torch_rng(0), 0)
        noisy, time, condition = spy.asked[0]
        assert images.exemplar is not None
        exemplars = images.take(images.exemplar)
        whose = (condition[:, None] - exemplars).abs().sum((2, 3, 4)).argmin(1)
        assert torch.equal(condition, exemplars[whose])
        assert len(whose.unique()) > 6 and time.min() > 0 and time.max() <= 1
        # with so little noise at the first time that a drawing can be made out, it is of the same class
        early = time == time.min()
        nearest = (
            (noisy[early][:, None, 0] - images.take(torch.arange(len(images.pixels)))[None, :, 0])
            .square()
            .sum((2, 3))
            .argmin(1)
        )
        assert torch.equal(images.label[nearest], whose[early])
        assert float(loss) == pytest.approx(1, abs=0.05)  # the noise has variance 1

    def test_shuffled_it_is_any_drawing_of_the_class(self, few_images: TrainingImages) -> None:
        spy = Spy()
        replace(TINY, drop=0.0, batch=128, shuffle=True).loss(spy, few_images, seeds.torch_rng(0), 0)
        every = few_images.take(torch.arange(len(few_images.pixels)))
        rows = (spy.asked[0][2][:, None] - every).abs().sum((2, 3, 4)).argmin(1)
        assert few_images.exemplar is not None
        assert len(rows.unique()) > len(few_images.exemplar)

    def test_one_exemplar_in_ten_is_dropped_to_empty_paper(self, few_images: TrainingImages) -> None:
        spy = Spy()
        replace(TINY, batch=2000).loss(spy, replace(few_images, pixels=few_images.pixels | 1), seeds.torch_rng(0), 0)
        dropped = (spy.asked[0][2] == 0).flatten(1).all(1).float().mean()
        assert float(dropped) == pytest.approx(0.1, abs=0.025)

    def test_a_ddpm_always_sees_its_exemplar(self, few_images: TrainingImages) -> None:
        spy, ddpm = Spy(), PRESETS["ddpm"].objective
        always = replace(TINY, drop=ddpm.drop, batch=2000)  # type: ignore[union-attr]
        always.loss(spy, replace(few_images, pixels=few_images.pixels | 1), seeds.torch_rng(0), 0)
        assert bool((spy.asked[0][2] > 0).flatten(1).all(1).all())

    def test_fsdm_is_shown_whole_sets_of_distinct_drawings_of_one_class(self, few_images: TrainingImages) -> None:
        spy = Spy()
        SETS.loss(spy, few_images, seeds.torch_rng(3), 0)
        noisy, _, sets = spy.asked[0]
        assert noisy.shape == (6, 1, 48, 48) and sets.shape == (2, 3, 48, 48)
        every = few_images.take(torch.arange(len(few_images.pixels)))[:, 0]
        rows = (sets.flatten(0, 1)[:, None] - every).abs().sum((2, 3)).argmin(1).view(2, 3)
        assert all(len(set(row.tolist())) == 3 for row in rows)
        labels = few_images.label[rows]
        assert torch.equal(labels, labels[:, :1].expand_as(labels))


def test_the_rate_decays_linearly_to_nothing() -> None:
    objective = Denoising().for_steps(100)
    assert [objective.rate(step) for step in (0, 25, 50, 99, 100)] == pytest.approx([1, 0.75, 0.5, 0.01, 0])
    assert objective.optimizer(nn.Linear(1, 1)).param_groups[0]["lr"] == 1e-4


def test_some_steps_lower_the_loss(few_images: TrainingImages) -> None:
    small = replace(few_images, pixels=few_images.pixels[:, :, 8:40:2, 8:40:2].contiguous())
    objective = replace(TINY, learning_rate=3e-3, batch=16).for_steps(1000)
    curve = train(objective, small, steps=80, seed=0, every=20, device="cpu").curve
    assert curve[-1]["loss"] < 0.7 * curve[0]["loss"]


@pytest.mark.long
def test_it_learns_to_draw_what_it_is_shown_and_guidance_helps() -> None:
    """Twelve concepts at 16 px, minutes on a core: drawings are nearest to their own concept's mean (chance 1 / 12) at γ = 0, and
    more often at γ = 1, by the paper's sampler and by 20 steps of the solver alike."""
    data = load_glyphs("weak-test", GlyphsConfig(alphabets=4, characters=4, drawers=5, size=24)).resized(
        16, binarise=0.5
    )
    images = TrainingImages.of(data.images, data.concept.code, data.concept.names, np.arange(12) * 5)
    objective = Denoising(
        width=16, diffusion_steps=100, batch=16, drop=0.1, learning_rate=3e-3, average=0.98, last_step=900
    )
    network = part_that_draws(train(objective, images, steps=900, seed=0, every=300, device="cpu").network)
    assert images.exemplar is not None
    means = torch.stack([images.take(images.rows[k])[:, 0].mean(0) for k in range(12)]).numpy()

    def share_right(sampling: Sampling) -> float:
        drawer = Drawer(network, objective, sampling)
        drawn = binarise(drawer.draw(images.take(images.exemplar), 4, seeds.rng(0)), 0.5) / 255
        nearest = np.square(drawn[:, :, None] - means).sum((3, 4)).argmin(2)
        return float((nearest == np.arange(12)[:, None]).mean())

    for sampler, steps in (("ancestral", None), ("dpm-solver", 20)):
        none, some = (share_right(Sampling(sampler, steps, gamma)) for gamma in (0.0, 1.0))
        assert 2 / 12 < none < some


@pytest.mark.parametrize("objective", [replace(TINY, average=0.9), SETS], ids=["CFGDM with an average", "FSDM"])
def test_stopped_and_resumed_it_ends_with_the_same_weights(
    objective: Any, few_images: TrainingImages, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"seed": 0, "every": 2, "device": "cpu"}
    at_once = train(objective, few_images, steps=4, **options)
    train(objective, few_images, steps=2, folder=tmp_path, **options)
    resumed = train(objective, few_images, steps=4, folder=tmp_path, **options)
    assert resumed.curve == at_once.curve
    for one, other in zip(at_once.network.state_dict().values(), resumed.network.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_what_is_kept_is_the_average_where_there_is_one(few_images: TrainingImages) -> None:
    trained = train(replace(TINY, average=0.5), few_images, steps=3, seed=0, every=3, device="cpu").network
    assert isinstance(trained, Averaged)
    kept = replace(TINY, average=0.5).part_to_keep(trained, (1, 48, 48))
    assert kept.module is trained.average and kept.config == {"width": 6, "time_scale": 1.0}
    assert not torch.equal(trained.average.stem.weight, trained.network.stem.weight)


def test_a_loss_that_is_no_number_stops_with_the_last_good_checkpoint(
    few_images: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = objectives.predict_noise_loss
    calls = []

    def broken(*args: Any) -> torch.Tensor:
        calls.append(1)
        return real(*args) * (float("nan") if len(calls) == 4 else 1.0)

    monkeypatch.setattr(objectives, "predict_noise_loss", broken)
    with pytest.raises(UserError, match="training has diverged, its loss is nan"):
        train(TINY, few_images, steps=6, seed=0, every=2, folder=tmp_path, device="cpu")
    there = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    assert there["step"] == 2 and all(torch.isfinite(tensor).all() for tensor in there["network"].values())


def test_weights_that_are_no_numbers_are_never_kept(
    few_images: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of a step is finite, its gradients are not."""
    real = objectives.predict_noise_loss

    def broken(network: nn.Module, drawings: torch.Tensor, *rest: Any) -> torch.Tensor:
        loss = real(network, drawings, *rest)
        calls.append(1)
        return loss + (0 * torch.sqrt(0 * loss) if len(calls) == 4 else 0)  # 0 · ∞ on the way back

    calls: list[int] = []
    monkeypatch.setattr(objectives, "predict_noise_loss", broken)
    with pytest.raises(UserError, match="some weights are not finite"):
        train(TINY, few_images, steps=6, seed=0, every=2, folder=tmp_path, device="cpu")
    assert torch.load(tmp_path / CHECKPOINT, weights_only=True)["step"] == 2


def test_a_batch_too_large_for_the_memory_is_halved_and_said(
    few_images: TrainingImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = objectives.predict_noise_loss

    def small(network: nn.Module, drawings: torch.Tensor, *rest: Any) -> torch.Tensor:
        if len(drawings) > 4:
            raise torch.OutOfMemoryError("no room")
        return real(network, drawings, *rest)

    monkeypatch.setattr(objectives, "predict_noise_loss", small)
    preset = with_settings(PRESETS["cfgdm-tiny"], {"batch": 16, "width": 6, "diffusion_steps": 40})
    from exemplar.draw.presets import DATA

    recipe, said = make_recipe(preset, DATA["glyphs"], steps=2), []
    trained, done = train_in_memory(recipe, few_images, folder=tmp_path, said=said, seed=0, every=2, device="cpu")
    assert [sentence.rpartition(": ")[2] for sentence in said] == ["halved to 8", "halved to 4"]
    assert done.objective.batch == 4 and trained.curve[-1]["step"] == 2  # type: ignore[attr-defined]
    assert "halved to 4" in done.chosen
    with pytest.raises(UserError, match="a training that has begun keeps its own"):
        monkeypatch.setattr(
            objectives, "predict_noise_loss", lambda *args: (_ for _ in ()).throw(torch.OutOfMemoryError())
        )
        train_in_memory(replace(done, steps=4), few_images, folder=tmp_path, said=[], seed=0, every=2, device="cpu")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"diffusion_steps": 5}, "with 5 diffusion steps β would reach"),
        ({"drop": 1.0}, "at least 0 and below 1, not 1.0"),
        ({"batch": 0}, "Batch size must be at least 1"),
        ({"average": 1.0}, "the decay of the average"),
        ({"learning_rate": 0.0}, "learning rate"),
        ({"width": 7}, "7 channels wide"),
    ],
)
def test_what_cannot_be_trained_is_refused(changed: dict[str, Any], said: str, few_images: TrainingImages) -> None:
    with pytest.raises(UserError, match=said):
        train(replace(TINY, **changed), few_images, steps=1, seed=0, device="cpu")


def test_data_that_do_not_fit_are_refused(few_images: TrainingImages) -> None:
    with pytest.raises(UserError, match="needs an exemplar of each class"):
        TINY.build(replace(few_images, exemplar=None))
    with pytest.raises(UserError, match="sets of 6 drawings need as many of each class, one has 5"):
        replace(SETS, set_size=6).build(few_images)
    odd = TrainingImages.of(np.zeros((2, 50, 50), np.uint8), [0, 1], ["a", "b"], [0, 1])
    with pytest.raises(UserError, match="50 px are not divisible by 4"):
        TINY.build(odd)
    with pytest.raises(UserError, match="one channel, these images have 3"):
        TINY.build(TrainingImages.of(np.zeros((2, 48, 48, 3), np.uint8), [0, 1], ["a", "b"], [0, 1]))


class TestRecipes:
    def test_they_are_of_the_room_draw_and_take_the_papers_epochs(self) -> None:
        recipe, seed = find_recipe("cfgdm-omniglot-s2")
        assert seed == 2 and recipe.steps == 69_000 and recipe.size == 48 and find_room("cfgdm-omniglot-s2") == "draw"
        assert recipe.data == ("omniglot", "weak-train", None) and recipe.exemplars == "simclr-omniglot-released-s0"
        assert recipe.objective.last_step == 69_000  # type: ignore[attr-defined]
        assert RECIPES["fsdm-omniglot"].exemplars is None and RECIPES["ddpm-quickdraw-fs"].threshold == 0.3

    def test_an_objective_is_read_again_from_its_card(self, tiny_agents: dict[str, str]) -> None:
        card = load_card(tiny_agents["cfgdm"], room="draw")
        assert read_objective(card.training) == replace(
            PRESETS["cfgdm-tiny"].objective, width=6, batch=4, diffusion_steps=40, last_step=2
        )
        with pytest.raises(UserError, match="is no agent of this room"):
            read_objective({"objective": "SimClr"})

    @pytest.mark.parametrize(
        ("settings", "said"),
        [({"widht": 3}, "there is no setting of cfgdm 'widht': did you mean width"), ({"width": "x"}, "width must be a int"),
         ({"last_step": 3}, "there is no setting")],
    )  # fmt: skip
    def test_wrong_settings_are_refused(self, settings: dict[str, Any], said: str) -> None:
        with pytest.raises(UserError, match=said):
            with_settings(PRESETS["cfgdm"], settings)


class TestVerb:
    def test_weights_card_curve_and_sheet(self, tiny_agents: dict[str, str], few_drawings: Path) -> None:
        path = Path(tiny_agents["cfgdm"])
        card = load_card(str(path), room="draw")
        assert card.room == "draw" and card.data == "few" and len(card.concepts) == 12
        assert card.training["steps"] == 2 and "Changed from the preset" in card.training["chosen"]
        assert [entry["step"] for entry in card.curve] == [2]
        for ending in (".safetensors", ".svg", ".png"):
            assert path.with_name(path.name + ending).stat().st_size > 0

    @pytest.mark.long
    def test_the_command_says_the_same_as_python(self, exemplar: Any, few_drawings: Path, tmp_path: Path) -> None:
        words = ["cfgdm-tiny", "--data", few_drawings, "--steps", 2, "--every", 2, "--device", "cpu"]
        settings = [word for setting in ("width=6", "batch=2", "diffusion_steps=40") for word in ("--setting", setting)]
        said = exemplar("draw", "train", *words, *settings, "--out", "one", "--json", cwd=tmp_path)
        assert said.code == 0, said.err
        ours = ex.draw.train(
            "cfgdm-tiny", data=str(few_drawings), steps=2, every=2, device="cpu", out=str(tmp_path / "two"),
            setting=["width=6", "batch=2", "diffusion_steps=40"],
        )  # fmt: skip
        one, two = said.json(), json.loads(json.dumps(ours.json()))
        for values in (one, two):
            values.pop("seconds"), values.pop("agent")
        assert one == two
        name = "cfgdm-tiny-width-6-batch-2-diffusion-steps-40-few-s0.safetensors"
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["cfgdm-smal"], "there is no agent or preset to train 'cfgdm-smal': did you mean cfgdm-small"),
            (["cfgdm", "--data", "nowhere"], "there is no data set, folder or file 'nowhere'"),
            (["cfgdm", "--data", "cifar-fs"], "cifar-fs holds photographs"),
            (["cfgdm", "--setting", "width"], "a setting is written NAME=VALUE"),
            (["cfgdm", "--data", "glyphs", "--device", "gpu"], "there is no device 'gpu'"),
            (["cfgdm", "--data", "glyphs", "--setting", "diffusion_steps=3"], "with 3 diffusion steps"),
            (["cfgdm", "--data", "glyphs", "--steps", "0"], "0"),
        ],
    )
    def test_mistakes_are_one_sentence(self, words: list[str], said: str, exemplar: Any, tmp_path: Path) -> None:
        found = exemplar("draw", "train", *words, cwd=tmp_path)
        assert found.code == 2 and said in found.err and "Traceback" not in found.err
        assert list(tmp_path.iterdir()) == []

    def test_held_out_concepts_are_not_trained_on(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="nothing is left to train on"):
            ex.draw.train(
                "cfgdm-tiny", data="glyphs", split="weak-test", hold_out="weak-test", out=str(tmp_path), steps=1
            )

    def test_held_out_concepts_take_the_rest_of_their_category_with_them(self, real_data: Any) -> None:
        real_data("quickdraw-fs")
        setting = find_setting("quickdraw-fs", "train")
        images, _ = gather_images(setting, size=8, exemplars=False, hold_out="val", device="cpu")
        assert images.held_out is not None
        held_out, trained = (
            {name.rpartition("-")[0] for name in names} for names in (images.held_out.names, images.names)
        )
        assert trained and not held_out & trained
