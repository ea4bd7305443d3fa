"""A stage of a pretrained network as a space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exemplar import seeds
from exemplar.images.concepts import ConceptSet
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.projection import Projection
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.stages import SPARSE, Encoder, encode_layers, load_encoder, split_stage


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
    network, layer = split_stage(name)
    return StageSpace(load_encoder(network), layer)
