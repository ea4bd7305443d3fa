"""The shipped spaces: weights as bfloat16 safetensors, each with a card that says what it is and what it has seen.

A folder of spaces holds NAME.safetensors, NAME.json (the card), and concepts/DIGEST.json: the concepts a space was trained
on, written once however many spaces saw the same. Whatever else lies there is no space.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from exemplar import seeds
from exemplar.errors import UserError, shortened, unknown
from exemplar.files import first_line, whole_file
from exemplar.spaces.inputs import DrawingInput, Input, PhotoInput
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.stages import is_nearly_pretrained, is_pretrained, unknown_network

FORMAT = 1
# Imported when one is asked for. The card's config are the constructor's arguments.
ARCHITECTURES = {
    "conv4": "exemplar.spaces.networks.conv4:Conv4",
    "conv4-linear": "exemplar.spaces.networks.conv4:Conv4Linear",
    "conv3-wide": "exemplar.spaces.networks.quickdraw:Conv3",
    "conv3-wide-linear": "exemplar.spaces.networks.quickdraw:Conv3Linear",
    "resnet": "exemplar.spaces.networks.quickdraw:ResNet",
    "maml": "exemplar.spaces.objectives.maml:learner",
    "wide-resnet": "exemplar.spaces.networks.wide_resnet:WideResNet",
    "densenet": "exemplar.spaces.networks.densenet:DenseNet",
    "conv4-64": "exemplar.spaces.objectives.pretraining:Conv64",
}
INPUTS: dict[str, type[Input]] = {"drawing": DrawingInput, "photo": PhotoInput}
SAME_IMAGES = {"fc100": "cifar-fs"}  # data sets that are splits of the same images under the same names


@dataclass(frozen=True)
class Card:
    """What a space is and where it comes from.

    architecture, config: name in ARCHITECTURES and constructor's arguments; layer: the one meant unless another is asked for;
    data, concepts: what it was trained on, as in "omniglot/weak-train", and every concept of it; training: objective and
    settings; curve: the numbers at each look, by name, "step" among them; scores: test numbers by name, …_se their
    standard errors; seconds: of training; versions: of what made it.
    """

    name: str
    architecture: str
    config: dict[str, Any]
    layer: str
    input: Input
    data: str
    concepts: tuple[str, ...]
    seed: int
    training: dict[str, Any]
    curve: list[dict[str, float]]
    scores: dict[str, float]
    seconds: float
    versions: dict[str, str]

    def __post_init__(self) -> None:
        if not _are_numbers(self.scores):
            raise UserError("the scores on a card must be finite numbers by name")
        if not all(_are_numbers(look) and "step" in look for look in self.curve):
            raise UserError("each look of a card's curve must be finite numbers by name, its step among them")


# of the fields that JSON holds as they are
TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str, "architecture": str, "config": dict, "layer": str, "data": str, "seed": int, "training": dict,
    "curve": list, "scores": dict, "seconds": (int, float), "versions": dict,
}  # fmt: skip


def shipped() -> Path:
    """The folder of the spaces that come with the package."""
    return Path(str(resources.files("exemplar"))) / "weights"


def list_spaces(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the spaces in a folder (those shipped): of what has both weights and a card."""
    place = shipped() if folder is None else folder
    if not os.path.isdir(place):  # noqa: PTH112 (which knows names too long for a file system, and says no)
        raise UserError(f"there is no folder {place}: give one with spaces that you trained")
    cards, weights = ({path.stem for path in place.glob(f"*{ending}")} for ending in (".json", ".safetensors"))
    return tuple(sorted(cards & weights))


def load_card(name: str, folder: Path | None = None) -> Card:
    """What the card of a space says. name, folder: as in `load_space`."""
    return _read_card(*_find(name, folder))[0]


