"""Who draws: anything that can be called as sample(exemplars, n, rng). Four ship whose scores are known beforehand.

copies           the exemplar itself                     diversity 0, recognizability 1, originality 0
others           people's drawings of other concepts     recognizability at chance, or a little below
noise            scattered ink                           recognizability at chance
redraw@SPREAD    glyphs by their true program            diversity rises with spread, recognizability falls
"""

from __future__ import annotations

from collections.abc import Callable

from exemplar.draw.agents.copies import Copies
from exemplar.draw.agents.imported import import_sample
from exemplar.draw.agents.noise import Noise
from exemplar.draw.agents.others import Others
from exemplar.draw.agents.redraw import Redraw
from exemplar.draw.drawings import Sample
from exemplar.draw.tasks import DrawingTask
from exemplar.errors import UserError, unknown

# name → the agent made for a task; what it knows besides the exemplar, it knows from there
AGENTS: dict[str, Callable[[DrawingTask], Sample]] = {
    "copies": lambda task: Copies(),
    "others": Others,
    "noise": lambda task: Noise(),
    "redraw": Redraw,
}


def make_agent(name: str, task: DrawingTask) -> Sample:
    """An agent by name: one of AGENTS, redraw also at a spread ("redraw@0.5"), or a function of yours, `module:function`."""
    kind, at, setting = name.partition("@")
    if kind == "redraw" and at:
        try:
            return Redraw(task, float(setting))
        except ValueError as problem:
            raise UserError(f"the spread of {name} is no number: write redraw@0.5, say") from problem
    if name in AGENTS:
        return AGENTS[name](task)
    if ":" in name:
        return import_sample(name)
    raise unknown("agent", name, AGENTS)


__all__ = ["AGENTS", "Copies", "Noise", "Others", "Redraw", "import_sample", "make_agent"]
