"""DDPM: a U-Net learns which noise was added to a drawing, shown an exemplar of its class; taken away step by step from pure
noise, what is left is another drawing (Ho et al. 2020; appendices E, F and I)."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of
from exemplar.draw.diffusion.loading import UNGUIDED
from exemplar.draw.diffusion.networks import NETWORKS

DDPM = DrawingAgent(
    "ddpm",
    "a diffusion model, trained on Omniglot",
    make_trained("ddpm"),
    setting=UNGUIDED,
    recipes=recipes_of("ddpm"),
    networks={"convnext-unet": NETWORKS["convnext-unet"]},
)