def load_space(name: str, *, layer: str | None = None, folder: Path | None = None) -> NetworkSpace:
    """A space by name: one that ships, one in a folder, or FOLDER/NAME, which is then what it is called.

    layer: another than its card's, "" for the output.
    """
    stem, place = _find(name, folder)
    card, digest = _read_card(stem, place)
    path = place / f"{stem}.safetensors"
    if not path.is_file():
        raise UserError(f"there is no {path}: the space {stem} has a card but no weights, install or train it again")
    try:
        content = path.read_bytes()
        weights = safetensors.torch.load(content)
    except (OSError, safetensors.SafetensorError, ValueError, KeyError) as problem:
        raise UserError(
            f"{path} is damaged or no safetensors ({first_line(problem)}): install or train it again"
        ) from problem
    if _digest(card, content) != digest:
        raise UserError(
            f"{path} and the card beside it do not belong together (the card was written for other weights, or for another "
            "architecture, config, layer or input): install or train the space again"
        )
    return replace(_assemble(card, weights, card.layer if layer is None else layer, str(path)), name=name)


def save_space(folder: Path, network: nn.Module, card: Card) -> None:
    """Write weights (floats as bfloat16) and card. Nothing is written that `load_space` would refuse."""
    if not card.name or Path(card.name).name != card.name or card.name.startswith("."):
        raise UserError(f"a space cannot be called {card.name!r}: use letters, digits and dashes")
    weights = {
        name: tensor.detach().to("cpu", torch.bfloat16 if tensor.is_floating_point() else tensor.dtype, copy=True)
        for name, tensor in network.state_dict().items()
    }
    _assemble(card, weights, card.layer, "the network")
    content = safetensors.torch.save({name: tensor.contiguous() for name, tensor in weights.items()})
    concepts = sorted(set(card.concepts))
    kind = next(kind for kind, cls in INPUTS.items() if isinstance(card.input, cls))
    try:
        page = {name: getattr(card, name) for name in TYPES} | {
            "format": FORMAT,
            "weights": _digest(card, content),
            "input": {"kind": kind, **asdict(card.input)},
            "concepts": {"digest": seeds.digest(concepts), "n": len(concepts)},
        }
        text = json.dumps(page, indent=1, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise UserError(f"the card of {card.name} cannot be written as JSON: {first_line(problem)}") from problem
    _write(folder / "concepts" / f"{seeds.digest(concepts)}.json", json.dumps(concepts, indent=0).encode())
    _write(folder / f"{card.name}.safetensors", content)
    _write(folder / f"{card.name}.json", text.encode())


def check_unseen(card: Card, concepts: Iterable[str], data: str, *, allow_seen: bool = False) -> int:
    """How many of these concepts of a data set ("omniglot/weak-test") the space was trained on; any is the user's mistake
    unless seen ones are allowed."""
    asked = set(concepts)
    seen = sorted(asked & set(card.concepts)) if _family(data) == _family(card.data) else []
    if seen and not allow_seen:
        raise UserError(
            f"{card.name} was trained on {len(seen)} of these {len(asked)} concepts of {data} ({shortened(seen, 3)}): use a "
            f"space trained on others, or --allow-seen, which the result then says"
        )
    return len(seen)


def build_network(architecture: str, config: Mapping[str, Any]) -> nn.Module:
    """A fresh network by the name of its architecture; torch's own generator is left as it was."""
    if architecture not in ARCHITECTURES:
        raise unknown("architecture", architecture, ARCHITECTURES)
    module, _, name = ARCHITECTURES[architecture].partition(":")
    make = getattr(import_module(module), name)
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("error", "Initializing zero-element tensors")  # a network of which a part is not there
        try:
            network: nn.Module = make(**config)
        except (TypeError, ValueError, RuntimeError, UserWarning) as problem:
            settings = ", ".join(f"{key}={value}" for key, value in config.items())
            raise UserError(f"{architecture} cannot be built with {settings} ({first_line(problem)})") from problem
    return network


def _assemble(card: Card, weights: Mapping[str, Tensor], layer: str, source: str) -> NetworkSpace:
    """The card's network with these weights in it, if they fit."""
    network = build_network(card.architecture, card.config)
    wanted = network.state_dict()
    odd = sorted(
        name
        for name in wanted.keys() | weights.keys()
        if name not in wanted or name not in weights or wanted[name].shape != weights[name].shape
    )
    if odd:
        raise UserError(
            f"{source} does not hold the weights of a {card.architecture} as the card of {card.name} describes it: "
            f"{shortened(odd, 3)} missing, too many or of another shape"
        )
    broken = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    if broken:
        raise UserError(f"{source} holds NaN or infinite weights ({shortened(broken, 3)}): train {card.name} again")
    network.load_state_dict(dict(weights))
    network.eval().requires_grad_(False)
    return NetworkSpace(card.name, network, card.input, layer, card=card)


def _digest(card: Card, content: bytes) -> str:
    """Of all that decides what features are: the file of the weights, and what the card says is done with them."""
    return seeds.digest(content, card.architecture, card.config, card.layer, card.input)


def _are_numbers(values: object) -> bool:
    """Whether this is a dict of finite numbers."""
    return isinstance(values, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300
        for value in values.values()
    )


def _find(name: str, folder: Path | None) -> tuple[str, Path]:
    """The name of a space within its folder, and the folder."""
    if folder is not None:
        return name, folder
    if is_pretrained(name):
        raise UserError(
            f"{name} is no space with a card but a pretrained network or a stage of one: encode with NETWORK/LAYER, as in "
            "efficientnet-lite0/block03"
        )
    path = Path(name)
    if is_nearly_pretrained(name) and not ("/" in name and os.path.isdir(path.parent)):  # noqa: PTH112 (as above)
        raise unknown_network(name.partition("/")[0])
    if "/" not in name:
        return name, shipped()
    if not os.path.isdir(path.parent):  # noqa: PTH112 (as above)
        raise UserError(
            f"there is no folder {path.parent}: name a space that ships, FOLDER/NAME of one you trained, or NETWORK/LAYER of a "
            "pretrained network, as in efficientnet-lite0/block03"
        )
    return path.name, path.parent


def _read_card(name: str, folder: Path) -> tuple[Card, str]:
    """The card, and the digest it was written with."""
    path = folder / f"{name}.json"
    if path.name != f"{name}.json" or not os.path.isfile(path):  # noqa: PTH113 (as above)
        raise unknown("space" if folder == shipped() else f"space in {folder}", name, list_spaces(folder))
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
        if (version := page["format"]) == FORMAT:
            return _parse_card(page, name, folder / "concepts"), str(page["weights"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as problem:
        raise UserError(
            f"the card {path} is damaged ({first_line(problem)}): install or train the space again"
        ) from problem
    raise UserError(f"the card {path} has format {version}, this version reads {FORMAT}: update exemplar")


def _parse_card(page: dict[str, Any], name: str, lists: Path) -> Card:
    """page: a card as JSON holds it; lists: the folder with the concepts. What is wrong raises whatever it raises."""
    for key, kind in TYPES.items():
        if not isinstance(page[key], kind):
            raise TypeError(f"{key} is {page[key]!r}")
    if page["name"] != name:
        raise ValueError(f"it is the card of {page['name']}")
    settings: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in page["input"].items() if key != "kind"
    }
    seen = INPUTS[page["input"]["kind"]](**settings)
    digest = page["concepts"]["digest"]
    concepts = json.loads((lists / f"{digest}.json").read_text(encoding="utf-8"))
    if seeds.digest(concepts) != digest or not all(isinstance(concept, str) for concept in concepts):
        raise ValueError("its list of concepts was altered")
    return Card(input=seen, concepts=tuple(concepts), **{key: page[key] for key in TYPES})


def _family(data: str) -> str:
    """Where concepts have one name space: the data set without its split."""
    name = data.partition("/")[0]
    return SAME_IMAGES.get(name, name)


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as part:
        part.write_bytes(content)
