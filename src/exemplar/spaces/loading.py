"""Any space by its name: the pixels, a stage of a pretrained network, one that ships, or one of your own."""

from __future__ import annotations

from exemplar.errors import UserError, unknown
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.pretrained import is_pretrained
from exemplar.spaces.projection import PROJECTIONS
from exemplar.spaces.space import PixelSpace, Space
from exemplar.spaces.stage_space import load_stage
from exemplar.spaces.zoo import load_space

PIXELS = "pixels"
PIXELS_SIZE = 16  # px per side, in grey, as the images' chapter of the tour compares them


def find_space(name: str, layer: str | None = None, projection: str | None = None) -> Space:
    """A space by name, as `exemplar.spaces.load` takes it; options that it does not have are refused."""
    if name == PIXELS:
        _refuse(layer, "the pixels have no layers: leave --layer out")
        _refuse(projection, "the pixels are never projected: leave --projection out")
        return PixelSpace(PhotoInput((PIXELS_SIZE, PIXELS_SIZE)))
    if not is_pretrained(name):
        space = load_space(name, layer=layer)
        _refuse(
            projection, f"{name} is never projected, only stages of pretrained networks are: leave --projection out"
        )
        return space
    _refuse(layer, f"{name} names its layer already: leave --layer out")
    projections = {**PROJECTIONS, "none": None}
    asked = "sparse" if projection is None else projection
    if asked not in projections:
        raise unknown("projection", asked, projections)
    return load_stage(name, projections[asked])


def _refuse(option: str | None, sentence: str) -> None:
    if option is not None:
        raise UserError(sentence)
