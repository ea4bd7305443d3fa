"""What a learner is handed: images of the data's size as float32, or features of a frozen space; and which space, if none is
named."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from exemplar.errors import UserError
from exemplar.images.catalogue import CATALOGUE
from exemplar.images.concepts import ConceptSet
from exemplar.recall.agents.registry import find_entry
from exemplar.recall.agents.sources import AgentSource
from exemplar.recall.task_verbs import find_data
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.inputs import DrawingInput, Input, PhotoInput
from exemplar.spaces.loading import find_space
from exemplar.spaces.seen import find_seen
from exemplar.spaces.zoo import list_spaces

DRAWING_SIZE = 28  # px, as in the literature on Omniglot
# family of the data → kind of space → its name; Omniglot's serve other drawings too, CIFAR-FS's other photographs
SPACES = {
    "omniglot": {
        "protonet": "protonet-omniglot-cfsl-s0",
        "pretrained": "conv4-64-omniglot-cfsl-s0",
        "maml": "maml-omniglot-cfsl-s0",
        "maml-plus": "maml-plus-omniglot-cfsl-s0",
        "oml": "oml-omniglot-cfsl-s0",
    },
    "cifar-fs": {
        "protonet": "protonet-cifar-fs-s0",
        "pretrained": "conv4-64-cifar-fs",
        "maml": "maml-cifar-fs-s0",
        "maml-plus": "maml-plus-cifar-fs-s0",
        "maml-plus-dense": "maml-dense-cifar-fs-s0",
        "oml": "oml-cifar-fs-s0",
    },
}


@dataclass(frozen=True)
class DataSource:
    """data, split: as the command was given them; size: px per side of the images handed over, None for the default."""

    data: str
    split: str | None = None
    size: int | None = None

    def load(self) -> ConceptSet:
        return _load(self.data, self.split)

    def input(self) -> Input:
        """How the images are made fit to be handed over."""
        shape = self.load().shape
        drawn = len(shape) == 2
        side = self.size or (DRAWING_SIZE if drawn else shape[0])
        return DrawingInput((side, side)) if drawn else PhotoInput((side, side))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, h, w) of what is handed over, which memory is measured against."""
        made = self.input()
        return made.channels, *made.size

    def images(self, rows: np.ndarray) -> np.ndarray:
        """(n, channels, h, w) float32 in [0, 1] of some rows."""
        return self.input().prepare(self.load().take(rows)).astype(np.float32)

    def features(self, space: str, rows: np.ndarray) -> np.ndarray:
        """(n, d) float32 of some rows; every image of the data is encoded once, and kept."""
        return _features(self, space)[rows]


def encode_first(agent: AgentSource, source: DataSource) -> None:
    """Encode all images here, before several processes would do it at once; they find the features in the cache."""
    if agent.takes_features and agent.space:
        source.features(agent.space, np.empty(0, np.intp))


@lru_cache(maxsize=4)
def _load(data: str, split: str | None) -> ConceptSet:
    name = data if data in CATALOGUE else Path(data).expanduser()
    return find_data(str(name), split).in_memory()


@lru_cache(maxsize=8)
def _features(source: DataSource, space: str) -> np.ndarray:
    return encode_kept(find_space(space, None, None), source.load())


def choose_space(agent: str, named: str | None, source: DataSource) -> tuple[str, str]:
    """The space an agent of the room stands on ("" where it needs none), and a sentence about the choice."""
    entry = find_entry(agent)
    if not entry.space:
        if named is not None:
            raise UserError(f"{agent} stands on no space: leave --space out")
        return "", ""
    if named is not None:
        return named, f"{agent} stands on {named}, as named."
    data = source.load()
    drawn = len(data.shape) == 2
    family = data.family if data.family in SPACES else "omniglot" if drawn else "cifar-fs"
    if entry.space not in SPACES[family]:
        others = [name for name, kinds in SPACES.items() if entry.space in kinds]
        raise UserError(f"{agent} has no network for {data.name}, only for {', '.join(others)}: choose another agent")
    chosen = SPACES[family][entry.space]
    own = "" if data.family == family else f", trained on {family}, since nothing is shipped for {data.name}"
    return chosen, f"{agent} stands on {chosen}{own} (change with --space)."


def has_network(agent: str, source: DataSource) -> bool:
    """Whether what the agent stands on by default is there, for this kind of data."""
    entry = find_entry(agent)
    if not entry.meta_trained:
        return True
    try:
        return choose_space(agent, None, source)[0] in list_spaces()
    except UserError:
        return False


def check_trained(agent: str, space: str) -> None:
    """Refuse an agent whose network is a recipe so far, and say how it is trained."""
    if find_entry(agent).meta_trained and "/" not in space and space not in list_spaces():
        raise UserError(
            f"{agent} needs {space}, which does not ship: run `exemplar spaces train {space} --out spaces`, then give --space "
            f"spaces/{space}"
        )


def check_seen(space: str, source: DataSource, *, allow_seen: bool) -> tuple[str, ...]:
    """Refuse a space that was trained on the classes of the suite, unless allowed; warnings."""
    if not space:
        return ()
    return find_seen([find_space(space, None, None)], source.load(), allow_seen=allow_seen).warnings


def check_fits(agent: AgentSource, source: DataSource) -> None:
    """An agent of images begins with a network for images of just this shape."""
    if agent.is_own or agent.takes_features or not agent.space:
        return
    from exemplar.spaces.zoo import load_card

    wanted = load_card(agent.space).input
    if (wanted.channels, *wanted.size) != source.image_shape:
        has = " × ".join(map(str, source.image_shape))
        raise UserError(
            f"{agent.space} takes images of {wanted.channels} × {wanted.size[0]} × {wanted.size[1]}, these are {has}: give "
            "--size, or --space another"
        )
