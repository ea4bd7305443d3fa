"""Trained networks by name: weights as bfloat16 safetensors, each with a card that says what it is and was trained on.

A folder holds NAME.safetensors (packed, in those that ship: `weight_files`), NAME.json (the card), and concepts/DIGEST.json:
the concepts a network was trained on, written once however many were trained on the same. Whatever else lies there is
ignored. Those that ship lie in `weights/`; the networks of another room, which are no spaces, in `weights/ROOM/`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from exemplar.errors import UserError, shortened, unknown
from exemplar.files import first_line, whole_file
from exemplar.spaces.cards import (
    SPACES,
    Card,
    card_digest,
    check_unseen,
    format_card,
    read_card,
    read_room,
    write_concepts,
)
from exemplar.spaces.networks import build_network
from exemplar.spaces.pretrained import is_nearly_pretrained, is_pretrained, unknown_network
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.weight_files import PLAIN, find_weights, list_stems, read_weights

__all__ = [
    "Card",
    "check_unseen",
    "list_spaces",
    "load_card",
    "load_network",
    "load_space",
    "save_space",
    "shipped",
]


def shipped(room: str = SPACES) -> Path:
    """The folder of the networks of a room that come with the package."""
    weights = Path(str(resources.files("exemplar"))) / "weights"
    return weights if room == SPACES else weights / room


def list_spaces(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the spaces in a folder (those shipped): of what has both weights and a card, and is no other room's."""
    return list_networks(SPACES, folder)


def list_networks(room: str, folder: Path | None = None) -> tuple[str, ...]:
    """Names of a room's trained networks in a folder (those shipped)."""
    place = shipped(room) if folder is None else folder
    if not os.path.isdir(place):  # noqa: PTH112 (which answers for names too long for a file system, too)
        if folder is None:
            return ()
        raise UserError(f"there is no folder {place}: give one with spaces that you trained")
    cards = {path.stem for path in place.glob("*.json")}
    return tuple(name for name in sorted(cards & list_stems(place)) if read_room(place / f"{name}.json") == room)


def load_card(name: str, folder: Path | None = None, *, room: str = SPACES) -> Card:
    """What the card of a space says. name, folder: as in `load_space`."""
    return _read_card(*_find(name, folder, room), room)[0]


def load_space(name: str, *, layer: str | None = None, folder: Path | None = None) -> NetworkSpace:
    """A space by name: one that ships, one in a folder, or FOLDER/NAME, which is then what it is called.

    layer: another than its card's, "" for the output.
    """
    network, card = load_network(name, room=SPACES, folder=folder)
    return NetworkSpace(name, network, card.input, card.layer if layer is None else layer, card=card)


def load_network(name: str, *, room: str, folder: Path | None = None) -> tuple[nn.Module, Card]:
    """A room's trained network, for evaluation on the CPU, and its card. name, folder: as in `load_space`."""
    stem, place = _find(name, folder, room)
    card, digest = _read_card(stem, place, room)
    path = find_weights(place / stem)
    if path is None:
        raise UserError(
            f"there is no {place / stem}{PLAIN}: {stem} has a card but no weights, install or train it again"
        )
    try:
        content = read_weights(path)
        weights = safetensors.torch.load(content)
    except (OSError, safetensors.SafetensorError, ValueError, KeyError, zlib.error) as problem:
        raise UserError(
            f"{path} is damaged or no safetensors ({first_line(problem)}): install or train it again"
        ) from problem
    if card_digest(card, content) != digest:
        raise UserError(
            f"{path} and the card beside it do not belong together (the card was written for other weights, or for another "
            "architecture, config, layer or input): install or train the space again"
        )
    return _assemble(card, weights, str(path)), card


def save_space(folder: Path, network: nn.Module, card: Card) -> None:
    """Write weights and card. Nothing is written that `load_space` would refuse.

    Floats are rounded to bfloat16, 8 bits of precision: features of the space that is loaded again differ (by 1.5 % of their
    length in a conv4) from those of the network that was saved. To score with the very weights, give the network itself.
    """
    if not card.name or Path(card.name).name != card.name or card.name.startswith("."):
        raise UserError(f"a space cannot be called {card.name!r}: use letters, digits and dashes")
    weights = {
        name: tensor.detach().to("cpu", torch.bfloat16 if tensor.is_floating_point() else tensor.dtype, copy=True)
        for name, tensor in network.state_dict().items()
    }
    NetworkSpace(card.name, _assemble(card, weights, "the network"), card.input, card.layer)  # is the layer there?
    content = safetensors.torch.save({name: tensor.contiguous() for name, tensor in weights.items()})
    text = format_card(card, card_digest(card, content))
    write_concepts(folder, card)
    for ending, part in ((PLAIN, content), (".json", text.encode())):
        with whole_file(folder / f"{card.name}{ending}") as file:
            file.write_bytes(part)


def _assemble(card: Card, weights: Mapping[str, Tensor], source: str) -> nn.Module:
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
    return network.eval().requires_grad_(False)


def _find(name: str, folder: Path | None, room: str) -> tuple[str, Path]:
    """The name of a network within its folder, and the folder."""
    if folder is not None:
        return name, folder
    if is_pretrained(name):
        where = "" if "/" in name else ", encode with NETWORK/LAYER, as in efficientnet-lite0/block03"
        raise UserError(f"{name} has no card: it is a pretrained network or a stage of one{where}")
    path = Path(name)
    if is_nearly_pretrained(name) and not ("/" in name and os.path.isdir(path.parent)):  # noqa: PTH112 (as above)
        raise unknown_network(name.partition("/")[0])
    if "/" not in name:
        return name, shipped(room)
    if not os.path.isdir(path.parent):  # noqa: PTH112 (as above)
        raise UserError(
            f"there is no folder {path.parent}, and no pretrained network of that name: check where the space is, or see "
            "`exemplar spaces list`"
        )
    return path.name, path.parent


def _read_card(name: str, folder: Path, room: str) -> tuple[Card, str]:
    """The card, and the digest it was written with."""
    path = folder / f"{name}.json"
    if path.name != f"{name}.json" or not os.path.isfile(path):  # noqa: PTH113 (as above)
        kind = "space" if room == SPACES else f"network of {room}"
        where = "" if folder == shipped(room) else f" in {folder}"
        raise unknown(kind + where, name, list_networks(room, folder if where else None))
    card, digest = read_card(path)
    if card.room != room:
        raise UserError(f"{name} is a network of the room {card.room}, not of {room}: use it there")
    return card, digest
