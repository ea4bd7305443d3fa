"""Recipes and the spaces made by them: one contract for all that ship."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.inputs import DrawingInput
from exemplar.spaces.networks import CRITIC, is_adapted, list_networks
from exemplar.spaces.objectives.pretraining import Pretraining
from exemplar.spaces.objectives.protonet import ProtoNet, accuracies
from exemplar.spaces.recipes import (
    CIFAR_FS,
    GLYPHS,
    RECIPES,
    Recipe,
    find_recipe,
    make_images,
    train_space,
)
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.zoo import list_spaces, load_card, load_space

SHIPPED = list_spaces()
ENCODING = [name for name in SHIPPED if not is_adapted(load_card(name).architecture)]
OMNIGLOT = [name for name in ENCODING if load_card(name).training["held_out"] == "omniglot/weak-test"]


@cache
def concepts(data: str) -> set[str]:
    return set(load(*data.split("/")).concept.names)


@cache
def omniglot() -> ConceptSet:
    return load("omniglot", "weak-test").resized(50, binarise=0.5)


@cache
def exemplars(name: str) -> np.ndarray:
    return central_exemplars(load_space(name).encode(omniglot(), device="cpu"), omniglot().concept.code)


def images_for(space: NetworkSpace, n: int = 37) -> np.ndarray:
    """Of another size than the space's own, so that they are prepared too."""
    if isinstance(space.input, DrawingInput):
        return load("glyphs", "weak-test").take(np.arange(n))
    return seeds.rng("photographs").integers(0, 256, (n, 40, 40, 3), dtype=np.uint8)


