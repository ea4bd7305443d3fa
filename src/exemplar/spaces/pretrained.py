"""Pretrained networks by name: EfficientNet-lite, whose weights are installed, and those of timm and transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from exemplar.errors import UserError, unknown
from exemplar.files import first_line
from exemplar.spaces.inputs import PhotoInput
from exemplar.spaces.networks import efficientnet_lite


@dataclass(frozen=True)
class Encoder:
    """A network and what it takes.

    name: what stands before the layer in a stage's name; network: in evaluation mode, takes what `input` prepares.
    """

    name: str
    network: nn.Module
    input: PhotoInput

    def prepare(self, images: np.ndarray) -> Tensor:
        """images: (n, h, w) grey or (n, h, w, 3) RGB uint8, any size → (n, 3, *size) float32."""
        return torch.from_numpy(self.input.prepare(images))


def is_pretrained(name: str) -> bool:
    """Whether a name is that of a pretrained network or of a stage of one; before other slashes stand folders."""
    network = name.partition("/")[0]
    return network in efficientnet_lite.NETWORKS or (":" in network and network.partition(":")[0] in SOURCES)


def is_nearly_pretrained(name: str) -> bool:
    """Whether what stands before the first slash is close to the name of a network without being one: a typing mistake."""
    network = name.partition("/")[0]
    return not is_pretrained(name) and bool(get_close_matches(network, efficientnet_lite.NETWORKS, cutoff=0.7))


def unknown_network(name: str) -> UserError:
    return unknown("network", name, [*efficientnet_lite.NETWORKS, *(f"{source}:NAME" for source in SOURCES)])


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
        raise UserError(f"{package} cannot be imported ({reason}): pip install 'exemplar-lab[encoders]'") from problem


def _not_loaded(name: str, problem: Exception) -> UserError:
    return UserError(f"{name} cannot be loaded ({first_line(problem)}): check the name, and the way to the internet")


def _encoder(
    name: str, network: nn.Module, size: Sequence[int], mean: Sequence[float], std: Sequence[float]
) -> Encoder:
    """mean, std: three each, for pixels in [0, 1]."""
    centre, scale = (tuple(255.0 * value for value in values) for values in (mean, std))
    taken = PhotoInput((size[0], size[1]), centre, scale)  # type: ignore[arg-type]
    return Encoder(name, network.eval().requires_grad_(False), taken)
