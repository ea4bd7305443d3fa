"""Spaces that a user brings: a function, a torch module, or any object with the methods of a space.

None of them is believed to have an identity: nothing tells when code of one's own has changed. Their features are never
cached; code that needs them twice holds them as `spaces.known.KnownFeatures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import nn

from exemplar.errors import UserError
from exemplar.spaces.inputs import DrawingInput, Images, Input, count_images, take_images
from exemplar.spaces.space import NetworkSpace, Space
from exemplar.user_code import guarded

OURS = "exemplar."  # how the modules begin whose spaces say truly who they are
TAKES = "it takes images (n, h, w) float32 in [0, 1], ink 1, and returns features (n, d)"


@dataclass(frozen=True, eq=False)
class FunctionSpace:
    """A function of the user's own as a space. function: images (n, h, w) float32 in [0, 1], ink 1, of whatever size they have,
    to features (n, d)."""

    name: str
    function: Callable[[np.ndarray], Any]
    layer: ClassVar[str] = ""
    input: ClassVar[Input | None] = None
    identity: ClassVar[str] = ""

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        """(n, d) float32. The first image goes through alone, too: features must be an image's own."""
        n = count_images(images)
        pixels = take_images(images, np.arange(n)).astype(np.float32) / np.float32(255)
        with guarded(f"{self.name} failed to encode {n} images of {_size(pixels)}"):
            found, alone = self.function(pixels.copy()), self.function(pixels[:1].copy())
        features, first = as_features(self.name, found, n), as_features(self.name, alone, 1)
        if features.shape[1] != first.shape[1] or not is_near(first[0], features[0]):
            raise UserError(
                f"{self.name} gives an image other features when it is asked again, or with other images beside it: make it a "
                "function of each image alone"
            )
        return features


@dataclass(frozen=True, eq=False)
class ObjectSpace:
    """An object of the user's own with `encode(images) -> (n, d)`; what it says of its identity is not believed."""

    name: str
    given: Any
    layer: ClassVar[str] = ""
    input: ClassVar[Input | None] = None
    identity: ClassVar[str] = ""

    def encode(self, images: Images, *, device: str = "auto") -> np.ndarray:
        n = count_images(images)
        with guarded(f"{self.name} failed to encode {n} images"):
            found = self.given.encode(take_images(images, np.arange(n)))
        return as_features(self.name, found, n)


def as_space(given: Any, name: str | None = None) -> Space:
    """What a user brings, as a space: one of ours as it is, an object with `encode`, a torch module (which gets drawings as the
    shipped critics do, 50 × 50 px, one channel, ink 1), or a function. name: what to call it, else its own."""
    if type(given).__module__.startswith(OURS) and hasattr(given, "encode"):
        space: Space = given
        return space
    if isinstance(given, type):
        raise UserError(f"{given.__name__} is a class: make an object of it, or name a function; {TAKES}")
    own = name or getattr(given, "name", None) or getattr(given, "__name__", None) or type(given).__name__
    if isinstance(given, nn.Module):
        return NetworkSpace(str(own), given, DrawingInput())
    if callable(getattr(given, "encode", None)):
        return ObjectSpace(str(own), given)
    if not callable(given):
        raise UserError(f"a {type(given).__name__} is no space: give a name, a function, a torch module, or a Space")
    return FunctionSpace(str(own), given)


def as_features(name: str, found: Any, n: int) -> np.ndarray:
    """(n, d) float32 of what a user's code gave for n images; anything else is said in one sentence."""
    given = type(found).__name__
    if hasattr(found, "detach"):  # a tensor, perhaps with a gradient, perhaps elsewhere
        found = found.detach().cpu()
    try:
        if np.iscomplexobj(found := np.asarray(found)):
            raise UserError(f"{name} gives complex features: return real ones, such as their absolute values")
        features = found.astype(np.float32)
    except (TypeError, ValueError) as problem:
        raise UserError(
            f"{name} gives a {given} that is no array of numbers: return (n, d), one row per image"
        ) from problem
    if features.ndim != 2 or len(features) != n or features.shape[1] < 1:
        raise UserError(
            f"{name} gives an array of shape {features.shape} for {n} images: return ({n}, d), one row of features per image"
        )
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise UserError(
            f"{name} gives features of image {row} that are NaN or infinite: every feature must be a number"
        )
    return features


def is_near(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two rows of features are the same but for rounding."""
    return bool(np.abs(one - other).max(initial=0) <= 0.01 * np.abs(one).max(initial=0))


def _size(pixels: np.ndarray) -> str:
    return " × ".join(map(str, pixels.shape[1:3])) + " px"
