"""DA-GAN-RN: DA-GAN-UN's generator without skip connections, so that all it knows of the exemplar went through a few px (S11 of
Boutin et al. 2022, M of 2023)."""

from __future__ import annotations

from exemplar.draw.agents.entry import DrawingAgent
from exemplar.draw.agents.trained import make_trained, recipes_of

DAGAN_RN = DrawingAgent(
    "dagan-rn",
    "the same without skip connections, trained on Omniglot",
    make_trained("dagan-rn"),
    recipes=recipes_of("dagan-rn"),
)
