"""The shipped spaces: weights as bfloat16 safetensors, each with a card that says what it is and what it has seen.

A folder of spaces holds NAME.safetensors, NAME.json (the card), and concepts/DIGEST.json: the concepts a space was trained
on, written once however many spaces saw the same.
"""

from __future__ import annotations

import json
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

FORMAT = 1
# Imported when one is asked for. The card's config are the constructor's arguments.
ARCHITECTURES = {
    "conv4": "exemplar.spaces.conv4:Conv4",
    "conv4-linear": "exemplar.spaces.conv4:Conv4Linear",
    "conv3-wide": "exemplar.spaces.quickdraw_networks:Conv3",
    "conv3-wide-linear": "exemplar.spaces.quickdraw_networks:Conv3Linear",
    "resnet": "exemplar.spaces.quickdraw_networks:ResNet",
    "maml": "exemplar.spaces.meta:learner",
    "wide-resnet": "exemplar.spaces.wide_resnet:WideResNet",
    "densenet": "exemplar.spaces.densenet:DenseNet",
    "conv4-64": "exemplar.spaces.backbone:Conv64",
}
INPUTS: dict[str, type[Input]] = {"drawing": DrawingInput, "photo": PhotoInput}
SAME_IMAGES = {"fc100": "cifar-fs"}  # data sets that are splits of the same images under the same names


@dataclass(frozen=True)
class Card:
    """What a space is and where it comes from.

    architecture, config: name in ARCHITECTURES and constructor's arguments; layer: the one meant unless another is asked for;
    data, concepts: what it was trained on, as in "omniglot/weak-train", and every concept of it; training: objective and
    settings; curve: one dict a line; scores: test numbers; seconds: of training; versions: of what made it.
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
    curve: list[dict[str, Any]]
    scores: dict[str, Any]
    seconds: float
    versions: dict[str, str]


# of the fields that JSON holds as they are
TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str, "architecture": str, "config": dict, "layer": str, "data": str, "seed": int, "training": dict,
    "curve": list, "scores": dict, "seconds": (int, float), "versions": dict,
}  # fmt: skip


def shipped() -> Path:
    """The folder of the spaces that come with the package."""
    return Path(str(resources.files("exemplar"))) / "weights"


def list_spaces(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the spaces in a folder (those shipped)."""
    return tuple(sorted(path.stem for path in (folder or shipped()).glob("*.json")))


def load_card(name: str, folder: Path | None = None) -> Card:
    """What the card of a space says. name, folder: as in `load_space`."""
    return _read_card(*_find(name, folder))[0]


def load_space(name: str, *, layer: str | None = None, folder: Path | None = None) -> NetworkSpace:
    """A space by name: one that ships, one in a folder, or FOLDER/NAME, which is then what it is called.

    layer: another than its card's, "" for the output.
    """
    stem, place = _find(name, folder)
    card, weights_digest = _read_card(stem, place)
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
    space = _assemble(card, weights, card.layer if layer is None else layer, str(path))
    if seeds.digest(content) != weights_digest:
        raise UserError(f"{path} does not belong to the card beside it: install or train the space again")
    return replace(space, name=name)


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
    page = {name: getattr(card, name) for name in TYPES} | {
        "format": FORMAT,
        "weights": seeds.digest(content),
        "input": {"kind": kind, **asdict(card.input)},
        "concepts": {"digest": seeds.digest(concepts), "n": len(concepts)},
    }
    try:
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
    with torch.random.fork_rng(devices=[]):
        try:
            network: nn.Module = make(**config)
        except (TypeError, ValueError, RuntimeError) as problem:
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
    return NetworkSpace(card.name, network, card.input, layer)


def _find(name: str, folder: Path | None) -> tuple[str, Path]:
    """The name of a space within its folder, and the folder."""
    path = Path(name)
    if folder is not None or path.name == name:
        return name, folder or shipped()
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent}: name a space that ships, or FOLDER/NAME of one you trained")
    return path.name, path.parent


def _read_card(name: str, folder: Path) -> tuple[Card, str]:
    """The card, and the digest of the weights it belongs to."""
    if name not in (known := list_spaces(folder)):
        raise unknown("space", name, known)
    path = folder / f"{name}.json"
    damaged = f"the card {path} is damaged: install or train the space again"
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
        if page["format"] != FORMAT:
            raise UserError(
                f"the card {path} has format {page['format']}, this version reads {FORMAT}: update exemplar"
            )
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
        concepts = json.loads((folder / "concepts" / f"{digest}.json").read_text(encoding="utf-8"))
        if seeds.digest(concepts) != digest:
            raise ValueError("its list of concepts was altered")
        card = Card(input=seen, concepts=tuple(concepts), **{key: page[key] for key in TYPES})
        return card, str(page["weights"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise UserError(f"{damaged} ({first_line(problem)})") from problem


def _family(data: str) -> str:
    """Where concepts have one name space: the data set without its split."""
    name = data.partition("/")[0]
    return SAME_IMAGES.get(name, name)


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as part:
        part.write_bytes(content)
