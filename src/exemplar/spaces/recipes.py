"""How each space that ships was trained: its name says network or objective, data, variant and seed; here is the rest.

`exemplar spaces train NAME` follows a recipe from the data to weights and card; other rooms add recipes for networks of their
own in their `room.py`. A recipe's training needs only torch, so that `make_images` and `finish` can be done on one machine and
the training between them on another.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from exemplar import __version__, rooms
from exemplar.errors import UserError, unknown
from exemplar.files import check_folder
from exemplar.spaces import chosen
from exemplar.spaces.devices import find_device
from exemplar.spaces.objectives.classifier import Classifier
from exemplar.spaces.objectives.maml import Maml
from exemplar.spaces.objectives.oml import Oml
from exemplar.spaces.objectives.pretraining import Pretraining
from exemplar.spaces.objectives.protonet import ProtoNet
from exemplar.spaces.objectives.simclr import SimClr
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.training.loop import Trained, check_devices, train
from exemplar.spaces.training.objective import NamedObjective

if TYPE_CHECKING:
    from exemplar.spaces.inputs import Input

OMNIGLOT, GLYPHS = ("omniglot", "weak-train", "weak-test"), ("glyphs", "weak-train", "weak-test")
BACKGROUND = ("omniglot", "background", "evaluation")
ALL_OF_OMNIGLOT, ALL_OF_BACKGROUND = ("omniglot", "weak-train", None), ("omniglot", "background", None)
QUICKDRAW_ASIDE, QUICKDRAW_FS = ("quickdraw-fs", "aside", None), ("quickdraw-fs", "critics", None)
QUICKDRAW_PARTS = ("quickdraw-fs", "critics-parts", None)
SEEDS = 2**32  # a seed is one of so many
CIFAR_FS, FC100 = ("cifar-fs", "train", "val"), ("fc100", "train", "val")
# for continual few-shot learning: classes apart from the suites', networks of the literature
FOR_RECALL = "Nothing was chosen on data: the network is the literature's, rate and length were set beforehand"
OMNIGLOT_CFSL, ALL_OF_CIFAR_FS = ("omniglot", "cfsl-train", "cfsl-val"), ("cifar-fs", "train", None)


@dataclass(frozen=True)
class Recipe:
    """data: name, split to train on, split to evaluate on, None to hold nothing out; size: px; threshold: of binarising
    drawings, None for photographs; exemplars: the space whose class centres are the exemplars, where the objective asks for
    them and the data set comes without; chosen: what was chosen on which data, a sentence for the card; apart: whether what is
    evaluated on is left out of what is trained on, where it is part of it."""

    objective: NamedObjective
    data: tuple[str, str, str | None]
    steps: int
    size: int = 50
    threshold: float | None = 0.5
    exemplars: str | None = None
    chosen: str = ""
    apart: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, h, w) of an image."""
        return (3 if self.threshold is None else 1), self.size, self.size

    @property
    def held_out(self) -> str | None:
        """What is evaluated on, as in "omniglot/weak-val"."""
        return None if self.data[2] is None else f"{self.data[0]}/{self.data[2]}"

    @property
    def input(self) -> Input:
        """How images are made fit for the trained network."""
        from exemplar.spaces.inputs import DrawingInput, PhotoInput

        size = (self.size, self.size)
        return PhotoInput(size) if self.threshold is None else DrawingInput(size, self.threshold)

    def for_steps(self, steps: int) -> Recipe:
        """The same for another number of steps; a schedule that knows its end is stretched to it."""
        if steps < 1:
            raise UserError(f"training needs at least 1 step, not {steps}: leave steps out for the recipe's own")
        return replace(self, objective=self.objective.for_steps(steps), steps=steps)

    def holding_out(self, split: str) -> Recipe:
        """The same, trained without the concepts of another split of its data and evaluated on them: to choose by."""
        name, trained_on, _ = self.data
        return replace(self, data=(name, trained_on, split), apart=True, chosen="")

    def speed_options(self, device: str, n_devices: int = 1) -> dict[str, Any]:
        """What makes training fast where there is a GPU, as the objective knows best."""
        return {} if find_device(device).type == "cpu" else self.objective.speed_options(n_devices)


