"""Encoding stages: what the layers of a pretrained network make of an image, as features.

A stage is `NETWORK/LAYER`: `efficientnet-lite0/block03`, `timm:resnet50/layer3`, `transformers:facebook/dinov2-small/encoder`.
Several stages of a network cost one forward pass; each layer's output is projected as soon as it is there, so that memory
does not grow with the layers or the images.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from exemplar.errors import UserError
from exemplar.images.pixels import Plain
from exemplar.spaces.devices import find_device
from exemplar.spaces.inputs import Images, as_bytes, is_store
from exemplar.spaces.layers import layer_features, layer_shapes
from exemplar.spaces.networks import efficientnet_lite
from exemplar.spaces.pretrained import Encoder, load_encoder
from exemplar.spaces.projection import PROJECTIONS, Map, Projection, unchanged

SPARSE = PROJECTIONS["sparse"]  # what large features go through unless asked otherwise


@dataclass(frozen=True)
class Stage:
    """name: as in `efficientnet-lite0/block03`; shape: of the layer's output for one image, (c, h, w) or (d,)."""

    name: str
    shape: tuple[int, ...]

    @property
    def n_features(self) -> int:
        return math.prod(self.shape)


def list_stages() -> tuple[Stage, ...]:
    """The stages that need no network access: stem, blocks, head and logits of each EfficientNet-lite. Loads no weights."""
    return tuple(
        Stage(f"{network}/{layer}", shape)
        for network in efficientnet_lite.NETWORKS
        for layer, shape in efficientnet_lite.stage_shapes(network).items()
    )


def split_stage(name: str) -> tuple[str, str]:
    """`efficientnet-lite0/block03` → its network and its layer."""
    network, _, layer = name.rpartition("/")
    if not network or not layer:
        asked = name.strip("/")
        known = list(efficientnet_lite.stage_shapes(asked)) if asked in efficientnet_lite.NETWORKS else []
        layers = f"; its layers are {', '.join(known[:2])} … {', '.join(known[-3:])}" if known else ""
        raise UserError(f"{name!r} is no stage: write NETWORK/LAYER, as in efficientnet-lite0/block03{layers}")
    return network, layer


def encode_stages(
    stages: Iterable[str],
    images: Images,
    *,
    projection: Projection | None = SPARSE,
    batch: int = 16,
    device: str = "auto",
) -> dict[str, np.ndarray]:
    """Features of stages by name, of any networks: stage → (n, d) float32, in the order of `stages`; see encode_layers."""
    wanted = _listed(stages, "stages")
    if not wanted:
        raise UserError("there are no stages to encode: name at least one, as in efficientnet-lite0/block03")
    layers: dict[str, list[str]] = {}
    for stage in wanted:
        network, layer = split_stage(stage)
        layers.setdefault(network, []).append(layer)
    features: dict[str, np.ndarray] = {}
    for network, names in layers.items():
        found = encode_layers(load_encoder(network), names, images, projection=projection, batch=batch, device=device)
        features |= {f"{network}/{layer}": array for layer, array in found.items()}
    return {stage: features[stage] for stage in wanted}


def encode_layers(
    encoder: Encoder,
    layers: Sequence[str],
    images: Images,
    *,
    projection: Projection | None = SPARSE,
    batch: int = 16,
    device: str = "auto",
) -> dict[str, np.ndarray]:
    """Layer → (n, d) float32, all from one forward pass; d is at most projection.n_out, or what it is where None is given."""
    whole: dict[str, np.ndarray] = {}
    start = 0
    for part in stream_layers(encoder, layers, images, projection=projection, batch=batch, device=device):
        for layer, features in part.items():
            rows = whole.setdefault(layer, np.empty((len(images), features.shape[1]), np.float32))
            rows[start : start + len(features)] = features
        start += len(features)
    return whole


def stream_layers(
    encoder: Encoder,
    layers: Sequence[str],
    images: Images,
    *,
    projection: Projection | None = SPARSE,
    batch: int = 16,
    device: str = "auto",
) -> Iterator[dict[str, np.ndarray]]:
    """As encode_layers, one batch of images after the other: for what must not be held in memory at once."""
    wanted = _listed(layers, "layers")
    store = images if is_store(images) else Plain(as_bytes(images))  # type: ignore[arg-type]
    if batch < 1 or len(store) == 0:
        raise UserError(f"there is nothing to encode in {len(store)} images by {batch}: give at least 1 of each")
    place = find_device(device)
    network = encoder.network.to(place)
    blank = encoder.prepare(np.zeros((1, *store.shape), np.uint8)).to(place)
    maps: dict[str, Map] = {}
    for layer, shape in layer_shapes(network, wanted, blank).items():
        n_in = math.prod(shape)
        maps[layer] = unchanged(n_in) if projection is None else projection.draw(n_in, place)
    for start in range(0, len(store), batch):
        pixels = store.take(np.arange(start, min(start + batch, len(store))))
        found = layer_features(network, maps, encoder.prepare(pixels).to(place))
        for layer, features in found.items():
            bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
            if len(bad):
                number = start + bad[0]
                raise UserError(f"{encoder.name}/{layer} is not finite for image {number}: are the weights damaged?")
        yield found


def _listed(names: Iterable[str], what: str) -> list[str]:
    """The names, each once; a text alone would be taken for its letters."""
    if isinstance(names, str):
        raise UserError(f"{what} are a list of names, {names!r} is one: write [{names!r}]")
    return list(dict.fromkeys(names))
