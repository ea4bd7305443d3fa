"""What a space is: it turns images into features, and has an identity under which these can be kept.

A space is a layer of a network (`NetworkSpace`), a stage of a pretrained one (`stage_space`), or the pixels themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.files import first_line
from exemplar.spaces.devices import find_device
from exemplar.spaces.identity import identify_network, is_known
from exemplar.spaces.inputs import Images, Input, count_images, take_images
from exemplar.spaces.layers import layer_features, layer_shapes
from exemplar.spaces.networks.folding import fold_norms

if TYPE_CHECKING:
    from exemplar.spaces.cards import Card

CPU_BATCH = 16  # images that stay in a processor's cache: conv4 is 3 times faster than with 256
GPU_BATCH = 512
PIXEL_BATCH = 1024


class Space(Protocol):
    """A way to encode images."""

    @property
    def name(self) -> str: ...

    @property
    def layer(self) -> str:
        """The layer whose output the features are; "" is the last."""

    @property
    def input(self) -> Input | None:
        """What it takes (size, channels) and how images are made so; None where it takes them as they are."""

    @property
    def identity(self) -> str:
        """Two spaces of one identity give the same features; "" where that cannot be known, and nothing is kept."""

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, one row per image."""


@dataclass(frozen=True, eq=False)
class NetworkSpace:
    """A layer of a torch network. network: takes (n, channels, *size) float32; layer: its name, or "" for the output;
    batch: images per forward pass, None for what suits the device; card: what a space that was loaded says of its training, no
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
            raise unknown("layer", self.layer, [layer for layer in layers if layer], where=self.name)
        if self.batch is not None and self.batch < 1:
            raise UserError(f"The batch must be at least 1 image, got {self.batch}.")

    @property
    def identity(self) -> str:
        """That of the network as it is now: one that is trained further is another space. "" where code that is neither
        torch's nor a package's is part of it."""
        network = identify_network(self.network)
        return network and seeds.digest("network space", network, self.input, self.layer)

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32, in evaluation mode.

        Args:
            images: a concept set, or (n, h, w[, 3]) uint8 or float in [0, 1], of any size.
            device: auto, cpu, cuda or cuda:N; on a GPU the network stays there.
        """
        return encode_networks([self], images, device=device)[0]


def encode_networks(spaces: Sequence[NetworkSpace], images: Images, *, device: str = "auto") -> list[np.ndarray]:
    """Features (n, d) float32 of the same images in spaces that share input and batch: an image is prepared once for all.

    On a CPU batches of networks without foreign code are always filled up, with blank images, so that the features of an
    image are the same bytes whatever stands beside it.
    """
    place, n, first = find_device(device), count_images(images), spaces[0]
    assert all((space.input, space.batch) == (first.input, first.batch) for space in spaces)
    batch = first.batch or (CPU_BATCH if place.type == "cpu" else GPU_BATCH)
    with ExitStack() as stack:
        passes = [stack.enter_context(_forward_pass(space, place, batch)) for space in spaces]
        found: list[list[np.ndarray]] = [[] for _ in spaces]
        for start in range(0, n, batch):
            rows = np.arange(start, min(start + batch, n))
            prepared = torch.from_numpy(first.input.prepare(take_images(images, rows))).to(place)
            for features, encode in zip(found, passes, strict=True):
                features.append(encode(prepared))
    return [_checked(np.concatenate(features), space) for features, space in zip(found, spaces, strict=True)]


