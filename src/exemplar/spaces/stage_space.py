"""A stage of a pretrained network as a space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar import seeds
from exemplar.spaces.inputs import Images, PhotoInput
from exemplar.spaces.pretrained import Encoder, load_encoder
from exemplar.spaces.projection import Projection
from exemplar.spaces.space import NetworkSpace
from exemplar.spaces.stages import SPARSE, encode_layers, split_stage


@dataclass(frozen=True)
class StageSpace:
    """A stage as a space: a layer of a network, projected to at most 2,048 features. layer: its name in the network;
    projection: None leaves features as they are."""

    encoder: Encoder
    layer: str
    projection: Projection | None = SPARSE

    @property
    def name(self) -> str:
        return f"{self.encoder.name}/{self.layer}"

    @property
    def input(self) -> PhotoInput:
        return self.encoder.input

    @property
    def identity(self) -> str:
        network = NetworkSpace(self.name, self.encoder.network, self.encoder.input, self.layer).identity
        return network and seeds.digest("stage space", network, repr(self.projection))

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, d at most that of the projection."""
        return encode_layers(self.encoder, [self.layer], images, projection=self.projection, device=device)[self.layer]

    def width(self, *, device: str = "auto") -> int:
        """How many features the layer has itself, before any projection."""
        blank = np.zeros((1, *self.input.size), np.uint8)
        return encode_layers(self.encoder, [self.layer], blank, projection=None, device=device)[self.layer].shape[1]


def load_stage(name: str, projection: Projection | None = SPARSE) -> StageSpace:
    """`efficientnet-lite0/block03`, `timm:resnet50/layer3`, …: see `exemplar spaces list`. projection: None for none."""
    network, layer = split_stage(name)
    return StageSpace(load_encoder(network), layer, projection)
