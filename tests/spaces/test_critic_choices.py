"""Critics chosen before the test is seen: recipes that hold nothing out, what cards say, and the rule by which was chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exemplar.draw.default_critics import DEFAULTS
from exemplar.images.catalogue import load
from exemplar.images.lists import read_list
from exemplar.images.omniglot import read_census
from exemplar.images.quickdraw_fs import read_concepts
from exemplar.spaces.objectives.maml import Maml
from exemplar.spaces.objectives.protonet import ProtoNet
from exemplar.spaces.objectives.simclr import SimClr
from exemplar.spaces.recipes import RECIPES, Recipe, find_recipe, make_images, train_space
from exemplar.spaces.studies.critic_choices import Candidate, Family, choose, load_families, within_noise
from exemplar.spaces.zoo import list_spaces, load_card

SHIPPED = list_spaces()
OMNIGLOT = [name for name in SHIPPED if load_card(name).data.startswith("omniglot/")]
NEW = [name for name in OMNIGLOT if load_card(name).training["held_out"] is None]
NOTHING = Recipe(ProtoNet(ways=8), ("glyphs", "weak-test", None), 2, size=16, chosen="its rate, on glyphs/weak-val")


def test_a_recipe_can_hold_nothing_out_and_its_card_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "tiny", NOTHING)
    trained = train_space("tiny-s3", tmp_path, device="cpu")
    card = load_card("tiny-s3", tmp_path)
    assert card.training["held_out"] is None and card.training["chosen"] == "its rate, on glyphs/weak-val"
    assert card.scores == {} and set(card.curve[-1]) == {"step", "loss", "accuracy"}
    assert trained.curve == card.curve and set(card.concepts) == set(load("glyphs", "weak-test").concepts)


def test_what_a_choice_is_made_on_is_left_out_of_the_training() -> None:
    recipe = replace(NOTHING, data=("glyphs", "background", None)).holding_out("weak-test")
    images = make_images(recipe, device="cpu")
    assert images.held_out is not None and not set(images.names) & set(images.held_out.names)
    assert set(images.held_out.names) == set(load("glyphs", "weak-test").concepts)
    assert set(images.names) == set(load("glyphs", "background").concepts) - set(images.held_out.names)
    assert len(images.names) < load("glyphs", "background").n_concepts  # some had to go
    assert recipe.chosen == ""  # a candidate is not what was chosen


def test_a_candidate_is_trained_by_command_without_what_it_is_judged_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "tiny", replace(NOTHING, data=("glyphs", "background", None), steps=1))
    train_space("tiny", tmp_path, device="cpu", hold_out="weak-test")
    card = load_card("tiny", tmp_path)
    assert card.training["held_out"] == "glyphs/weak-test" and "held_out_accuracy_random" in card.scores
    assert not set(card.concepts) & set(load("glyphs", "weak-test").concepts)


@pytest.mark.parametrize("name", OMNIGLOT)
def test_every_card_of_an_omniglot_critic_says_what_was_chosen_on_which_data(name: str) -> None:
    said = load_card(name).training["chosen"]
    assert said == find_recipe(name)[0].chosen
    if "/cfsl-" in load_card(name).data:  # a network of recall, not a critic
        assert said.startswith("Nothing was chosen on data")
    elif name in NEW:
        assert "omniglot/weak-val" in said or "omniglot/background-val" in said
    else:
        assert said.startswith("Nothing was chosen on validation data") and "test split" in said


@pytest.mark.parametrize("name", NEW)
def test_what_is_trained_by_a_chosen_recipe_saw_nothing_but_its_own_loss(name: str) -> None:
    card = load_card(name)
    assert card.scores == {} and {key for entry in card.curve for key in entry} == {"step", "loss", "accuracy"}


def test_the_default_critics_ship_and_those_of_omniglot_were_chosen_before_the_test_was_seen() -> None:
    for family, default in DEFAULTS.items():
        assert {f"{default.see}-s0", f"{default.recognise}-s0", default.centre} <= set(SHIPPED), family
    mine = DEFAULTS["omniglot"]
    for stem in (mine.see, mine.recognise):
        assert {f"{stem}-s{seed}" for seed in range(3)} <= set(NEW)
    assert RECIPES[mine.recognise].exemplars == mine.centre  # it was trained with the exemplars it is asked with


def test_weights_stay_small() -> None:
    from exemplar.spaces.zoo import shipped

    assert sum(path.stat().st_size for path in shipped().rglob("*") if path.is_file()) < 48e6


def family(*means: float, before: int = 0, other_seeds: tuple[float, ...] = (), noise: float = 0.001) -> Family:
    """Candidates that differ from each other by these means and, class by class, by a little noise of mean 0."""
    wave = noise * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    candidates = tuple(
        Candidate((f"rate {k}", f"length {k % 2}"), mean + wave * (k % 3)) for k, mean in enumerate(means)
    )
    return Family("X", "x/val", "random drawing", "output", candidates[before].settings, other_seeds, candidates)


def test_what_was_used_before_stays_where_it_is_within_noise_of_the_best() -> None:
    near = family(0.9, 0.9004, before=0)
    assert near.best.settings[0] == "rate 1" and choose(near).settings[0] == "rate 0"
    far = family(0.9, 0.95, before=0)
    assert choose(far).settings[0] == "rate 1"


def test_else_the_one_that_differs_in_the_fewest_settings_is_taken() -> None:
    found = family(0.8, 0.9503, 0.95, before=0)  # rate 2 has the length used before, and is within noise of the best
    assert within_noise(found, found.candidates[2]) and choose(found).settings == ("rate 2", "length 0")


def test_noise_between_seeds_counts_too() -> None:
    steady = family(0.9, 0.91, before=0, other_seeds=(0.9, 0.9001))
    shaky = family(0.9, 0.91, before=0, other_seeds=(0.885, 0.915))
    assert choose(steady).settings[0] == "rate 1" and choose(shaky).settings[0] == "rate 0"


def test_what_ships_is_what_the_rule_chooses_among_the_kept_candidates() -> None:
    chosen = {each.name: choose(each).settings for each in load_families()}
    assert chosen["SimCLR"] == ("rate 3e-4", "no ReLU", "20,000 steps")
    simclr = RECIPES["simclr-omniglot-released"]
    assert simclr.objective == SimClr(views="coded", learning_rate=3e-4) and simclr.steps == 20_000
    assert chosen["ProtoNet"] == chosen["ProtoNet, any support"] == ("rate 1e-3", "no ReLU")
    assert RECIPES["protonet-omniglot-released"].objective == RECIPES["protonet-omniglot-any"].objective == ProtoNet()
    assert chosen["ProtoNet for the official runs"] == ("rate 1e-3", "no ReLU", "16,000 steps")
    background = RECIPES["protonet-omniglot-background-chosen"]
    assert background.objective == ProtoNet() and background.steps == 16_000
    assert chosen["MAML"] == ("inner rate 0.1",) and RECIPES["maml-omniglot-released"].objective == Maml()
    assert chosen["SimCLR of Quick, Draw!"] == ("released views", "rate 3e-4", "16,000 steps")
    sketches = RECIPES["simclr-quickdraw-nearest"]
    assert sketches.objective == RECIPES["simclr-quickdraw-clusters"].objective and sketches.steps == 16_000
    assert (sketches.objective.views, sketches.objective.learning_rate) == ("coded", 3e-4)  # type: ignore[attr-defined]
    assert chosen["SimCLR of QuickDraw-FS"] == ("conv3-wide", "released views", "rate 3e-4")
    assert chosen["ProtoNet of QuickDraw-FS"][0::2] == ("conv4", "divided clusters")
    assert chosen["ProtoNet of QuickDraw-FS"][1::2] == ("a view per drawing", "trained after any drawing")
    parts = RECIPES["protonet-quickdraw-parts"]
    assert parts.exemplars is None and parts.data == ("quickdraw-fs", "critics-parts", None)
    assert parts.objective == ProtoNet(views="coded", threshold=0.3, halve_after=9)


def test_every_candidate_has_an_accuracy_for_each_class_of_a_validation_set() -> None:
    census, concepts = {alphabet.name: alphabet for alphabet in read_census()}, read_concepts()
    sizes = {
        "omniglot/weak-val": len(read_list("omniglot_weak_val")),
        "omniglot/background-val": sum(len(census[name].part) for name in read_list("omniglot_background_val")),
        "quickdraw/val": len(read_list("quickdraw_val")),
        "quickdraw-fs/critics-val": int(concepts.members("critics-val").sum()),
    }
    families = load_families()
    assert {each.data for each in families} == set(sizes)
    for each in families:
        lengths = {len(one.accuracy) for one in each.candidates if one.se is None}
        assert lengths == ({sizes[each.data]} if each.name != "MAML" else set()), each.name
