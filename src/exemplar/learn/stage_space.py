"""An experiment's images through one encoding stage of a pretrained network, kept for the next time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.images.concepts import ConceptSet
from exemplar.learn.features import Features
from exemplar.learn.stimuli import Stimuli
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.projection import Projection
from exemplar.spaces.space import NetworkSpace, encode_kept
from exemplar.spaces.stages import SPARSE, Encoder, encode_layers, load_encoder


@dataclass(frozen=True)
class StageSpace:
    """A stage as a space: a layer of a network, projected to what a learner can hold. layer: its name in the network."""

    encoder: Encoder
    layer: str
    projection: Projection = SPARSE

    @property
    def name(self) -> str:
        return f"{self.encoder.name}/{self.layer}"

    @property
    def input(self) -> PhotoInput:
        return self.encoder.input

    @cached_property
    def identity(self) -> str:
        network = NetworkSpace(self.name, self.encoder.network, self.encoder.input, self.layer)
        return seeds.digest("stage space", network.identity, repr(self.projection))

    def encode(self, images: np.ndarray | ConceptSet, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, d at most that of the projection."""
        return encode_layers(self.encoder, [self.layer], images, projection=self.projection, device=device)[self.layer]


def load_stage(name: str) -> StageSpace:
    """`efficientnet-lite0/block03`, `timm:resnet50/layer3`, …: see `exemplar spaces list`."""
    network, _, layer = name.rpartition("/")
    if not network or not layer:
        raise UserError(f"{name!r} is no stage: write NETWORK/LAYER, as in efficientnet-lite0/block03")
    return StageSpace(load_encoder(network), layer)


def check_stage(name: str, device: str) -> None:
    """Say what is wrong with a stage or a device before images are drawn: one small image goes through."""
    space = load_stage(name)
    space.encode(np.zeros((1, 8, 8), np.uint8), device=device)


def encode_stimuli(stage: str, stimuli: Stimuli, *, device: str = "auto") -> Features:
    """Features of all images of an experiment, and of its warm-up images."""
    space = load_stage(stage)
    warmup = encode_kept(space, stimuli.warmup, device=device)  # fewer: what is wrong with a stage shows soon
    images = encode_kept(space, stimuli.pictures, device=device).reshape(*stimuli.shape, -1)
    return Features(images, warmup, stimuli.subtasks, stimuli.image, stimuli.test)