SIMCLR = Recipe(SimClr(), OMNIGLOT, steps=10_000, chosen=chosen.BEFORE)
PROTONET = Recipe(ProtoNet(), OMNIGLOT, steps=23_000, exemplars="simclr-omniglot-s0", chosen=chosen.BEFORE)
# The released code's views, by the rate and length chosen on weak-val; what is trained so sees nothing but its own loss.
RELEASED = Recipe(SimClr(views="coded", learning_rate=3e-4), ALL_OF_OMNIGLOT, steps=20_000, chosen=chosen.SIMCLR)
RELEASED_PROTONET = Recipe(
    ProtoNet(), ALL_OF_OMNIGLOT, steps=23_000, exemplars="simclr-omniglot-released-s0", chosen=chosen.PROTONET
)
RELEASED_MAML = replace(RELEASED_PROTONET, objective=Maml(), steps=4_000, chosen=chosen.MAML)
SKETCHES = SimClr(network="conv3-wide-linear", threshold=0.3)  # the paper's network for Quick, Draw!
QUICKDRAW_CLUSTERS = Recipe(
    replace(SKETCHES, views="coded", learning_rate=3e-4),
    QUICKDRAW_ASIDE,
    steps=16_000,
    size=48,
    threshold=0.3,
    chosen=chosen.QUICKDRAW_CLUSTERS,
)
QUICKDRAW_SIMCLR = replace(QUICKDRAW_CLUSTERS, data=QUICKDRAW_FS, chosen=chosen.QUICKDRAW_SIMCLR)
SKETCH_PROTONET = ProtoNet(views="coded", threshold=0.3, halve_after=9)  # every drawing has a view of its own
QUICKDRAW_PROTONET = replace(
    QUICKDRAW_SIMCLR,
    objective=SKETCH_PROTONET,
    data=QUICKDRAW_PARTS,
    steps=8_000,
    chosen=chosen.QUICKDRAW_PROTONET,
)
QUICKDRAW_POSES = (
    replace(  # as published: the exemplar as support, and a pose of its own tells each class from the others
        QUICKDRAW_PROTONET,
        objective=ProtoNet(new_classes="quickdraw-protonet", halve_after=9),
        data=QUICKDRAW_FS,
        exemplars="simclr-quickdraw-clusters-s0",
        chosen="",
    )
)


def _resnet(recipe: Recipe) -> Recipe:
    """By the same recipe, the network that was published."""
    assert isinstance(recipe.objective, ProtoNet)
    return replace(recipe, objective=replace(recipe.objective, network="resnet"), chosen=chosen.QUICKDRAW_RESNET)


WRN = Recipe(Pretraining(), CIFAR_FS, steps=10_000, size=32, threshold=None)

META = Maml(network="conv4-64", ways=15, tasks=2, test_steps=5)
PLUS = replace(META, multi_step=True, learned_rates=True)  # MAML++
META_OMNIGLOT = Recipe(META, OMNIGLOT_CFSL, steps=3_000, size=28, chosen=FOR_RECALL)
META_CIFAR_FS = Recipe(META, ALL_OF_CIFAR_FS, steps=3_000, size=32, threshold=None, chosen=FOR_RECALL)


def _released(views: str) -> Recipe:
    return replace(RELEASED, objective=SimClr(views=views, learning_rate=3e-4), chosen=chosen.SIMCLR_OTHER_VIEWS)


