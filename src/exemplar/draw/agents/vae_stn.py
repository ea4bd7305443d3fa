"""VAE-STN: a drawing is built up in steps, each of which looks at one place by a spatial transformer and writes there (Rezende
et al. 2016; S8 of Boutin et al. 2022, L of 2023)."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of
from exemplar.draw.vae.networks import NETWORKS

VAE_STN = DrawingAgent(
    "vae-stn",
    "a sequential VAE with spatial attention, trained on Omniglot",
    make_trained("vae-stn"),
    recipes=recipes_of("vae-stn"),
    networks={"vae-stn": NETWORKS["vae-stn"]},
)
