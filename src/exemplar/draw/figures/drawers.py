"""Who made the data, in words: people, or drawers that the package simulates; never the one where it was the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exemplar.draw.measures.sides import distance_name
from exemplar.draw.tasks import PEOPLE, SIMULATED

BUILT_IN = "glyphs"  # the data whose drawers are simulated


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

    def rename(self, agent: str) -> str:
        """What an agent of an old run is called now: there the simulated drawers of built-in data were called people."""
        return agent.replace(PEOPLE, self.agent, 1) if is_own_drawers(agent) else agent


OF_PEOPLE = Drawers(PEOPLE, "people", "people's")
OF_GLYPHS = Drawers(SIMULATED, "the simulated drawers", "the simulated drawers'")


def drawers_of(data: Iterable[str]) -> Drawers:
    """Those who made the data of these names, such as `glyphs/weak-test`."""
    return OF_GLYPHS if any(name.split("/")[0].split("@")[0] == BUILT_IN for name in data) else OF_PEOPLE


def is_own_drawers(agent: str) -> bool:
    """Whether an agent is the data's own drawers, a run of theirs that is told apart by its folder included."""
    return any(agent == name or agent.startswith(f"{name} (") for name in (PEOPLE, SIMULATED))
