"""What a trained network says of itself: its card, as JSON beside the weights, and the list of concepts it was trained on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exemplar import seeds
from exemplar.errors import UserError, shortened
from exemplar.files import first_line, whole_file
from exemplar.spaces.inputs import DrawingInput, Input, PhotoInput

FORMAT = 1
SPACES = "spaces"  # the room whose networks are spaces
INPUTS: dict[str, type[Input]] = {"drawing": DrawingInput, "photo": PhotoInput}
# Data sets that are the same images under the same names, split or drawn in another way
SAME_IMAGES = {"fc100": "cifar-fs", "quickdraw-bitmaps": "quickdraw", "quickdraw-fs": "quickdraw"}
STEM = re.compile(r"-\d+$")  # a concept of QuickDraw-FS is a part of a category: apple-1 of apple
PART = re.compile(r"/\d+$")  # and may be divided again: apple-1/2


@dataclass(frozen=True)
class Card:
    """What a trained network is and where it comes from.

    architecture, config: its name in a table of networks, and the arguments that build it; layer: the one meant unless another
    is asked for; data, concepts: what it was trained on, as in "omniglot/weak-train", and every concept of it; training:
    objective and settings; curve: the numbers at each evaluation, by name, "step" among them; scores: test numbers by name,
    …_se their standard errors; seconds: of training; versions: of what made it; room: whose network it is.
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
    room: str = SPACES

    def __post_init__(self) -> None:
        if not _are_numbers(self.scores):
            raise UserError("the scores on a card must be finite numbers by name")
        if not all(_are_numbers(evaluation) and "step" in evaluation for evaluation in self.curve):
            raise UserError("each evaluation in a card's curve must be finite numbers by name, its step among them")


# of the fields that JSON holds as they are
TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str, "architecture": str, "config": dict, "layer": str, "data": str, "seed": int, "training": dict,
    "curve": list, "scores": dict, "seconds": (int, float), "versions": dict,
}  # fmt: skip


def card_digest(card: Card, weights: bytes) -> str:
    """Of all that decides what a network computes: the file of the weights, and what the card says is done with them."""
    return seeds.digest(weights, card.architecture, card.config, card.layer, card.input)


def format_card(card: Card, digest: str) -> str:
    """The card as JSON; digest: of it and its weights."""
    kind = next(kind for kind, cls in INPUTS.items() if isinstance(card.input, cls))
    concepts = sorted(set(card.concepts))
    page = {name: getattr(card, name) for name in TYPES} | {
        "format": FORMAT,
        "weights": digest,
        "input": {"kind": kind, **asdict(card.input)},
        "concepts": {"digest": seeds.digest(concepts), "n": len(concepts)},
    }
    if card.room != SPACES:
        page["room"] = card.room
    try:
        return json.dumps(page, indent=1, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise UserError(f"the card of {card.name} cannot be written as JSON: {first_line(problem)}") from problem


def write_concepts(folder: Path, card: Card) -> None:
    """The list of concepts, once per folder however many networks were trained on the same ones."""
    concepts = sorted(set(card.concepts))
    with whole_file(folder / "concepts" / f"{seeds.digest(concepts)}.json") as part:
        part.write_bytes(json.dumps(concepts, indent=0).encode())


def read_card(path: Path) -> tuple[Card, str]:
    """The card in a file, and the digest it was written with."""
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
        if (version := page["format"]) == FORMAT:
            return _parse_card(page, path.stem, path.parent / "concepts"), str(page["weights"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as problem:
        raise UserError(
            f"the card {path} is damaged ({first_line(problem)}): install or train the space again"
        ) from problem
    raise UserError(f"the card {path} has format {version}, this version reads {FORMAT}: update exemplar")


def read_room(path: Path) -> str:
    """Whose network the card in a file is of; a damaged one counts as a space's, so that somebody hears of it."""
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
        return str(page.get("room", SPACES))
    except (OSError, ValueError, AttributeError, RecursionError):
        return SPACES


def names_seen(card: Card, concepts: Iterable[str], *, listed: bool = True) -> set[str]:
    """Which of these concepts a space was trained on, by their names; listed: whether both are the catalogue's."""
    return same_names(card.concepts, concepts, card.data, listed=listed)


def same_names(known: Iterable[str], concepts: Iterable[str], data: str, *, listed: bool = True) -> set[str]:
    """Which of these concepts are among those that are known, by their names. A concept of QuickDraw-FS is a part of a category
    and is known with the whole; a category is known with any part; parts of one category are different concepts where both are
    the catalogue's (listed), and in a set that somebody else has clustered they may be the same; a concept that was divided
    again is known with any of its parts."""
    if _family(data) != "quickdraw":
        return set(known).intersection(concepts)
    whole = {PART.sub("", name) for name in known}
    categories = {STEM.sub("", name) for name in whole}

    def is_known(name: str) -> bool:
        concept = PART.sub("", name)
        stem = STEM.sub("", concept)
        return (concept in whole or stem in whole or concept in categories) if listed else stem in categories

    return set(filter(is_known, concepts))


def check_unseen(card: Card, concepts: Iterable[str], data: str, *, allow_seen: bool = False) -> int:
    """How many of these concepts of a data set ("omniglot/weak-test") the space was trained on; any is the user's mistake
    unless seen ones are allowed."""
    asked = set(concepts)
    seen = sorted(names_seen(card, asked)) if _family(data) == _family(card.data) else []
    if seen and not allow_seen:
        raise UserError(
            f"{card.name} was trained on {len(seen)} of these {len(asked)} concepts of {data} ({shortened(seen, 3)}): use a "
            f"space trained on others, or --allow-seen, which the result then says"
        )
    return len(seen)


def _parse_card(page: dict[str, Any], name: str, lists: Path) -> Card:
    """page: a card as JSON holds it; lists: the folder with the concepts. What is wrong raises whatever it raises."""
    for key, kind in TYPES.items():
        if not isinstance(page[key], kind):
            raise TypeError(f"{key} is {page[key]!r}")
    if page["name"] != name:
        raise ValueError(f"it is the card of {page['name']}")
    if not isinstance(room := page.get("room", SPACES), str):
        raise TypeError(f"room is {room!r}")
    settings: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in page["input"].items() if key != "kind"
    }
    taken = INPUTS[page["input"]["kind"]](**settings)
    digest = page["concepts"]["digest"]
    concepts = json.loads((lists / f"{digest}.json").read_text(encoding="utf-8"))
    if seeds.digest(concepts) != digest or not all(isinstance(concept, str) for concept in concepts):
        raise ValueError("its list of concepts was altered")
    return Card(input=taken, concepts=tuple(concepts), room=room, **{key: page[key] for key in TYPES})


def _family(data: str) -> str:
    """Where concepts have one name space: the data set without its split."""
    name = data.partition("/")[0]
    return SAME_IMAGES.get(name, name)


def _are_numbers(values: object) -> bool:
    """Whether this is a dict of finite numbers."""
    return isinstance(values, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300
        for value in values.values()
    )
