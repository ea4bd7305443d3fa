"""VAE-NS, the neural statistician: a set of drawings shares a context, and each has a latent variable besides (Edwards &
Storkey 2017; S9 of Boutin et al. 2022, K of 2023). Here it is shown a set of one."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of
from exemplar.draw.vae.networks import NETWORKS

VAE_NS = DrawingAgent(
    "vae-ns",
    "a VAE with a context of a set, trained on Omniglot",
    make_trained("vae-ns"),
    recipes=recipes_of("vae-ns"),
    networks={"vae-ns": NETWORKS["vae-ns"]},
)
