"""The networks of the VAEs by name, as cards name them."""

from __future__ import annotations

from exemplar.draw.vae.statistician import VaeNs
from exemplar.draw.vae.stn import VaeStn

NETWORKS = {"vae-stn": VaeStn, "vae-ns": VaeNs}
