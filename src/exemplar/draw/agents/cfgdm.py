"""CFGDM: DDPM's network, trained now and then without its exemplar; away from what it would draw without one, its drawings
follow the exemplar more closely the larger γ (Ho & Salimans 2022; appendices G and J)."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of
from exemplar.draw.diffusion.loading import SETTINGS

CFGDM = DrawingAgent(
    "cfgdm",
    "a guided diffusion model, trained on Omniglot",
    make_trained("cfgdm"),
    setting=SETTINGS,
    recipes=recipes_of("cfgdm"),
)
CFGDM_SMALL = DrawingAgent(
    "cfgdm-small", "the same with a sixth of the parameters: seconds on a CPU", make_trained("cfgdm-small"), SETTINGS
)
CFGDM_QUICKDRAW = DrawingAgent(
    "cfgdm-quickdraw", "a guided diffusion model, trained on QuickDraw-FS", make_trained("cfgdm-quickdraw"), SETTINGS
)
