"""Who scores drawings unless critics are named: the one table in which a default moves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DefaultCritics:
    """see, recognise: recipes, of which every seed that ships scores diversity and originality, or recognizability;
    centre: the space in which exemplars are central (Eq. 1)."""

    see: str
    recognise: str
    centre: str


# By family: data sets with critics of their own. Omniglot's SimCLR is trained with the views of the authors' released code,
# with which the published controls were made; `simclr-omniglot` has those of the text.
DEFAULTS = {
    "omniglot": DefaultCritics("simclr-omniglot-released", "protonet-omniglot", "simclr-omniglot-released-s0"),
    "glyphs": DefaultCritics("simclr-glyphs", "protonet-glyphs", "simclr-glyphs-s0"),
    "quickdraw": DefaultCritics("simclr-quickdraw", "protonet-quickdraw", "simclr-quickdraw-s0"),
}
