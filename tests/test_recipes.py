"""Recipes and the spaces made by them: one contract for all that ship."""

from __future__ import annotations

from dataclasses import asdict
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
from exemplar.spaces.protonet import ProtoNet, accuracies
from exemplar.spaces.recipes import RECIPES, Recipe, find_recipe, make_images, train_space
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.training_images import Images
from exemplar.spaces.zoo import list_spaces, load_card, load_space

SHIPPED = list_spaces()
# trained when the space of its exemplars was still one with the ReLU of Table S1
EARLIER = {"maml-omniglot-s0": "simclr-omniglot-relu-s0"}
ENCODING = [name for name in SHIPPED if not name.startswith("maml")]
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
        ("", "there is no recipe ''"),
    ],
)
def test_an_unknown_recipe_offers_near_ones(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        find_recipe(name)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_names_data_and_exemplars_that_there_are(name: str) -> None:
    recipe = RECIPES[name]
    assert set(recipe.data[1:]) <= set(CATALOGUE[recipe.data[0]].splits())
    assert recipe.data[1] != recipe.data[2]
    assert recipe.exemplars is None or recipe.exemplars in SHIPPED
    assert (recipe.threshold is None) == (not CATALOGUE[recipe.data[0]].drawn)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_says_what_its_recipe_says(name: str) -> None:
    card, (recipe, seed) = load_card(name), find_recipe(name)
    assert card.name == name and card.seed == seed
    settings = asdict(recipe.objective)  # type: ignore[call-overload]
    told = {"objective": type(recipe.objective).__name__, **settings, "steps": recipe.steps}
    assert {key: card.training[key] for key in told} == told
    assert card.training["exemplars"] == EARLIER.get(name, recipe.exemplars)
    assert card.training["held_out"] == f"{recipe.data[0]}/{recipe.data[2]}"
    assert card.data == f"{recipe.data[0]}/{recipe.data[1]}"
    assert card.layer == recipe.layer
    assert card.input.size == (recipe.size, recipe.size)
    assert getattr(card.input, "threshold", None) == recipe.threshold
    assert card.curve[-1]["step"] == recipe.steps
    assert card.scores == {key: value for key, value in card.curve[-1].items() if key.startswith("held_out_")}
    assert card.seconds > 0 and card.versions["torch"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_lists_the_concepts_of_its_data(name: str, real_data: Any) -> None:
    card = load_card(name)
    data = card.data.split("/")[0]
    if data != "glyphs":
        real_data(data)
    assert set(card.concepts) == concepts(card.data)
    assert not set(card.concepts) & concepts(card.training["held_out"])


@pytest.mark.parametrize("name", ENCODING)
def test_a_shipped_space_keeps_its_promises(name: str) -> None:
    space, again = load_space(name), load_space(name)
    assert space.identity == again.identity
    images = images_for(space)
    features = space.encode(images, device="cpu")
    assert features.dtype == np.float32 and features.shape[0] == len(images)
    if load_card(name).layer == "feature":
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
    space = load_space("maml-omniglot-s0")
    for n in (1, 5):
        with pytest.raises(UserError, match="maml-omniglot-s0 normalises by the batch"):
            space.encode(images_for(space, n), device="cpu")


def test_shipped_spaces_are_all_different() -> None:
    assert len({load_space(name).identity for name in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("name", OMNIGLOT)
def test_a_critic_scores_on_omniglot_what_its_card_says(name: str, real_data: Any) -> None:
    """In bfloat16, on a CPU. A ProtoNet is tested in its last layer, a SimCLR in the 256-d one, as they were in training."""
    real_data("omniglot")
    card, data = load_card(name), omniglot()
    space = load_space(name, layer="last" if card.training["objective"] == "ProtoNet" else "feature")
    features = torch.from_numpy(space.encode(data, device="cpu"))
    rows = exemplars(card.training["exemplars"]) if card.training["exemplars"] else None
    seen = Images.of(np.zeros((len(data), 1, 1), np.uint8), data.concept.code, data.concept.names, rows)
    found = accuracies(features, seen, seeds.torch_rng("golden"))
    # random support was another one in training: three standard errors of the difference of two means of 20 rounds
    tolerance = {"accuracy_exemplar": 0.002, "accuracy_random": 0.01}
    for kind, accuracy in found.items():
        assert accuracy == pytest.approx(card.scores[f"held_out_{kind}"], abs=tolerance[kind])


def test_images_of_a_recipe_are_small_binary_and_have_exemplars() -> None:
    recipe = Recipe(ProtoNet(ways=8), ("glyphs", "weak-test", "weak-test"), 2, exemplars="simclr-glyphs-s0")
    data = make_images(recipe)
    assert data.shape == (1, 50, 50) and data.n_classes == 90 and data.held_out is not None
    assert set(data.pixels.unique().tolist()) == {0, 255}
    assert data.exemplar is not None and torch.equal(data.label[data.exemplar], torch.arange(90))


def test_what_cannot_be_trained_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exemplar.spaces.recipes.make_images", lambda recipe: pytest.fail("images were made"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="no GPU here"):
        train_space("simclr-glyphs-s0", tmp_path / "out", device="cuda")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        train_space("simclr-glyphs-s0", tmp_path / "file" / "out", device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
