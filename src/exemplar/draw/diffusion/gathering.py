"""What an agent is trained on: drawings of a data set or of your own, at its own size, with the exemplar of each concept."""

from __future__ import annotations

from dataclasses import replace

from exemplar.draw.default_critics import defaults_of
from exemplar.draw.presets import DATA
from exemplar.draw.trainable import DataSetting
from exemplar.errors import UserError
from exemplar.images.catalogue import CATALOGUE, load
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.cards import same_names
from exemplar.spaces.encoding import encode_kept
from exemplar.spaces.exemplars import central_exemplars
from exemplar.spaces.training.images import TrainingImages
from exemplar.spaces.zoo import load_space


def find_setting(data: str, split: str | None) -> DataSetting:
    """How a data set is trained on: as DATA says, or with the defaults; the name of a folder or file is its own."""
    if data in DATA:
        setting = DATA[data]
        return setting if split is None else replace(setting, data=(data, split))
    if data in CATALOGUE:
        if not CATALOGUE[data].drawn:
            raise UserError(f"{data} holds photographs, and an agent learns from drawings: give --data omniglot, say")
        return DataSetting((data, split or CATALOGUE[data].default), 0)
    return DataSetting((data, split or ""), 0)


def gather_images(
    setting: DataSetting, *, size: int, exemplars: bool, hold_out: str | None, device: str
) -> tuple[TrainingImages, DataSetting]:
    """The drawings, ink 255, and the setting completed: how many there are, and which space chose the exemplars.

    size: px; exemplars: whether they are needed; hold_out: a split whose concepts are left out and evaluated on."""
    name, split = setting.data
    held_out = None
    if hold_out is not None:
        held_out = _prepare(load(name, hold_out), setting, size, exemplars, device)[0]
    data = load(name, split or None)
    if held_out is not None:
        same = same_names(held_out.names, data.concepts, data.name, listed=False)  # whole categories of sketches
        left = sorted(set(data.concepts) - same)
        if not left:
            raise UserError(f"nothing is left to train on without the concepts of {hold_out}: hold out another split")
        data = data.only(concepts=left)
    images, space = _prepare(data, setting, size, exemplars, device)
    done = replace(setting, images=len(data), exemplars=space, data=(name if split else data.name, split))
    return replace(images, held_out=held_out), done


def _prepare(
    data: ConceptSet, setting: DataSetting, size: int, exemplars: bool, device: str
) -> tuple[TrainingImages, str | None]:
    if len(data.shape) != 2:
        raise UserError(f"{data.name} has colour, and an agent learns from drawings: save them with one channel")
    small, space, rows = data.resized(size, binarise=setting.threshold), None, data.exemplars
    if rows is None and exemplars:
        space = setting.exemplars or defaults_of(data).centre
        rows = central_exemplars(encode_kept(load_space(space), small, device=device), small.concept.code)
    return TrainingImages.of(small.images, small.concept.code, small.concept.names, rows), space
