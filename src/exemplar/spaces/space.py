"""What a space is: it turns images into features, and has an identity under which these can be kept.

The identity is a digest of architecture, weights, preprocessing and layer. Features are kept by identity × fingerprint of
the images, and a few of them are computed again before kept ones are believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.files import DAMAGE, first_line, whole_file
from exemplar.images.concepts import ConceptSet
from exemplar.images.pixels import binarised, resize
from exemplar.images.sources import cache_folder
from exemplar.spaces.stages import layer_features, layer_shapes

Images = np.ndarray | ConceptSet  # (n, h, w[, 3]) uint8, or float in [0, 1], which is seen in 256 levels
CPU_BATCH = 16  # images that stay in a processor's cache: conv4 is 3 times faster than with 256
GPU_BATCH = 512
N_PROBES = 4  # images computed again before kept features are believed


@dataclass(frozen=True)
class DrawingInput:
    """How drawings reach a critic: resized (bilinear), rescaled to fill [0, 1] each, ink 1 where above the threshold."""

    size: tuple[int, int] = (50, 50)
    threshold: float = 0.5
    channels: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_size(self.size)
        if not 0 < self.threshold < 1:
            raise UserError(f"the threshold {self.threshold} must lie between 0 and 1")

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """images: (n, h, w) uint8 → (n, 1, *size) float32, ink 1, paper 0."""
        if images.ndim != 3:
            raise UserError("drawings have one channel, these images have 3: turn them grey first")
        return binarised(resize(images, self.size), self.threshold)[:, None] / np.float32(255)


@dataclass(frozen=True)
class PhotoInput:
    """How photographs reach a network: resized (bilinear), then (pixel − mean) / scale, both in grey levels of 0 to 255.

    Grey images are seen as colour images whose channels are alike.
    """

    size: tuple[int, int]
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: tuple[float, float, float] = (255.0, 255.0, 255.0)
    channels: ClassVar[int] = 3

    def __post_init__(self) -> None:
        _check_size(self.size)
        if len(self.mean) != 3 or len(self.scale) != 3 or not min(self.scale) > 0:
            raise UserError("a photograph needs three means and three scales above 0, one a channel")

    def prepare(self, images: np.ndarray) -> np.ndarray:
        """images: (n, h, w[, 3]) uint8 → (n, 3, *size) float32."""
        pixels = resize(images, self.size)
        colour = pixels if pixels.ndim == 4 else np.repeat(pixels[..., None], 3, axis=3)
        scaled = (colour - np.array(self.mean, np.float32)) / np.array(self.scale, np.float32)
        return np.moveaxis(scaled, 3, 1)


Input = DrawingInput | PhotoInput


class Space(Protocol):
    """A way to see. Two spaces of one identity give the same features."""

    @property
    def name(self) -> str: ...

    @property
    def layer(self) -> str:
        """The layer whose output the features are; "" is the last."""

    @property
    def input(self) -> Input:
        """What it takes (size, channels) and how images are made so."""

    @property
    def identity(self) -> str: ...

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, one row an image."""


@dataclass(frozen=True, eq=False)
class NetworkSpace:
    """A layer of a torch network. network: takes (n, channels, *size) float32; layer: its name, or "" for the output;
    batch: images a forward pass, None for what suits the device."""

    name: str
    network: nn.Module
    input: Input
    layer: str = ""
    batch: int | None = None

    def __post_init__(self) -> None:
        layers = dict(self.network.named_modules(remove_duplicate=False))
        if self.layer not in layers:
            raise unknown(f"layer in {self.name}", self.layer, [layer for layer in layers if layer])
        if self.batch is not None and self.batch < 1:
            raise UserError(f"a batch of {self.batch} images is none: give at least 1")

    @property
    def identity(self) -> str:
        """Computed anew at each call: a network that is trained on is another space."""
        weights = {name: _bytes(tensor) for name, tensor in self.network.state_dict().items()}
        kind = type(self.network)
        return seeds.digest(
            "network space",
            f"{kind.__module__}.{kind.__qualname__}",
            repr(self.network),
            weights,
            self.input,
            self.layer,
        )

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, in evaluation mode. device: auto, cpu, cuda or cuda:N; the network stays there."""
        place, n = find_device(device), _count(images)
        batch = self.batch or (CPU_BATCH if place.type == "cpu" else GPU_BATCH)
        holder, layer = (self.network, self.layer) if self.layer else (nn.Sequential(self.network), "0")
        blank = torch.zeros(1, self.input.channels, *self.input.size, device=place)
        with _evaluating(self.network, place):
            try:
                (shape,) = layer_shapes(holder, [layer], blank).values()
                out = np.empty((n, int(np.prod(shape))), np.float32)
                for start in range(0, n, batch):
                    seen = torch.from_numpy(self.input.prepare(_take(images, start, start + batch))).to(place)
                    # copied at once: a network may go on to overwrite what a layer gave
                    keep = {layer: lambda features: features.to(torch.float32, copy=True)}
                    out[start : start + len(seen)] = layer_features(holder, keep, seen)[layer]
            except torch.OutOfMemoryError as problem:
                raise UserError(f"{batch} images at once are too many for {place}: lower the batch") from problem
            except RuntimeError as problem:
                size = f"{self.input.size[0]} × {self.input.size[1]} px with {self.input.channels} channels"
                raise UserError(
                    f"{self.name} cannot see images of {size} ({first_line(problem)}): give it the input it was made for"
                ) from problem
        if not np.isfinite(out).all():
            raise UserError(f"{self.name} gives features that are not finite: its weights are damaged, load it again")
        return out


@dataclass(frozen=True)
class PixelSpace:
    """The simplest space: the pixels themselves. blur: standard deviation of a Gaussian in px, 0 for none."""

    input: Input
    blur: float = 0.0
    layer: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not 0 <= self.blur < float("inf"):
            raise UserError(f"a blur of {self.blur} px cannot be: give 0 or more")

    @property
    def name(self) -> str:
        return f"pixels-blur{self.blur:g}" if self.blur else "pixels"

    @property
    def identity(self) -> str:
        return seeds.digest("pixel space", self.input, float(self.blur))

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, channels · h · w) float32. There is nothing to compute that another device would do faster."""
        find_device(device)
        down, across = (blurring(side, self.blur) for side in self.input.size)
        out = np.empty((_count(images), self.input.channels * self.input.size[0] * self.input.size[1]), np.float32)
        for start in range(0, len(out), 1024):
            planes = self.input.prepare(_take(images, start, start + 1024))
            if self.blur:
                planes = down @ planes @ across.T
            out[start : start + len(planes)] = planes.reshape(len(planes), -1)
        return out


