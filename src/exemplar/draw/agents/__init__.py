"""Who draws: anything that can be called as sample(exemplars, n, rng). An agent is a file here and a line in AGENTS.

Four ship whose scores are known beforehand:

copies           the exemplar itself                     diversity 0, recognizability 1, originality 0
others           the data's drawings of other concepts   recognizability at chance, or a little below
noise            scattered ink                           recognizability at chance
redraw@SPREAD    glyphs by their true program            diversity rises with spread, recognizability falls

The others are trained networks, by the weights that ship, or FOLDER/NAME for those you trained: diffusion models (`ddpm`,
`cfgdm`, `fsdm`; made of what is in `draw/diffusion/`), VAEs (`vae-stn`, `vae-ns`; `draw/vae/`) and GANs (`dagan-un`,
`dagan-rn`; `draw/gan/`).
"""

from __future__ import annotations

from exemplar.draw.agents.cfgdm import CFGDM, CFGDM_QUICKDRAW, CFGDM_SMALL
from exemplar.draw.agents.copies import COPIES
from exemplar.draw.agents.dagan_rn import DAGAN_RN
from exemplar.draw.agents.dagan_un import DAGAN_UN
from exemplar.draw.agents.ddpm import DDPM
from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.fsdm import FSDM
from exemplar.draw.agents.noise import NOISE
from exemplar.draw.agents.others import OTHERS
from exemplar.draw.agents.redraw import REDRAW
from exemplar.draw.agents.vae_ns import VAE_NS
from exemplar.draw.agents.vae_stn import VAE_STN
from exemplar.draw.diffusion.loading import WEIGHTS, is_trained, load_agent
from exemplar.draw.drawings import Sample
from exemplar.draw.tasks import DrawingTask
from exemplar.errors import UserError, unknown
from exemplar.user_code import is_named, load_named

KNOWN = (COPIES, OTHERS, NOISE, REDRAW)
TRAINED = (DDPM, CFGDM, CFGDM_SMALL, CFGDM_QUICKDRAW, FSDM, VAE_STN, VAE_NS, DAGAN_UN, DAGAN_RN)
AGENTS = {agent.name: agent for agent in (*KNOWN, *TRAINED)}

__all__ = ["AGENTS", "DrawingAgent", "is_agent", "is_ready", "make_agent"]


def is_agent(name: str) -> bool:
    """Whether this names an agent of the room, with a setting or without: copies, redraw@2, or FOLDER/NAME of one that was
    trained."""
    return name.partition("@")[0] in AGENTS or is_trained(name)


def is_ready(name: str) -> bool:
    """Whether an agent of the room can draw now: its weights, if it has any, ship."""
    return name not in WEIGHTS or is_trained(name)


def make_agent(name: str, task: DrawingTask) -> Sample:
    """An agent by name: one of AGENTS, with a setting where it has one ("redraw@0.5"), FOLDER/NAME of a network that you
    trained, or a function of yours, `file.py:function` or `module:function`."""
    kind, at, setting = name.partition("@")
    if kind in AGENTS:
        if at and not setting:
            raise UserError(f"the setting of {name} is empty: write {kind}, or {kind}@{AGENTS[kind].setting or ''}")
        if at and not AGENTS[kind].setting:
            raise UserError(f"{kind} has no setting: write {kind} instead of {name}")
        return AGENTS[kind].make(task, setting)
    if is_trained(name):
        return load_agent(name)
    if is_named(name):
        sample: Sample = load_named(name)
        return sample
    raise unknown("agent", name, AGENTS)
