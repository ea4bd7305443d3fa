"""How it is seen: encoders, their training, and the spaces of features they turn images into.

import exemplar as ex

drawings = ex.load("glyphs", "weak-test")
space = ex.spaces.load("protonet-glyphs-s0")    # or efficientnet-lite0/block03, FOLDER/NAME, pixels
features = space.encode(drawings)               # one row per image
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from exemplar.options import Device, Option, Place, verb

if TYPE_CHECKING:
    from exemplar.answers import Answer
    from exemplar.images.concepts import ConceptSet
    from exemplar.spaces.ball import Ball, fit_ball
    from exemplar.spaces.cards import Card, check_unseen
    from exemplar.spaces.encoding import encode_all, encode_kept
    from exemplar.spaces.exemplars import central_exemplars, drawer_exemplars, random_exemplars
    from exemplar.spaces.inputs import DrawingInput, PhotoInput
    from exemplar.spaces.objectives.maml import Maml, adapt, logits
    from exemplar.spaces.objectives.protonet import ProtoNet
    from exemplar.spaces.objectives.simclr import SimClr
    from exemplar.spaces.projection import Dense, Sparse
    from exemplar.spaces.readouts import Readout, fit_lda, fit_logistic, fit_nearest_mean, fit_ridge
    from exemplar.spaces.recipes import Recipe
    from exemplar.spaces.space import NetworkSpace, PixelSpace, Space
    from exemplar.spaces.stages import encode_stages, list_stages
    from exemplar.spaces.training.images import TrainingImages
    from exemplar.spaces.training.loop import train as train_objective
    from exemplar.spaces.verbs import EncodedAnswer
    from exemplar.spaces.zoo import load_card, load_network, load_space, save_space

    Data = str | Path | ConceptSet
    Folder = str | Path | None
    Out = str | Path | None
else:  # what the command line parses
    Data = str
    Folder = str | None
    Out = Path

# Python-only names → the modules below this one that have them
LAZY = {
    "Ball": "ball",
    "Card": "cards",
    "Dense": "projection",
    "DrawingInput": "inputs",
    "Maml": "objectives.maml",
    "NetworkSpace": "space",
    "PhotoInput": "inputs",
    "PixelSpace": "space",
    "ProtoNet": "objectives.protonet",
    "Readout": "readouts",
    "Recipe": "recipes",
    "SimClr": "objectives.simclr",
    "Space": "space",
    "Sparse": "projection",
    "TrainingImages": "training.images",
    "adapt": "objectives.maml",
    "central_exemplars": "exemplars",
    "check_unseen": "cards",
    "drawer_exemplars": "exemplars",
    "encode_all": "encoding",
    "encode_kept": "encoding",
    "encode_stages": "stages",
    "fit_ball": "ball",
    "fit_lda": "readouts",
    "fit_logistic": "readouts",
    "fit_nearest_mean": "readouts",
    "fit_ridge": "readouts",
    "list_stages": "stages",
    "load_card": "zoo",
    "load_network": "zoo",
    "load_space": "zoo",
    "logits": "objectives.maml",
    "random_exemplars": "exemplars",
    "save_space": "zoo",
    "train_objective": "training.loop",
}

__all__ = [
    "Ball",
    "Card",
    "Dense",
    "DrawingInput",
    "Maml",
    "NetworkSpace",
    "PhotoInput",
    "PixelSpace",
    "ProtoNet",
    "Readout",
    "Recipe",
    "SimClr",
    "Space",
    "Sparse",
    "TrainingImages",
    "adapt",
    "card",
    "central_exemplars",
    "check_unseen",
    "drawer_exemplars",
    "encode",
    "encode_all",
    "encode_kept",
    "encode_stages",
    "fit_ball",
    "fit_lda",
    "fit_logistic",
    "fit_nearest_mean",
    "fit_ridge",
    "list_spaces",
    "list_stages",
    "load",
    "load_card",
    "load_network",
    "load_space",
    "logits",
    "random_exemplars",
    "save_space",
    "train",
    "train_objective",
]

Name = Annotated[
    str,
    Option(
        "A space (see `exemplar spaces list`), FOLDER/NAME for your own.",
        known="spaces",
        positional=True,
        metavar="NAME",
    ),
]


def load(name: Any, *, layer: str | None = None, projection: str | None = None) -> Space:
    """A space by name; its `encode` turns images into features.

    Args:
        name: one that ships (`list_spaces()`), FOLDER/NAME of one you trained, a stage of a pretrained network such as
            `efficientnet-lite0/block03`, `pixels`, `file.py:function` or `module:function` (images (n, h, w) float32 in
            [0, 1], ink 1, to features (n, d)), or an npz of features; also a function, a torch module or a Space itself.
        layer: another than the space's own; "" for the network's output.
        projection: of a stage of more than 2,048 features: sparse (the default), dense or none.

    Returns:
        A `Space`: `encode(images)` gives (n, d) float32, `identity` the name under which features are kept, `input` what it
        takes.

    >>> import exemplar as ex
    >>> ex.spaces.load("protonet-glyphs-s0").encode(ex.load("glyphs").subset(range(3))).shape
    (3, 256)
    """
    from exemplar.spaces.loading import find_space

    return find_space(name, layer, projection)


@verb
def list_spaces(
    folder: Annotated[
        Folder, Option("A folder of spaces that you trained, instead of those that ship.", positional=True)
    ] = None,
) -> Answer:
    """The spaces there are, by the names that other commands take; the pretrained stages, and the recipes to train more.

    >>> import exemplar as ex
    >>> "protonet-omniglot-s0" in [space["name"] for space in ex.spaces.list_spaces()["spaces"]]
    True
    """
    from exemplar.spaces.verbs import list_known

    return list_known(folder)


@verb
def card(
    name: Name,
    figure: Annotated[Place | None, Option("Write its learning curves as an SVG, too.")] = None,
) -> Answer:
    """What a space is: data and concepts it was trained on, configuration, seed, test numbers with 95 % intervals, time.

    >>> import exemplar as ex
    >>> ex.spaces.card("protonet-glyphs-s0")["data"]
    'glyphs/weak-train'
    """
    from exemplar.spaces.verbs import describe_card

    return describe_card(name, figure)


@verb
def train(
    name: Annotated[
        str, Option("A recipe with a seed, such as protonet-omniglot-s3.", known="recipes", positional=True)
    ],
    out: Annotated[str, Option("The folder for weights and card.")] = "spaces",
    steps: Annotated[int | None, Option("Other than the recipe's; a backbone's schedule follows.", low=1)] = None,
    every: Annotated[int, Option("Steps from one test and checkpoint to the next.", low=1)] = 500,
    device: Device = "auto",
    devices: Annotated[int, Option("How many GPUs or cores, each with batches of its own.", low=1)] = 1,
    hold_out: Annotated[
        str | None, Option("A split of its data to train without and evaluate on, such as weak-val.")
    ] = None,
) -> Answer:
    """Train a space by its recipe; a training that was stopped resumes.

    Returns:
        `values`: the last evaluation; `folder`: with weights and card, for `load("FOLDER/NAME")`; `figures`: learning curves.
    """
    from exemplar.spaces.verbs import train_by_recipe

    return train_by_recipe(name, out, steps=steps, every=every, device=device, devices=devices, hold_out=hold_out)


@verb
def encode(
    name: Annotated[
        str,
        Option(
            "A space, FOLDER/NAME for your own, or a stage such as efficientnet-lite0/block03.",
            known="spaces",
            positional=True,
        ),
    ],
    data: Annotated[Data, Option("A data set, a folder of images, or an npz file.", known="data")],
    split: Annotated[str | None, Option("Which part of the data set.")] = None,
    layer: Annotated[str | None, Option("Another layer than the space's own.")] = None,
    projection: Annotated[
        str | None, Option("Of a stage of more than 2,048 features: sparse (the default), dense or none.")
    ] = None,
    out: Annotated[Out, Option("The npz to write: features, concept, group, maker.")] = Path("features.npz"),
    device: Device = "auto",
) -> EncodedAnswer:
    """Features of a data set in a space, as an npz; what was stopped resumes.

    Returns:
        `features`: (n, d) float32, one row per image; `out=None` writes no file.

    >>> import exemplar as ex
    >>> ex.spaces.encode("pixels", ex.load("glyphs").subset(range(3)), out=None).features.shape
    (3, 768)
    """
    from exemplar.spaces.verbs import encode_data

    return encode_data(name, data, split=split, layer=layer, projection=projection, out=out, device=device)


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'exemplar.spaces' has no attribute {name!r}")
    module = import_module(f"exemplar.spaces.{LAZY[name]}")
    return getattr(module, "train" if name == "train_objective" else name)


def __dir__() -> list[str]:
    return sorted(__all__)