RECIPES = {
    "simclr-omniglot-released": RELEASED,
    "simclr-omniglot-released-light": _released("coded-light"),
    "simclr-omniglot-released-strong": _released("coded-strong"),
    "protonet-omniglot-released": RELEASED_PROTONET,
    "protonet-omniglot-any": replace(
        RELEASED_PROTONET, exemplars=None
    ),  # any drawing as support, another one each time
    "maml-omniglot-released": RELEASED_MAML,
    "maml-omniglot-released-relu": replace(RELEASED_MAML, objective=Maml(network="conv4")),
    # for the official one-shot runs, whose characters are all in `evaluation` and whose support is any drawing
    "protonet-omniglot-background-chosen": replace(
        RELEASED_PROTONET, data=ALL_OF_BACKGROUND, exemplars=None, steps=16_000, chosen=chosen.BACKGROUND
    ),
    # the views of the text, and what was set before there was validation data
    "simclr-omniglot": SIMCLR,
    "simclr-omniglot-light": replace(SIMCLR, objective=SimClr(views="light")),
    "simclr-omniglot-strong": replace(SIMCLR, objective=SimClr(views="strong")),
    "simclr-omniglot-coded": replace(SIMCLR, objective=SimClr(views="coded")),
    "simclr-omniglot-relu": replace(SIMCLR, objective=SimClr(network="conv4")),  # Table S1 to the letter
    "protonet-omniglot": PROTONET,
    "protonet-omniglot-relu": replace(PROTONET, objective=ProtoNet(network="conv4")),
    "protonet-omniglot-background": replace(PROTONET, data=BACKGROUND, exemplars=None, steps=16_000),
    "simclr-glyphs": replace(SIMCLR, data=GLYPHS, chosen=""),
    "protonet-glyphs": replace(PROTONET, data=GLYPHS, exemplars="simclr-glyphs-s0", chosen=""),
    "simclr-quickdraw-clusters": QUICKDRAW_CLUSTERS,  # what QuickDraw-FS is clustered by
    "simclr-quickdraw-nearest": QUICKDRAW_SIMCLR,
    "protonet-quickdraw-parts": QUICKDRAW_PROTONET,
    "protonet-quickdraw-parts-resnet": _resnet(QUICKDRAW_PROTONET),
    "protonet-quickdraw-concepts": replace(QUICKDRAW_PROTONET, data=QUICKDRAW_FS, chosen=""),
    "protonet-quickdraw-poses": QUICKDRAW_POSES,
    "protonet-quickdraw-poses-resnet": _resnet(QUICKDRAW_POSES),
    "wrn28-4-cifar-fs": WRN,
    "wrn28-4-cifar-fs-unmixed": replace(WRN, objective=Pretraining(mixed=0.0)),  # what mix-up is compared with
    "wrn28-10-cifar-fs": replace(WRN, objective=Pretraining(backbone="wrn28-10")),
    "densenet-fc100": replace(WRN, objective=Pretraining(backbone="densenet", mixed=0.0), data=FC100),
    "protonet-omniglot-cfsl": Recipe(
        ProtoNet(network="conv4-64", ways=30, queries=3, halve_after=4, epoch=500),
        OMNIGLOT_CFSL,
        steps=3_000,
        size=28,
        chosen=FOR_RECALL,
    ),
    "conv4-64-omniglot-cfsl": Recipe(
        Classifier(network="conv4-64", epoch=500, halve_after=2),
        ("omniglot", "cfsl-train", None),
        steps=3_000,
        size=28,
        chosen=FOR_RECALL,
    ),
    "protonet-cifar-fs": Recipe(
        ProtoNet(network="conv4-64", ways=20, shots=2, queries=4, halve_after=4, epoch=500),
        ALL_OF_CIFAR_FS,
        steps=3_000,
        size=32,
        threshold=None,
        chosen=FOR_RECALL,
    ),
    "maml-omniglot-cfsl": META_OMNIGLOT,
    "maml-cifar-fs": META_CIFAR_FS,
    "maml-plus-omniglot-cfsl": replace(META_OMNIGLOT, objective=PLUS),
    "maml-plus-cifar-fs": replace(META_CIFAR_FS, objective=PLUS),
    "maml-dense-cifar-fs": replace(META_CIFAR_FS, objective=replace(PLUS, network="densenet", adapted="block3")),
    "oml-omniglot-cfsl": replace(META_OMNIGLOT, objective=Oml()),
    "oml-cifar-fs": replace(META_CIFAR_FS, objective=Oml()),
    "conv4-64-cifar-fs": replace(WRN, objective=Pretraining(backbone="conv4-64", mixed=0.0, steps=3_000), steps=3_000),
}


def list_recipes() -> dict[str, Recipe]:
    """Every recipe by name, those of other rooms too."""
    return rooms.collect("recipes")


def find_recipe(name: str) -> tuple[Recipe, int]:
    """`simclr-omniglot-s2` → its recipe and seed 2; without a number the seed is 0."""
    recipes: Mapping[str, Recipe] = RECIPES
    stem, digits = split_name(name, recipes)
    if stem not in recipes:
        recipes = list_recipes()
        stem, digits = split_name(name, recipes)
    if stem not in recipes:
        raise unknown("recipe", stem, recipes)
    if len(digits) > len(str(SEEDS)) or int(digits) >= SEEDS or digits != str(int(digits)):
        given = digits if len(digits) <= 20 else f"{digits[:20]}…"
        raise UserError(f"{given} is no seed of {stem}: write a whole number below {SEEDS}, without leading zeros")
    return recipes[stem], int(digits)


def split_name(name: str, recipes: Mapping[str, Recipe]) -> tuple[str, str]:
    """`simclr-omniglot-s2` → `simclr-omniglot` and `2`."""
    if name not in recipes and (numbered := re.fullmatch(r"(.+)-s([0-9]+)", name)):
        return numbered[1], numbered[2]
    return name, "0"


def find_room(name: str) -> str:
    """The room whose recipe this is; what nobody knows makes a space."""
    room = rooms.owner("recipes", split_name(name, list_recipes())[0])
    return "spaces" if room is None else room.name


