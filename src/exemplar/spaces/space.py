"""What a space is: it turns images into features, and has an identity under which these can be kept.

The identity is a digest of architecture, weights, preprocessing and layer. Features are kept by identity × fingerprint of
the images, and count only for the program that made them. A network with code of one's own in it has no identity, for nothing
tells when that code has changed: its features are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.files import DAMAGE, first_line, whole_file
from exemplar.images.concepts import ConceptSet
from exemplar.images.sources import cache_folder
from exemplar.spaces.devices import find_device
from exemplar.spaces.inputs import Input, as_bytes
from exemplar.spaces.stages import layer_features, layer_shapes
from exemplar.store import package_sources

if TYPE_CHECKING:
    from exemplar.spaces.zoo import Card

Images = np.ndarray | ConceptSet  # (n, h, w[, 3]) uint8, or float in [0, 1], which is seen in 256 levels
CPU_BATCH = 16  # images that stay in a processor's cache: conv4 is 3 times faster than with 256
GPU_BATCH = 512
KNOWN = ("torch", "exemplar", "timm", "transformers")  # packages whose modules do what their attributes and weights say


class Space(Protocol):
    """A way to see."""

    @property
    def name(self) -> str: ...

    @property
    def layer(self) -> str:
        """The layer whose output the features are; "" is the last."""

    @property
    def input(self) -> Input:
        """What it takes (size, channels) and how images are made so."""

    @property
    def identity(self) -> str:
        """Two spaces of one identity give the same features; "" where that cannot be known, and nothing is kept."""

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, one row an image."""


@dataclass(frozen=True, eq=False)
class NetworkSpace:
    """A layer of a torch network. network: takes (n, channels, *size) float32; layer: its name, or "" for the output;
    batch: images a forward pass, None for what suits the device; card: what a space that was loaded says of its training, no
    part of its identity."""

    name: str
    network: nn.Module
    input: Input
    layer: str = ""
    batch: int | None = None
    card: Card | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        layers = dict(self.network.named_modules(remove_duplicate=False))
        if self.layer not in layers:
            raise unknown(f"layer in {self.name}", self.layer, [layer for layer in layers if layer])
        if self.batch is not None and self.batch < 1:
            raise UserError(f"a batch of {self.batch} images is none: give at least 1")

    @property
    def identity(self) -> str:
        """Computed anew at each call: a network that is trained on is another space. "" where code that is neither torch's nor
        a package's is part of it."""
        modules = dict(self.network.named_modules(remove_duplicate=False))
        if not all(map(_is_known, modules.values())):
            return ""
        return seeds.digest(
            "network space",
            {name: _settings(module) for name, module in modules.items()},
            {name: _bytes(tensor) for name, tensor in _tensors(self.network).items()},
            self.input,
            self.layer,
        )

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, in evaluation mode. device: auto, cpu, cuda or cuda:N; the network stays there."""
        place, n = find_device(device), _count(images)
        batch = self.batch or (CPU_BATCH if place.type == "cpu" else GPU_BATCH)
        holder, layer = (self.network, self.layer) if self.layer else (nn.Sequential(self.network), "0")
        with _evaluating(self.network, place):
            try:
                blank = torch.zeros(1, self.input.channels, *self.input.size, device=place)
                (shape,) = layer_shapes(holder, [layer], blank).values()
                out = np.empty((n, int(np.prod(shape))), np.float32)
                # copied at once: a network may go on to overwrite what a layer gave
                keep = {layer: lambda features: features.to(torch.float32, copy=True)}
                for start in range(0, n, batch):
                    seen = torch.from_numpy(self.input.prepare(_take(images, start, start + batch))).to(place)
                    out[start : start + len(seen)] = layer_features(holder, keep, seen)[layer]
                alone, beside = (
                    layer_features(holder, keep, torch.cat((seen[:1], *others)))[layer][0] for others in ((), (blank,))
                )
            except torch.OutOfMemoryError as problem:
                raise UserError(f"{batch} images at once are too many for {place}: lower the batch") from problem
            except RuntimeError as problem:
                size = f"{self.input.size[0]} × {self.input.size[1]} px with {self.input.channels} channels"
                raise UserError(
                    f"{self.name} cannot see images of {size} ({first_line(problem)}): give it the input it was made for"
                ) from problem
        if np.abs(alone - beside).max() > 0.01 * np.abs(alone).max():
            raise UserError(
                f"{self.name} normalises by the batch, so that no image has features of its own: adapt it to tasks "
                "(exemplar.spaces.objectives.maml), or use another space"
            )
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

    A kept file counts only if it is whole and was made for this space, these images and this kind of device, by this very
    program; else it is made anew. Nothing is kept of a space without identity.
    """
    kind, identity = find_device(device).type, space.identity
    if not identity:
        return space.encode(images, device=device)
    name = (identity, images.fingerprint, kind)
    path = (folder or cache_folder() / "features") / f"{'-'.join(name)}.npy"
    key = (*name, *_program())
    kept = _read_kept(path, key)
    if kept is not None and len(kept) == len(images):
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


def _program() -> list[str]:
    """What computes features: this package's code, and the versions of those whose modules are known."""
    found = [package_sources()]
    for package in KNOWN:
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return found


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


def _is_known(module: nn.Module) -> bool:
    """Whether its class is one of a package, and nothing was hung on this one of its kind that changes what it does."""
    changed = module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
    return not changed and type(module).__module__.partition(".")[0] in KNOWN


def _settings(module: nn.Module) -> tuple[str, str, dict[str, str]]:
    """What a module is besides its tensors and parts: class, what it tells of itself, and plain attributes."""
    kind = type(module)
    plain = {
        name: repr(value)
        for name, value in vars(module).items()
        if name != "training" and isinstance(value, bool | int | float | str | tuple | None)
    }
    return f"{kind.__module__}.{kind.__qualname__}", module.extra_repr(), plain


def _tensors(network: nn.Module) -> dict[str, Tensor]:
    """Its parameters and buffers, those too that a state dict leaves out."""
    return {**dict(network.named_parameters()), **dict(network.named_buffers())}


def _bytes(tensor: Tensor) -> tuple[str, tuple[int, ...], np.ndarray]:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return str(tensor.dtype), tuple(tensor.shape), flat.view(torch.uint8).numpy()  # NumPy has no bfloat16