def blurring(side: int, deviation: float) -> np.ndarray:
    """(side, side) float32, rows sum to 1: a Gaussian that is cut and renormalised at the border."""
    if not deviation:
        return np.eye(side, dtype=np.float32)
    distance = np.arange(side) - np.arange(side)[:, None]
    weight = np.exp(-0.5 * np.square(distance / deviation))
    return (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)


def encode_kept(space: Space, images: ConceptSet, *, device: str = "auto", folder: Path | None = None) -> np.ndarray:
    """As `space.encode`, but kept in a folder (the user's cache) for the next time: (n, d) float32.

    A kept file counts only if it is whole, was made for this space, these images and this kind of device, and if the features
    of a few images come out the same when computed again; else it is made anew.
    """
    kind = find_device(device).type
    key = (space.identity, images.fingerprint, kind)
    path = (folder or cache_folder() / "features") / f"{'-'.join(key)}.npy"
    kept = _read_kept(path, key)
    if kept is not None and len(kept) == len(images):
        rows = np.unique(np.linspace(0, len(images) - 1, N_PROBES).astype(int))
        again = space.encode(images.take(rows), device=device)
        # batches of another size may round otherwise; a network whose code has changed differs by more
        if again.shape == kept[rows].shape and np.abs(again - kept[rows]).max() <= 0.01 * np.abs(again).max():
            return kept
    features = space.encode(images, device=device)
    with (
        suppress(UserError),
        whole_file(path) as part,
        part.open("wb") as file,
    ):  # a full disk costs time, not the result
        np.lib.format.write_array(file, features, allow_pickle=False)
        file.write(seeds.digest(key, features).encode())
    return features


def find_device(name: str) -> torch.device:
    """auto (a GPU where there is one), cpu, cuda, or cuda:N."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda" if n_gpus else "cpu")
    found = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if found is None:
        raise unknown("device", name, ("auto", "cpu", "cuda"))
    if name != "cpu" and int(found[1] or 0) >= n_gpus:
        raise UserError(f"there is no {name} among the {n_gpus} GPUs that torch can use here: say cpu or auto")
    return torch.device(name)


def as_bytes(images: np.ndarray) -> np.ndarray:
    """(n, h, w[, 3]) uint8 from images that are so already, or are floats in [0, 1]; anything else is the user's mistake."""
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] != 3) or 0 in images.shape[1:3]:
        raise UserError(f"images must be (n, h, w) or (n, h, w, 3), of at least 1 × 1 px, these are {images.shape}")
    if images.dtype == np.uint8:
        return images
    if not np.issubdtype(images.dtype, np.floating):
        raise UserError(f"images must be uint8, or floats from 0 to 1, these are {images.dtype}")
    if not (np.isfinite(images).all() and images.min(initial=0) >= 0 and images.max(initial=0) <= 1):
        raise UserError("images of floats must lie between 0 and 1, some of these do not, or are NaN: rescale them")
    return np.rint(images * 255).astype(np.uint8)


def _take(images: Images, start: int, stop: int) -> np.ndarray:
    if isinstance(images, ConceptSet):
        return images.take(np.arange(start, min(stop, len(images))))
    return as_bytes(images[start:stop])


def _count(images: Images) -> int:
    if not isinstance(images, ConceptSet):
        as_bytes(images[:1])
    if len(images) == 0:
        raise UserError("there are no images to encode: give at least one")
    return len(images)


def _read_kept(path: Path, key: tuple[str, ...]) -> np.ndarray | None:
    """What was kept under this key, or None where there is nothing, or nothing to be trusted."""
    try:
        with path.open("rb") as file:
            features = np.lib.format.read_array(file, allow_pickle=False)
            ending = file.read()
    except DAMAGE:
        return None
    whole = features.dtype == np.float32 and features.ndim == 2 and ending == seeds.digest(key, features).encode()
    return features if whole else None


@contextmanager
def _evaluating(network: nn.Module, device: torch.device) -> Iterator[None]:
    """In evaluation mode on a device; each module's mode is given back afterwards."""
    modes = {module: module.training for module in network.modules()}
    network.eval().to(device)
    if device.type == "cpu" and all(weight.ndim <= 4 for weight in network.parameters()):
        # the same numbers in another order: convolutions run up to twice as fast
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _bytes(tensor: Tensor) -> tuple[str, tuple[int, ...], np.ndarray]:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return str(tensor.dtype), tuple(tensor.shape), flat.view(torch.uint8).numpy()  # NumPy has no bfloat16


def _check_size(size: tuple[int, int]) -> None:
    if len(size) != 2 or min(size) < 1:
        raise UserError(f"an input of size {size} cannot be: give height and width in px, at least 1")