def make_images(recipe: Recipe, *, device: str = "auto") -> TrainingImages:
    """The recipe's data, resized and binarised, with exemplars where it wants them, and what is held out.

    device: where the space that chooses the exemplars encodes the images.
    """
    from exemplar.images.catalogue import load
    from exemplar.progress import progress
    from exemplar.spaces.cards import same_names
    from exemplar.spaces.encoding import encode_kept
    from exemplar.spaces.exemplars import central_exemplars
    from exemplar.spaces.zoo import load_space

    name, *both = recipe.data
    splits = [split for split in both if split is not None]
    parts: list[TrainingImages | None] = [None]
    space = None if recipe.exemplars is None else load_space(recipe.exemplars)
    label = f"images of {name}" + ("" if space is None else f", exemplars by {space.name}")
    with progress(label, total=len(splits)) as advance:
        for split in reversed(splits):
            data = load(name, split, size=recipe.size if name == "quickdraw" else None)
            if recipe.apart and (held_out := parts[-1]) is not None:
                same = same_names(
                    held_out.names, data.concepts, data.name, listed=False
                )  # whole categories of sketches
                data = data.only(concepts=sorted(set(data.concepts) - same))
            data = data.resized(recipe.size, binarise=recipe.threshold)
            rows = data.exemplars
            if rows is None and space is not None:
                rows = central_exemplars(encode_kept(space, data, device=device), data.concept.code)
            parts.append(
                TrainingImages.of(data.images, data.concept.code, data.concept.names, rows, held_out=parts[-1])
            )
            advance()
    assert parts[-1] is not None
    return parts[-1]


def train_space(
    name: str,
    out: Path,
    *,
    work: Path | None = None,
    device: str = "auto",
    devices: int = 1,
    steps: int | None = None,
    every: int = 500,
    hold_out: str | None = None,
) -> Trained:
    """Follow a recipe to weights and card in the folder `out`; `work` keeps checkpoints, so that a killed training resumes.

    steps: other than the recipe's, for a try; the card says so. devices, every: as in `train`. hold_out: a split of the
    recipe's data whose concepts are left out of the training and evaluated on.
    """
    recipe, seed = find_recipe(name)
    if hold_out is not None:
        recipe = recipe.holding_out(hold_out)
    if steps is not None:
        recipe = recipe.for_steps(steps)
    check_devices(device, devices)
    for folder in (out, work or out):
        check_folder(folder)
    images = make_images(recipe, device=device)
    trained = train(
        recipe.objective, images, steps=recipe.steps, seed=seed, folder=work, device=device, devices=devices, every=every,
        **recipe.speed_options(device, devices),
    )  # fmt: skip
    finish(name, recipe, seed, trained, out, concepts=images.names, machine=describe_machine(device, devices))
    return trained


def finish(
    name: str,
    recipe: Recipe,
    seed: int,
    trained: Trained,
    out: Path,
    *,
    concepts: Sequence[str],
    machine: str,
    torch_version: str = torch.__version__,
    room: str = "",
) -> None:
    """Weights and card of a trained network into a folder; the card's scores are the last ones on what was held out.

    concepts: what it was trained on, the names of its `TrainingImages`; machine: where; room: whose recipe it is, where
    its name does not tell.
    """
    from exemplar.spaces.cards import Card
    from exemplar.spaces.zoo import save_space

    kept = recipe.objective.part_to_keep(trained.network, recipe.shape)
    card = Card(
        name=name,
        architecture=kept.architecture,
        config=kept.config,
        layer=recipe.objective.layer,
        input=recipe.input,
        data="/".join(word for word in recipe.data[:2] if word),  # a file has no split
        concepts=tuple(concepts),
        seed=seed,
        training={
            "objective": recipe.objective.name, **asdict(recipe.objective),  # type: ignore[call-overload]
            "steps": recipe.steps, "exemplars": recipe.exemplars, "held_out": recipe.held_out, "chosen": recipe.chosen,
            "machine": machine,
        },
        curve=trained.curve,
        scores={key: value for key, value in trained.curve[-1].items() if key.startswith("held_out_")},
        seconds=round(trained.seconds, 1),
        versions={"exemplar": __version__, "torch": str(torch_version), "numpy": np.__version__},
        room=room or find_room(name),
    )  # fmt: skip
    save_space(out, kept.module, card)


def describe_machine(device: str, devices: int = 1) -> str:
    """Where a training ran, for its card."""
    place = find_device(device)
    one = torch.cuda.get_device_name(place) if place.type == "cuda" else f"CPU, {platform.machine()}"
    return one if devices == 1 else f"{devices} × {one}"
