"""Encoding stages: what the layers of a pretrained network make of an image, as features.

A stage is `NETWORK/LAYER`: `efficientnet-lite0/block03`, `timm:resnet50/layer3`, `transformers:facebook/dinov2-small/encoder`.
Several stages of a network cost one forward pass; each layer's output is projected as soon as it is there, so that memory
does not grow with the layers or the images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from exemplar.errors import UserError, shortened, unknown
from exemplar.files import first_line
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import Pixels, Plain
from exemplar.spaces.devices import find_device
from exemplar.spaces.inputs import PhotoInput, as_bytes
from exemplar.spaces.networks import efficientnet_lite
from exemplar.spaces.projection import PROJECTIONS, Map, Projection, unchanged

# (n, h, w[, 3]) uint8, or float in [0, 1], which is seen in 256 levels; or a store that gives out bytes by row
Images = np.ndarray | Pixels | ConceptSet
SPARSE = PROJECTIONS["sparse"]  # what large features go through unless told otherwise


@dataclass(frozen=True)
class Encoder:
    """A network and what it wants to see.

    name: what stands before the layer in a stage's name; network: in evaluation mode, takes what `input` prepares.
    """

    name: str
    network: nn.Module
    input: PhotoInput

    def prepare(self, images: np.ndarray) -> Tensor:
        """images: (n, h, w) grey or (n, h, w, 3) RGB uint8, any size → (n, 3, *size) float32."""
        return torch.from_numpy(self.input.prepare(images))


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


def is_pretrained(name: str) -> bool:
    """Whether a name is that of a pretrained network or of a stage of one; before other slashes stand folders."""
    network = name.partition("/")[0]
    return network in efficientnet_lite.NETWORKS or (":" in network and network.partition(":")[0] in SOURCES)


def is_nearly_pretrained(name: str) -> bool:
    """Whether what stands before the first slash is close to the name of a network, and none: a slip of the hand."""
    network = name.partition("/")[0]
    return not is_pretrained(name) and bool(get_close_matches(network, efficientnet_lite.NETWORKS, cutoff=0.7))


def unknown_network(name: str) -> UserError:
    return unknown("network", name, [*efficientnet_lite.NETWORKS, *(f"{source}:NAME" for source in SOURCES)])


def split_stage(name: str) -> tuple[str, str]:
    """`efficientnet-lite0/block03` → its network and its layer."""
    network, _, layer = name.rpartition("/")
    if not network or not layer:
        asked = name.strip("/")
        known = list(efficientnet_lite.stage_shapes(asked)) if asked in efficientnet_lite.NETWORKS else []
        layers = f"; its layers are {', '.join(known[:2])} … {', '.join(known[-3:])}" if known else ""
        raise UserError(f"{name!r} is no stage: write NETWORK/LAYER, as in efficientnet-lite0/block03{layers}")
    return network, layer


def load_encoder(name: str) -> Encoder:
    """`efficientnet-lite0` to `-lite2`, or `timm:NAME` and `transformers:NAME` with the extra `encoders` and network access."""
    source, _, model = name.partition(":")
    if source in SOURCES and model:
        return SOURCES[source](name, model)
    if name not in efficientnet_lite.NETWORKS:
        raise unknown_network(name)
    side, mean, scale = efficientnet_lite.SIZE, efficientnet_lite.MEAN, efficientnet_lite.SCALE
    network = efficientnet_lite.load_efficientnet_lite(name)
    return Encoder(name, network, PhotoInput((side, side), (mean, mean, mean), (scale, scale, scale)))


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
    is_store = hasattr(images, "take") and not isinstance(images, np.ndarray | Tensor)
    store = images if is_store else Plain(as_bytes(images))  # type: ignore[arg-type]
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


def layer_features(network: nn.Module, maps: Mapping[str, Map], x: Tensor) -> dict[str, np.ndarray]:
    """What layers of any torch module make of its input x, from one forward pass that ends at the last of them.

    maps: layer name → what is done with its flattened output (n, d), at once. Returns layer → (n, d') float32.
    """
    found: dict[str, np.ndarray] = {}

    def keep(layer: str, output: Tensor) -> None:
        found[layer] = maps[layer](output.flatten(1)).cpu().numpy()
        if len(found) == len(maps):
            raise _Enough

    _run(network, maps, x, keep)
    return {layer: found[layer] for layer in maps}


def layer_shapes(network: nn.Module, layers: Iterable[str], x: Tensor) -> dict[str, tuple[int, ...]]:
    """Layer → shape of its output for one image, found by a forward pass of x. Each layer must be used once in it."""
    shapes: dict[str, list[tuple[int, ...]]] = {layer: [] for layer in layers}
    _run(network, shapes, x, lambda layer, output: shapes[layer].append(tuple(output.shape[1:])))
    for layer, seen in shapes.items():
        if len(seen) != 1:
            raise UserError(f"the layer {layer!r} is used {len(seen)} times in a forward pass: choose one used once")
    return {layer: seen[0] for layer, seen in shapes.items()}


class _Enough(Exception):
    """Raised inside a forward pass that need not go on."""


def _run(network: nn.Module, layers: Iterable[str], x: Tensor, see: Callable[[str, Tensor], None]) -> None:
    """One forward pass; `see` gets each named layer's output the moment it is there. Leaves no hook behind."""
    known = dict(network.named_modules(remove_duplicate=False))
    del known[""]
    for layer in layers:
        if layer not in known:
            raise unknown("layer", layer, known)
    if not layers:
        raise UserError(f"name at least one layer: there are {shortened(known)}")

    def hook(layer: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda _module, _inputs, output: see(layer, _first_tensor(output, layer, len(x)))

    handles = [known[layer].register_forward_hook(hook(layer)) for layer in layers]
    try:
        with torch.inference_mode(), suppress(_Enough):
            network(x)
    finally:
        for handle in handles:
            handle.remove()


def _first_tensor(output: Any, layer: str, n: int) -> Tensor:
    """What a layer gave, or the first thing in it: transformer layers return tuples or records."""
    while not isinstance(output, Tensor) and isinstance(output, tuple | list | Mapping) and len(output):
        output = next(iter(output.values())) if isinstance(output, Mapping) else output[0]
    if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != n:
        given = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise UserError(f"the layer {layer!r} gives {given}, not one row an image: choose another layer")
    return output


def _load_timm(name: str, model: str) -> Encoder:
    timm = _extra("timm")
    try:
        network = timm.create_model(model, pretrained=True)
    except Exception as problem:  # an unknown name, no network, a gated model: each library has its own errors for them
        raise _not_loaded(name, problem) from problem
    config = timm.data.resolve_model_data_config(network)
    return _encoder(name, network, config["input_size"][-2:], config["mean"], config["std"])


def _load_transformers(name: str, model: str) -> Encoder:
    transformers = _extra("transformers")
    try:
        network = transformers.AutoModel.from_pretrained(model, use_safetensors=True)  # nothing is unpickled
        processor = transformers.AutoImageProcessor.from_pretrained(model)
    except Exception as problem:
        raise _not_loaded(name, problem) from problem
    if network.main_input_name != "pixel_values":
        raise UserError(
            f"{name} does not take images alone: choose a vision model, such as transformers:facebook/dinov2-small"
        )
    sides = processor.crop_size if getattr(processor, "do_center_crop", False) else processor.size
    size = [sides[side] for side in (("height", "width") if "height" in sides else ("shortest_edge", "shortest_edge"))]
    return _encoder(name, network, size, processor.image_mean, processor.image_std)


SOURCES: dict[str, Callable[[str, str], Encoder]] = {"timm": _load_timm, "transformers": _load_transformers}


def _extra(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as problem:
        reason = first_line(problem)  # itself absent, or something that it needs
        raise UserError(f"{package} cannot be imported ({reason}): pip install 'exemplar[encoders]'") from problem


def _not_loaded(name: str, problem: Exception) -> UserError:
    return UserError(f"{name} cannot be loaded ({first_line(problem)}): check the name, and the way to the internet")


def _encoder(
    name: str, network: nn.Module, size: Sequence[int], mean: Sequence[float], std: Sequence[float]
) -> Encoder:
    """mean, std: three each, for pixels in [0, 1]."""
    centre, scale = (tuple(255.0 * value for value in values) for values in (mean, std))
    seen = PhotoInput((size[0], size[1]), centre, scale)  # type: ignore[arg-type]
    return Encoder(name, network.eval().requires_grad_(False), seen)
