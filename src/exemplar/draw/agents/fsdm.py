"""FSDM: a diffusion model that knows a context instead of an exemplar: what an encoder reads from a set of drawings, merged
into every layer by FiLM (Giannone et al. 2022; appendices H and N). Here it is shown a set of one."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of
from exemplar.draw.diffusion.loading import UNGUIDED
from exemplar.draw.diffusion.networks import NETWORKS

FSDM = DrawingAgent(
    "fsdm",
    "a diffusion model with a context of a set, trained on Omniglot",
    make_trained("fsdm"),
    setting=UNGUIDED,
    recipes=recipes_of("fsdm"),
    networks={name: NETWORKS[name] for name in ("set-unet", "set-vit-unet")},
)
