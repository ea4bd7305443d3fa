"""The network of the GANs by name, as cards name it."""

from __future__ import annotations

from exemplar.draw.gan.generator import Generator

NETWORKS = {"dagan": Generator}
