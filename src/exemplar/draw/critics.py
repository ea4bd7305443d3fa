"""Who judges drawings: the spaces in which they are seen (SimCLR), and those that recognise them (ProtoNet, MAML)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exemplar.draw.tasks import DrawingTask, family_of
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.space import NetworkSpace, Space, encode_kept
from exemplar.spaces.zoo import check_unseen, list_spaces, load_space


@dataclass(frozen=True, eq=False)
class Critics:
    """see: the spaces of diversity and originality, one a training seed; recognise: those of recognizability, likewise.

    allow_seen: whether they may have been trained on concepts they judge. adapt: a MAML network, for sampled episodes.
    """

    see: tuple[Space, ...]
    recognise: tuple[Space, ...]
    allow_seen: bool = False
    adapt: NetworkSpace | None = None

    def __post_init__(self) -> None:
        if not self.see or not self.recognise:
            raise UserError(
                "drawings need a space to be seen in and one to be recognised in: give at least one of each"
            )
        for names in ([space.name for space in self.see], [space.name for space in self.recognise]):
            if again := [name for name in names if names.count(name) > 1]:
                raise UserError(f"the critic {again[0]} is named twice: name each once")

    def count_seen(self, concepts: Sequence[str], data_name: str) -> int:
        """On how many of the concepts a critic was trained, of those with a card; any is an error unless allowed."""
        spaces = [*self.see, *self.recognise, *([self.adapt] if self.adapt else [])]
        cards = [card for space in spaces if (card := getattr(space, "card", None)) is not None]
        return max((check_unseen(card, concepts, data_name, allow_seen=self.allow_seen) for card in cards), default=0)


@dataclass(frozen=True, eq=False)
class Seen:
    """One critic's features. drawn: (k, n, d) float32; exemplars: (k, d); people: (k, n, d), or None where there are too few;
    training: (p, d), or None."""

    space: str
    drawn: np.ndarray
    exemplars: np.ndarray
    people: np.ndarray | None
    training: np.ndarray | None


def load_critics(
    data_name: str,
    *,
    allow_seen: bool = False,
    see: Sequence[str] = (),
    recognise: Sequence[str] = (),
    adapt: str | None = None,
) -> Critics:
    """The critics of a data set, every seed that ships, or those named. `score_drawings` checks what they were trained on."""
    family = family_of(data_name)
    return Critics(
        tuple(load_space(name) for name in see or _every_seed(f"simclr-{family}")),
        # the last layer, which the loss sees
        tuple(load_space(name, layer="") for name in recognise or _every_seed(f"protonet-{family}")),
        allow_seen,
        load_space(adapt) if adapt else None,
    )


def look(
    space: Space,
    drawings: np.ndarray,
    task: DrawingTask,
    people: np.ndarray | None,
    *,
    training: ConceptSet | None = None,
    device: str = "auto",
) -> Seen:
    """What a critic sees. drawings: (k, n, h, w) uint8; people: (k, n) rows of the task's data, or None."""
    k, n = drawings.shape[:2]
    drawn = space.encode(drawings.reshape(k * n, *drawings.shape[2:]), device=device)
    data = encode_kept(space, task.data, device=device)
    return Seen(
        space.name,
        drawn.reshape(k, n, -1),
        data[task.exemplar],
        None if people is None else data[people],
        None if training is None else encode_kept(space, training, device=device),
    )


def _every_seed(stem: str) -> list[str]:
    """The shipped spaces of one recipe."""
    found = [name for name in list_spaces() if re.fullmatch(rf"{stem}-s\d+", name)]
    if not found:
        raise UserError(f"there is no space {stem}-s0: install exemplar again, or name critics of your own")
    return found
