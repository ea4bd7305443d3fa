"""Who scores drawings: the spaces of diversity and originality (SimCLR), and those that recognise (ProtoNet)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exemplar.draw.default_critics import DEFAULTS
from exemplar.draw.tasks import family_of
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.space import NetworkSpace, Space
from exemplar.spaces.zoo import check_unseen, list_spaces, load_space


@dataclass(frozen=True, eq=False)
class Critics:
    """see: the spaces of diversity and originality, one per training seed; recognise: those of recognizability, likewise.

    allow_seen: whether they may have been trained on concepts they score.
    """

    see: tuple[Space, ...]
    recognise: tuple[Space, ...]
    allow_seen: bool = False

    def __post_init__(self) -> None:
        if not self.see or not self.recognise:
            raise UserError(
                "Drawings need a space for diversity and one for recognizability: give at least one of each."
            )
        for names in ([space.name for space in self.see], [space.name for space in self.recognise]):
            if again := [name for name in names if names.count(name) > 1]:
                raise UserError(f"The critic {again[0]} is named twice: name each once.")

    @property
    def names(self) -> dict[str, list[str]]:
        """see and recognise → the names of their spaces."""
        return {kind: [space.name for space in getattr(self, kind)] for kind in ("see", "recognise")}

    def count_seen(self, data: ConceptSet) -> int:
        """On how many of the concepts a critic was trained, of those with a card; any is an error unless allowed."""
        spaces = (*self.see, *self.recognise)
        cards = [card for space in spaces if (card := getattr(space, "card", None)) is not None]
        return max(
            (check_unseen(card, data.concepts, data.name, allow_seen=self.allow_seen) for card in cards), default=0
        )

    def find(self, name: str) -> Space:
        """A space by name: the critic of that name if there is one (it is loaded already), else from the zoo."""
        return next((space for space in self.see if space.name == name), None) or load_space(name)


def load_critics(
    data_name: str, *, allow_seen: bool = False, see: Sequence[str] = (), recognise: Sequence[str] = ()
) -> Critics:
    """The critics of a data set, every seed that ships, or those named.

    What they were trained on is checked by `count_seen`, before anything long begins.
    """
    default = DEFAULTS[family_of(data_name)]
    return Critics(
        tuple(load_space(name) for name in see or _every_seed(default.see)),
        # the last layer, which the loss sees
        tuple(load_space(name, layer="") for name in recognise or _every_seed(default.recognise)),
        allow_seen,
    )


def load_unseen_critics(data: ConceptSet, *, see: Sequence[str] = (), recognise: Sequence[str] = ()) -> Critics:
    """The critics of a data set, or those named, if they were trained on none of its concepts."""
    critics = load_critics(data.name, see=see, recognise=recognise)
    critics.count_seen(data)
    return critics


def with_feature_layers(critics: Critics) -> Critics:
    """The same critics, but recognition's networks by the layer in which diversity is measured, not by their output."""
    return replace(critics, recognise=tuple(map(_with_feature_layer, critics.recognise)))


def _with_feature_layer(space: Space) -> Space:
    if isinstance(space, NetworkSpace) and space.card is not None:
        return replace(space, layer=space.card.layer)  # the same network, which is loaded already
    return space


def _every_seed(stem: str) -> list[str]:
    """The shipped spaces of one recipe."""
    found = [name for name in list_spaces() if re.fullmatch(rf"{stem}-s\d+", name)]
    if not found:
        raise UserError(f"there is no space {stem}-s0: install exemplar again, or name critics of your own")
    return found
