"""Who made the data, in words: people, or drawers that the package simulates; never the one where it was the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from exemplar.draw.measures.sides import distance_name
from exemplar.draw.tasks import PEOPLE, SIMULATED

BUILT_IN = re.compile(r"glyphs(@[^/]*)?/")  # data whose drawers are simulated: of the catalogue, since it has a split


@dataclass(frozen=True)
class Drawers:
    """The data's own drawers. agent: as tables name them; them, their: as sentences do."""

    agent: str
    them: str
    their: str

    def in_words(self, text: str) -> str:
        """A text about people, said of these drawers; so that `distance to people` is not claimed of simulated ones."""
        return text if self.agent == PEOPLE else text.replace("people's", self.their).replace("people", self.them)

    @property
    def distance(self) -> str:
        """The name of the score that is the distance to them."""
        return distance_name(self.agent)

    def rename_score(self, name: str) -> str:
        """What a score of an old run is called now: those beside simulated drawers were named after people."""
        return name.replace(distance_name(PEOPLE), self.distance)

    def rename(self, agent: str, own: bool | None = None) -> str:
        """What an agent of an old run is called now: there the simulated drawers of built-in data were called people, and
        anyone might have been. own: whether it is a run of the data's own drawers; by its name, where only these have it."""
        if own or (own is None and is_own_drawers(agent)):
            return agent.replace(PEOPLE, self.agent, 1)
        return f"an agent called {agent}" if is_own_drawers(agent) else agent


OF_PEOPLE = Drawers(PEOPLE, "people", "people's")
OF_GLYPHS = Drawers(SIMULATED, "the simulated drawers", "the simulated drawers'")


def drawers_called(name: str) -> Drawers:
    """By what tables call them: people, or simulated drawers."""
    return OF_GLYPHS if name == SIMULATED else OF_PEOPLE


def drawers_of(data: Iterable[str]) -> Drawers:
    """Those who made data of the catalogue, of these names, such as `glyphs/weak-test`; a file called glyphs is anyone's."""
    return OF_GLYPHS if any(BUILT_IN.match(name) for name in data) else OF_PEOPLE


def is_own_drawers(agent: str) -> bool:
    """Whether an agent, as a page names it, is the data's own drawers, a run of theirs that is told apart by its folder
    included; nobody else is shown by that name (see `Drawers.rename`)."""
    return any(agent == name or agent.startswith(f"{name} (") for name in (PEOPLE, SIMULATED))
