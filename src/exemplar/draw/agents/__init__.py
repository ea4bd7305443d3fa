"""Who draws: anything that can be called as sample(exemplars, n, rng). An agent is a file here and a line in AGENTS.

Four ship whose scores are known beforehand:

copies           the exemplar itself                     diversity 0, recognizability 1, originality 0
others           the data's drawings of other concepts   recognizability at chance, or a little below
noise            scattered ink                           recognizability at chance
redraw@SPREAD    glyphs by their true program            diversity rises with spread, recognizability falls
"""

from __future__ import annotations

from exemplar.draw.agents.copies import COPIES
from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.noise import NOISE
from exemplar.draw.agents.others import OTHERS
from exemplar.draw.agents.redraw import REDRAW
from exemplar.draw.drawings import Sample
from exemplar.draw.tasks import DrawingTask
from exemplar.errors import UserError, unknown
from exemplar.user_code import is_named, load_named

AGENTS = {agent.name: agent for agent in (COPIES, OTHERS, NOISE, REDRAW)}

__all__ = ["AGENTS", "DrawingAgent", "is_agent", "make_agent"]


def is_agent(name: str) -> bool:
    """Whether this names an agent of the room, with a setting or without: copies, redraw@2."""
    return name.partition("@")[0] in AGENTS


def make_agent(name: str, task: DrawingTask) -> Sample:
    """An agent by name: one of AGENTS, with a setting where it has one ("redraw@0.5"), or a function of yours,
    `file.py:function` or `module:function`."""
    kind, at, setting = name.partition("@")
    if kind in AGENTS:
        if at and not setting:
            raise UserError(f"the setting of {name} is empty: write {kind}, or {kind}@{AGENTS[kind].setting or ''}")
        if at and not AGENTS[kind].setting:
            raise UserError(f"{kind} has no setting: write {kind} instead of {name}")
        return AGENTS[kind].make(task, setting)
    if is_named(name):
        sample: Sample = load_named(name)
        return sample
    raise unknown("agent", name, AGENTS)