def test_a_name_says_recipe_and_seed() -> None:
    assert find_recipe("simclr-omniglot-s2") == (RECIPES["simclr-omniglot"], 2)
    assert find_recipe("protonet-omniglot-background-s10") == (RECIPES["protonet-omniglot-background"], 10)
    assert find_recipe("wrn28-4-cifar-fs") == (RECIPES["wrn28-4-cifar-fs"], 0)
    assert find_recipe("wrn28-4-cifar-fs-s1") == (RECIPES["wrn28-4-cifar-fs"], 1)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("simclr-omniglott-s2", "did you mean simclr-omniglot"),
        ("protonet-glyph", "did you mean protonet-glyphs"),
        ("simclr-omniglot-s", "did you mean simclr-omniglot"),
        ("simclr-omniglot-s-1", "did you mean simclr-omniglot"),
        ("simclr-omniglot-s٣", "did you mean simclr-omniglot"),
        ("", "there is no recipe ''"),
    ],
)
def test_an_unknown_recipe_offers_near_ones(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        find_recipe(name)


@pytest.mark.parametrize("digits", ["00", "01", "4294967296", "9" * 250, "9" * 5000])
def test_a_seed_is_a_small_whole_number_written_in_one_way(digits: str) -> None:
    with pytest.raises(UserError, match="is no seed of simclr-glyphs: write a whole number below 4294967296") as said:
        find_recipe(f"simclr-glyphs-s{digits}")
    assert len(str(said.value)) < 150
    assert find_recipe("simclr-glyphs-s4294967295")[1] == 2**32 - 1


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_names_data_and_exemplars_that_there_are(name: str) -> None:
    recipe = RECIPES[name]
    assert {split for split in recipe.data[1:] if split is not None} <= set(CATALOGUE[recipe.data[0]].splits())
    assert recipe.data[1] != recipe.data[2]
    assert recipe.exemplars is None or recipe.exemplars in SHIPPED
    assert (recipe.threshold is None) == (not CATALOGUE[recipe.data[0]].drawn)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_says_what_its_recipe_says(name: str) -> None:
    card, (recipe, seed) = load_card(name), find_recipe(name)
    assert card.name == name and card.seed == seed
    settings = asdict(recipe.objective)  # type: ignore[call-overload]
    told = {"objective": type(recipe.objective).__name__, **settings, "steps": recipe.steps}
    later = {
        "multi_step": False,
        "learned_rates": False,
        "adapted": "",
    }  # settings that came after some networks were trained
    assert {key: card.training.get(key, later.get(key)) for key in told} == told
    assert card.training["exemplars"] == recipe.exemplars
    assert card.training["held_out"] == recipe.held_out
    assert card.training["chosen"] == recipe.chosen
    assert card.data == f"{recipe.data[0]}/{recipe.data[1]}"
    assert card.layer == recipe.objective.layer or is_adapted(card.architecture)  # which has no features of an image
    assert card.input.size == (recipe.size, recipe.size)
    assert getattr(card.input, "threshold", None) == recipe.threshold
    assert card.curve[-1]["step"] == recipe.steps
    last = {key: value for key, value in card.curve[-1].items() if key.startswith("held_out_")}
    # the standard errors of some were measured afterwards
    assert card.scores | last == card.scores and {key.removesuffix("_se") for key in card.scores} == set(last) - {
        key for key in last if key.endswith("_se")
    }
    assert all(f"{key}_se" in card.scores for key in last if "accuracy" in key and not key.endswith("_se"))
    assert card.seconds > 0 and card.versions["torch"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_lists_the_concepts_of_its_data(name: str, real_data: Any) -> None:
    card = load_card(name)
    data = card.data.split("/")[0]
    if data != "glyphs":
        real_data(data)
    assert set(card.concepts) == concepts(card.data)
    if card.training["held_out"] is not None:
        assert not set(card.concepts) & concepts(card.training["held_out"])


@pytest.mark.parametrize("name", ENCODING)
def test_a_shipped_space_keeps_its_promises(name: str) -> None:
    space, again = load_space(name), load_space(name)
    assert space.identity == again.identity
    images = images_for(space)
    features = space.encode(images, device="cpu")
    assert features.dtype == np.float32 and features.shape[0] == len(images)
    critic = load_card(name).architecture in list_networks(CRITIC)
    if critic and load_card(name).layer == "feature":
        assert features.shape == (len(images), 256)
    assert np.isfinite(features).all()
    assert features.std(axis=0).max() > 0
    np.testing.assert_array_equal(space.encode(images, device="cpu"), features)
    np.testing.assert_array_equal(again.encode(images, device="cpu"), features)
    assert space.identity == again.identity  # seeing changes nobody
    for batch in (1, len(images)):
        whole = NetworkSpace(name, space.network, space.input, space.layer, batch).encode(images, device="cpu")
        np.testing.assert_allclose(whole, features, rtol=1e-5, atol=1e-5 * np.abs(features).max())


def test_a_network_that_normalises_by_the_batch_has_no_features_of_an_image() -> None:
    space = load_space("maml-omniglot-released-s0")
    for n in (1, 5):
        with pytest.raises(UserError, match="maml-omniglot-released-s0 normalises by the batch"):
            space.encode(images_for(space, n), device="cpu")


def test_shipped_spaces_are_all_different() -> None:
    assert len({load_space(name).identity for name in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize(
    "name", [name if name.endswith("released-s0") else pytest.param(name, marks=pytest.mark.long) for name in OMNIGLOT]
)
def test_a_critic_scores_on_omniglot_what_its_card_says(name: str, real_data: Any) -> None:
    """In bfloat16, on a CPU. A ProtoNet is tested in its last layer, a SimCLR in the 256-d one, as they were in training."""
    real_data("omniglot")
    card, data = load_card(name), omniglot()
    space = load_space(name, layer="last" if card.training["objective"] == "ProtoNet" else "feature")
    features = torch.from_numpy(space.encode(data, device="cpu"))
    rows = exemplars(card.training["exemplars"]) if card.training["exemplars"] else None
    seen = TrainingImages.of(np.zeros((len(data), 1, 1), np.uint8), data.concept.code, data.concept.names, rows)
    found = accuracies(features, seen, seeds.torch_rng("golden"))
    # random support was another one in training: three standard errors of the difference of two means of 20 rounds
    tolerance = {"accuracy_exemplar": 0.002, "accuracy_random": 0.01}
    for kind, reach in tolerance.items():
        if kind in found:
            assert found[kind] == pytest.approx(card.scores[f"held_out_{kind}"], abs=reach)
            assert found[f"{kind}_se"] == pytest.approx(
                card.scores[f"held_out_{kind}_se"], rel=0.25
            )  # another random support


def test_images_of_a_recipe_are_small_binary_and_have_exemplars() -> None:
    recipe = Recipe(ProtoNet(ways=8), ("glyphs", "weak-test", "weak-test"), 2, exemplars="simclr-glyphs-s0")
    data = make_images(recipe)
    assert data.shape == (1, 50, 50) and data.n_classes == 90 and data.held_out is not None
    assert set(data.pixels.unique().tolist()) == {0, 255}
    assert data.exemplar is not None and torch.equal(data.label[data.exemplar], torch.arange(90))


def test_what_cannot_be_trained_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exemplar.spaces.recipes.make_images", lambda recipe, device: pytest.fail("images were made"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for steps in (0, -1):
        with pytest.raises(UserError, match=f"at least 1 step, not {steps}"):
            train_space("simclr-glyphs-s0", tmp_path / "out", steps=steps)
    with pytest.raises(UserError, match="10000 devices were asked for"):
        train_space("simclr-glyphs-s0", tmp_path / "out", devices=10_000)
    with pytest.raises(UserError, match="no GPU here"):
        train_space("simclr-glyphs-s0", tmp_path / "out", device="cuda")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for place in ("file", "file/out", "link", "link/out", "n" * 300):
        with pytest.raises(UserError, match="cannot be written"):
            train_space("simclr-glyphs-s0", tmp_path / place, device="cpu")
        with pytest.raises(UserError, match="cannot be written"):
            train_space("simclr-glyphs-s0", tmp_path / "out", work=tmp_path / place, device="cpu")
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link"}


def test_without_its_data_a_training_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*given: Any, **named: Any) -> None:
        raise UserError("there are no data")

    monkeypatch.setattr("exemplar.images.catalogue.load", missing)
    with pytest.raises(UserError, match="there are no data"):
        train_space("simclr-glyphs-s0", tmp_path / "out", work=tmp_path / "out" / "training", device="cpu")
    assert not list(tmp_path.iterdir())


def dots(n_classes: int, n_each: int, shape: tuple[int, ...]) -> TrainingImages:
    """Noise in as many classes as an objective asks for, held out as well."""
    label = np.arange(n_classes).repeat(n_each)
    pixels = seeds.rng("dots", shape).integers(0, 2, (len(label), *shape), dtype=np.uint8) * 255
    data = TrainingImages.of(pixels, label, [f"dots {k}" for k in range(n_classes)])
    return replace(data, held_out=data)


def given_images(monkeypatch: pytest.MonkeyPatch, data: TrainingImages) -> None:
    monkeypatch.setattr("exemplar.spaces.recipes.make_images", lambda recipe, device: data)


@pytest.mark.parametrize(
    "name", [name for name, recipe in RECIPES.items() if isinstance(recipe.objective, Pretraining)]
)
@pytest.mark.parametrize("steps", [2_000, 15_000])
def test_a_backbone_trained_for_another_number_of_steps_has_its_whole_schedule_within_them(
    name: str, steps: int
) -> None:
    objective = RECIPES[name].for_steps(steps).objective
    assert isinstance(objective, Pretraining)
    middle = (steps + objective.warm_up) // 2
    assert objective.rate(middle) == pytest.approx(0.5, abs=1e-3) and 0 < objective.rate(steps - 1) < 1e-4
    begins = int(steps * (1 - objective.mixed))
    assert objective._mixing(seeds.torch_rng("before"), begins - 1)[0] == 0
    if objective.mixed:
        assert objective._mixing(seeds.torch_rng("after"), begins)[0] > 0


def test_the_card_of_a_backbone_says_its_steps_and_a_resume_with_others_is_another_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = Pretraining("conv4-64", batch=8, steps=50, warm_up=1, mixed=0.5, test_tasks=2)
    monkeypatch.setitem(RECIPES, "tiny", Recipe(objective, CIFAR_FS, steps=50, size=16, threshold=None))
    given_images(monkeypatch, dots(5, 20, (16, 16, 3)))
    seen: list[float] = []
    rate = Pretraining.rate

    def noted(self: Pretraining, step: int) -> float:
        seen.append(rate(self, step))
        return seen[-1]

    monkeypatch.setattr(Pretraining, "rate", noted)
    train_space("tiny", tmp_path, work=tmp_path / "work", device="cpu", steps=4)
    assert seen[::2] == pytest.approx([1, 1, 0.75, 0.25])  # each step asks for kernels and for the rest
    assert load_card("tiny", tmp_path).training["steps"] == 4
    with pytest.raises(UserError, match="is of another training, with steps 4, not 6: give another folder"):
        train_space("tiny", tmp_path, work=tmp_path / "work", device="cpu", steps=6)
    assert load_card("tiny", tmp_path).training["steps"] == 4


def test_the_residual_protonet_of_quickdraw_can_be_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, other = RECIPES["protonet-quickdraw-parts-resnet"], RECIPES["protonet-quickdraw-parts"]
    objective = replace(other.objective, network="resnet")  # type: ignore[type-var]
    assert recipe == replace(other, objective=objective, chosen=recipe.chosen)
    given_images(monkeypatch, dots(60, 2, (8, 8)))
    train_space("protonet-quickdraw-parts-resnet-s1", tmp_path, device="cpu", steps=1)
    card = load_card("protonet-quickdraw-parts-resnet-s1", tmp_path)
    assert (card.architecture, card.seed, card.training["steps"]) == ("resnet", 1, 1)
    space = load_space("protonet-quickdraw-parts-resnet-s1", folder=tmp_path)
    assert space.encode(load("glyphs", "weak-test").take(np.arange(2)), device="cpu").shape == (2, 256)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core here")
@pytest.mark.long
def test_a_space_is_trained_on_two_devices_and_its_card_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "tiny", Recipe(ProtoNet(ways=5), GLYPHS, steps=2, size=16))
    given_images(monkeypatch, dots(20, 2, (16, 16)))
    two = train_space("tiny", tmp_path, device="cpu", devices=2)
    one = train_space("tiny", tmp_path / "one", device="cpu")
    assert two.curve[-1]["step"] == 2 and two.curve[-1]["loss"] != one.curve[-1]["loss"]
    assert load_card("tiny", tmp_path).training["machine"].startswith("2 × CPU")
    assert load_card("tiny", tmp_path / "one").training["machine"].startswith("CPU")


def test_steps_are_replayed_on_a_single_gpu_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exemplar.spaces.recipes.find_device", lambda name: torch.device("cuda"))
    recipe = RECIPES["protonet-omniglot"]
    assert recipe.speed_options("cuda") == {"replay": True} and recipe.speed_options("cuda", 2) == {"replay": False}


def test_exemplars_are_found_on_the_device_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def encoded(space: Any, data: ConceptSet, *, device: str = "auto") -> np.ndarray:
        asked.append(device)
        return np.zeros((len(data), 2), np.float32)

    monkeypatch.setattr("exemplar.spaces.encoding.encode_kept", encoded)
    recipe = Recipe(ProtoNet(), ("glyphs", "weak-test", "weak-test"), 2, exemplars="simclr-glyphs-s0")
    make_images(recipe, device="cpu")
    assert asked == ["cpu", "cpu"]


def test_a_recipe_is_trained_on_a_machine_that_has_only_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Prepared here, trained there, finished here: the same weights as trained here at once."""
    from exemplar.spaces import elsewhere

    objective = ProtoNet(network="conv4-64", ways=5, epoch=5)
    monkeypatch.setitem(RECIPES, "tiny", Recipe(objective, ("glyphs", "weak-test", None), steps=2, size=16))
    assert elsewhere.main(["prepare", "tiny-s1", "--out", str(tmp_path / "tiny.npz")]) == 0
    words = [
        "train",
        str(tmp_path / "tiny.npz"),
        "--work",
        str(tmp_path / "work"),
        "--out",
        str(tmp_path),
        "--device",
        "cpu",
    ]
    assert elsewhere.main(words) == 0
    assert (
        elsewhere.main(
            ["finish", str(tmp_path / "tiny.npz"), str(tmp_path / "tiny-s1.pt"), "--out", str(tmp_path / "a")]
        )
        == 0
    )
    train_space("tiny-s1", tmp_path / "b", device="cpu")
    one, other = (load_space("tiny-s1", folder=tmp_path / name) for name in "ab")
    assert one.identity == other.identity
