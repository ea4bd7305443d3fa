"""Who scores drawings unless critics are named: the one table in which a default moves."""

from __future__ import annotations

from dataclasses import dataclass

from exemplar.images.concepts import ConceptSet
from exemplar.spaces.cards import SAME_IMAGES


@dataclass(frozen=True)
class DefaultCritics:
    """see, recognise: recipes, of which every seed that ships scores diversity and originality, or recognizability;
    centre: the space in which exemplars are central (Eq. 1); title: the data set's name in a sentence, remark: what to know of
    them."""

    see: str
    recognise: str
    centre: str
    title: str
    remark: str = ""


# By family: data sets with critics of their own. Omniglot's SimCLR is trained with the views of the authors' released code,
# with which the published controls were made; `simclr-omniglot` has those of the text.
DEFAULTS = {
    "omniglot": DefaultCritics(
        "simclr-omniglot-released", "protonet-omniglot-released", "simclr-omniglot-released-s0", "Omniglot"
    ),
    "glyphs": DefaultCritics("simclr-glyphs", "protonet-glyphs", "simclr-glyphs-s0", "glyphs"),
    "quickdraw": DefaultCritics(
        "simclr-quickdraw-nearest",
        "protonet-quickdraw-parts",
        "simclr-quickdraw-nearest-s0",
        "Quick, Draw!",
        "the shipped ProtoNet is a conv4, not the ResNet of the paper",
    ),
}
FALLBACK = "omniglot"  # whose critics see data of no family


def family_of(data: ConceptSet | str) -> str:
    """The family with critics of its own that data belongs to; "" if none. data: the set, which knows; or a data set of the
    catalogue by name, as in "omniglot" or "omniglot/weak-test"."""
    family = data.partition("/")[0] if isinstance(data, str) else data.family
    family = SAME_IMAGES.get(family, family)
    return family if family in DEFAULTS else ""


def defaults_of(data: ConceptSet | str) -> DefaultCritics:
    return DEFAULTS[family_of(data) or FALLBACK]