@contextmanager
def _forward_pass(space: NetworkSpace, place: torch.device, batch: int) -> Iterator[Callable[[Tensor], np.ndarray]]:
    """Within, a function from prepared images (m, channels, *size), m ≤ batch, to their features (m, d) float32."""
    known = is_known(space.network)
    folded = fold_norms(space.network, space.layer) if known and place.type == "cpu" else None
    network = space.network if folded is None else folded
    holder, layer = (network, space.layer) if space.layer else (nn.Sequential(network), "0")
    # copied at once: a later layer may overwrite it in place
    keep = {layer: lambda features: _real(features, space).to(torch.float32, copy=True)}
    fill = batch if known and place.type == "cpu" else 0
    checked = False

    def encode(prepared: Tensor) -> np.ndarray:
        nonlocal checked
        with _explained(space, batch, place):
            if not checked:
                checked = True
                _check_alone(space, lambda x: layer_features(holder, keep, x)[layer], prepared[:1])
            m = len(prepared)
            if m < fill:
                prepared = torch.cat((prepared, prepared.new_zeros(fill - m, *prepared.shape[1:])))
            return layer_features(holder, keep, prepared)[layer][:m]

    with _evaluating(network, place):
        with _explained(space, batch, place):
            layer_shapes(holder, [layer], torch.zeros(1, space.input.channels, *space.input.size, device=place))
        yield encode


def _check_alone(space: NetworkSpace, encode: Callable[[Tensor], np.ndarray], image: Tensor) -> None:
    """Whether the features of an image stay the same when it is asked again, and with another one beside it."""
    alone, again, beside = encode(image)[0], encode(image)[0], encode(torch.cat((image, torch.zeros_like(image))))[0]
    most = 0.01 * np.abs(alone).max()
    if np.abs(alone - again).max() > most:
        raise UserError(
            f"{space.name} gives an image other features each time it is asked: switch off what is random in it in evaluation "
            "mode, such as dropout"
        )
    if np.abs(alone - beside).max() > most:
        raise UserError(
            f"{space.name} normalises by the batch, so that no image has features of its own: let its norms use running "
            "statistics, or, if MAML trained it, adapt it to tasks (exemplar.spaces.objectives.maml)"
        )


def _real(features: Tensor, space: NetworkSpace) -> Tensor:
    if features.is_complex():
        raise UserError(f"{space.name} gives complex features: return real ones, such as their absolute values")
    return features


@contextmanager
def _explained(space: NetworkSpace, batch: int, place: torch.device) -> Iterator[None]:
    """What torch says when a network cannot take its input, as a sentence."""
    try:
        yield
    except torch.OutOfMemoryError as problem:
        raise UserError(f"{batch} images at once are too many for {place}: lower the batch") from problem
    except RuntimeError as problem:
        size = f"{space.input.size[0]} × {space.input.size[1]} px with {space.input.channels} channels"
        raise UserError(
            f"{space.name} cannot take images of {size} ({first_line(problem)}): give it the input it was made for, as "
            "NetworkSpace(name, network, DrawingInput((h, w)))"
        ) from problem
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError) as problem:
        if is_known(space.network):  # a bug of ours keeps its traceback
            raise
        raise UserError(
            f"{space.name} failed to encode ({type(problem).__name__}: {first_line(problem)}): fix it"
        ) from problem


def _checked(features: np.ndarray, space: NetworkSpace) -> np.ndarray:
    if not np.isfinite(features).all():
        raise UserError(f"{space.name} gives features that are not finite: its weights are damaged, load it again")
    return features


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


@dataclass(frozen=True)
class PixelSpace:
    """The simplest space: the pixels themselves. blur: standard deviation of a Gaussian in px, 0 for none."""

    input: Input
    blur: float = 0.0
    layer: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not 0 <= self.blur < float("inf"):
            raise UserError(f"The blur must be 0 px or more, got {self.blur}.")

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
        n = count_images(images)
        out = np.empty((n, self.input.channels * self.input.size[0] * self.input.size[1]), np.float32)
        for start in range(0, n, PIXEL_BATCH):
            rows = np.arange(start, min(start + PIXEL_BATCH, n))
            planes = self.input.prepare(take_images(images, rows))
            if self.blur:
                planes = down @ planes @ across.T
            out[rows] = planes.reshape(len(planes), -1)
        return out


def blurring(side: int, deviation: float) -> np.ndarray:
    """(side, side) float32, rows sum to 1: a Gaussian that is cut and renormalised at the border."""
    if not deviation:
        return np.eye(side, dtype=np.float32)
    distance = np.arange(side) - np.arange(side)[:, None]
    weight = np.exp(-0.5 * np.square(distance / deviation))
    return (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)
