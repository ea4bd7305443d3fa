"""DA-GAN-UN: a U-Net makes another drawing of what it is shown, and a critic tells it from real ones (Antoniou et al. 2018; S10
of Boutin et al. 2022, M of 2023)."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of
from exemplar.draw.gan.networks import NETWORKS

DAGAN_UN = DrawingAgent(
    "dagan-un",
    "a GAN with a U-Net as generator, trained on Omniglot",
    make_trained("dagan-un"),
    recipes=recipes_of("dagan-un"),
    networks={"dagan": NETWORKS["dagan"]},
)
