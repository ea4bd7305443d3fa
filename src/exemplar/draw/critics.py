"""Who scores drawings: the spaces of diversity and originality (SimCLR), and those that recognise (ProtoNet)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.draw.default_critics import defaults_of, family_of
from exemplar.draw.tasks import DrawingTask
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.encoding import encode_all
from exemplar.spaces.given import FunctionSpace, ObjectSpace
from exemplar.spaces.inputs import Images
from exemplar.spaces.known import FeatureFile, KnownFeatures
from exemplar.spaces.loading import find_space
from exemplar.spaces.on_paper import OnPaper
from exemplar.spaces.seen import Seen, find_seen
from exemplar.spaces.space import NetworkSpace, Space
from exemplar.spaces.stage_space import StageSpace
from exemplar.spaces.zoo import list_spaces


@dataclass(frozen=True, eq=False)
class Critics:
    """see: the spaces of diversity and originality, one per training seed; recognise: those of recognizability, likewise.

    allow_seen: whether they may have been trained on concepts they score; chosen: which they are and why, in a sentence;
    warnings: what to know of that choice.
    """

    see: tuple[Space, ...]
    recognise: tuple[Space, ...]
    allow_seen: bool = False
    chosen: str = ""
    warnings: tuple[str, ...] = ()

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

    def find_seen(self, data: ConceptSet) -> Seen:
        """What of the data a critic was trained on, as far as that can be known; that it was is an error unless allowed."""
        return find_seen((*self.see, *self.recognise), data, allow_seen=self.allow_seen)

    def count_seen(self, data: ConceptSet) -> int | None:
        """On how many of the concepts a critic was trained, None where that is unknown; any is an error unless allowed."""
        return self.find_seen(data).concepts

    def find(self, name: str) -> Space:
        """A space by name: the critic of that name if there is one (it is loaded already), else from the zoo."""
        return next((space for space in self.see if space.name == name), None) or find_critic(name)

    def fix(
        self, task: DrawingTask, drawings: np.ndarray, agent: str, training: ConceptSet | None = None, *, drawn: int = 0
    ) -> Critics:
        """The same, but those without an identity (code of one's own) have encoded what they are asked here, once: what they
        gave is who they are. drawings: (k, n, h, w) by the agent; training: what it was trained on; drawn: how many it made of
        each concept, where that is more than n."""
        data, flat = task.judged_data, drawings.reshape(-1, *drawings.shape[2:])
        exemplars = [] if task.judged_in is None else [task.judged_exemplars]  # else they are among the data

        def fixed(space: Space, more: Sequence[ConceptSet]) -> Space:
            if isinstance(space, KnownFeatures) or space.identity:
                return space
            if isinstance(space, FeatureFile):
                if exemplars:
                    raise UserError(
                        f"{space.name} holds features of images as they are, and --match changes these: leave it out"
                    )
                return space.known(data, drawings, agent, *more, drawn=drawn)
            sets: list[Images] = [data, flat, *exemplars, *more]
            return KnownFeatures.of(space, sets, encode_all([space], sets)[0])

        trained = [] if training is None else [training]
        see, recognise = (
            [fixed(space, more) for space in part] for part, more in ((self.see, trained), (self.recognise, []))
        )
        return replace(self, see=tuple(see), recognise=tuple(recognise))

    def identities(self, *, of_data: bool = False) -> list[str]:
        """Who each is: its weights', or of one that is fixed, its features'; of_data: those of the data alone, which do
        not depend on the agent."""
        spaces = (*self.see, *self.recognise)
        return [
            (space.of_data if of_data else space.content) if isinstance(space, KnownFeatures) else space.identity
            for space in spaces
        ]


def load_critics(
    data: ConceptSet | str, *, allow_seen: bool = False, see: Sequence[Any] = (), recognise: Sequence[Any] = ()
) -> Critics:
    """The critics of a data set, every seed that ships, or those given: as `exemplar.spaces.load` takes them. By default they
    are those of the data's family, whatever it is called; of data without one, Omniglot's, with a warning.

    What they were trained on is checked by `find_seen`, before anything long begins.
    """
    default = defaults_of(data)
    chosen, warnings = explain_choice(data, bool(see), bool(recognise))
    return Critics(
        _find_all(see or _every_seed(default.see), output=False),
        _find_all(recognise or _every_seed(default.recognise), output=True),
        allow_seen,
        chosen,
        warnings,
    )


def explain_choice(data: ConceptSet | str, see: bool, recognise: bool) -> tuple[str, tuple[str, ...]]:
    """Which critics score this data, and why; and what to be warned of. see, recognise: whether these were named."""
    if see and recognise:
        return "The critics are those that were named.", ()
    default, family = defaults_of(data), family_of(data)
    name = data if isinstance(data, str) else data.name
    stems = " and ".join(stem for stem, named in ((default.see, see), (default.recognise, recognise)) if not named)
    why = "from that data set" if family else "data of your own, of no family that has critics here"
    begins = "The critics are"
    if see:
        begins = "Diversity is scored by the critics that were named, recognizability by"
    if recognise:
        begins = "Recognizability is scored by the critics that were named, diversity by"
    remark = f"; {default.remark}" if default.remark and not recognise else ""
    sentence = f"{begins} those of {default.title} ({stems}), since {name} is {why}{remark}."
    if family:
        return sentence, ()
    warning = (
        f"the critics ({stems}) were trained on {default.title}'s characters, and {name} may be other kinds of images, of "
        "which they say little: name critics of your own with --see and --recognise"
    )
    return sentence, (warning,)


def find_critic(given: Any, *, output: bool = False) -> Space:
    """One critic. output: of a trained space that is named, the last layer, which its loss sees, instead of its card's."""
    space = find_space(given)
    if isinstance(space, StageSpace):
        return OnPaper(space)
    if output and isinstance(given, str | Path) and isinstance(space, NetworkSpace) and space.card is not None:
        return replace(space, layer="")
    return space


def _find_all(given: Sequence[Any], *, output: bool) -> tuple[Space, ...]:
    """Objects of one name are told apart by a number; two equal names are for `Critics` to refuse."""
    found: list[Space] = []
    for place, one in enumerate(given):
        space = find_critic(one, output=output)
        same = sum(re.fullmatch(rf"{re.escape(space.name)}(-\d+)?", other.name) is not None for other in found)
        again = isinstance(one, str | Path) or any(one is other for other in given[:place])
        if same and not again and isinstance(space, FunctionSpace | ObjectSpace | NetworkSpace):
            space = replace(space, name=f"{space.name}-{same + 1}")
        found.append(space)
    return tuple(found)


def load_unseen_critics(data: ConceptSet, *, see: Sequence[str] = (), recognise: Sequence[str] = ()) -> Critics:
    """The critics of a data set, or those named, if they were trained on none of its concepts."""
    critics = load_critics(data, see=see, recognise=recognise)
    critics.find_seen(data)
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
