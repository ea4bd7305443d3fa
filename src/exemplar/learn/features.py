"""An experiment's images as an encoding stage sees them, before and after they are placed in a ball of radius 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from exemplar.errors import UserError, shortened, unknown
from exemplar.files import npz_names, read_npz
from exemplar.spaces.ball import check_features, fit_ball

# name → kinds of number or text, and dimensions
ARRAYS: dict[str, tuple[str, int | None]] = {
    "features": ("fiu", None),
    "warmup": ("fiu", 2),
    "subtask": ("U", 1),
    "image": ("U", 3),
    "test": ("U", 3),
}


@dataclass(frozen=True, eq=False)
class Features:
    """What an encoder makes of an experiment's images.

    images: (subtasks, objects, images, d) float; warmup: (n, d) of other images, None where there are none. Where they are
    known: subtasks, names; image, test: (subtasks, objects, images) text, an image's name and the test it belongs to ("" for
    none; in Experiment 2 the first image of each object is the one that is trained on). unused: names of other arrays in the
    file.
    """

    images: np.ndarray
    warmup: np.ndarray | None = None
    subtasks: tuple[str, ...] | None = None
    image: np.ndarray | None = None
    test: np.ndarray | None = None
    unused: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """(subtasks, objects, images)."""
        n_subtasks, n_objects, n_images = self.images.shape[:3]
        return n_subtasks, n_objects, n_images

    def in_ball(self, variant: str = "paper") -> tuple[np.ndarray, str]:
        """`images` centred and scaled into the ball of radius 1, and by what: "warm-up images"; or, where there are none,
        "nothing" if they lie in it already, else "the images themselves", which tells a learner a little about its task.
        """
        if self.warmup is not None:
            placed, by = fit_ball(self.warmup, variant).place(self.images), "warm-up images"
        elif np.einsum("...d,...d->...", self.images, self.images, dtype=np.float64).max() <= (1 + 1e-6) ** 2:
            placed, by = self.images, "nothing"
        else:
            placed = fit_ball(self.images.reshape(-1, self.images.shape[-1]), variant).place(self.images)
            by = "the images themselves"
        check_subtasks(placed)
        return placed, by


def load_features(given: Path | str | Features | Mapping[str, np.ndarray]) -> Features:
    """An encoder's features: from an npz file, or from arrays by name; the array `features` (subtasks, objects, images, d), and
    as far as they are there `warmup` (n, d), `subtask` (subtasks,), `image` and `test` (subtasks, objects, images).
    """
    if isinstance(given, Features):
        return given
    if isinstance(given, Mapping):
        return _checked(_given_arrays(given), "the features given")
    place = Path(given)
    there = npz_names(place)
    for name in there:
        if name not in ARRAYS:  # one that is called nearly as a known one would be missed in silence
            near = get_close_matches(name.lower().replace("_", ""), [known.replace("_", "") for known in ARRAYS], n=1)
            if near:
                raise UserError(f"{place} has an array {name!r}, which is not read: did you mean {near[0]}?")
    found = _checked(
        read_npz(place, **{name: kind for name, kind in ARRAYS.items() if name in (*there, "features")}), place
    )
    return replace(found, unused=tuple(name for name in there if name not in ARRAYS))


def _given_arrays(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    arrays = {}
    for name, value in given.items():
        if name not in ARRAYS:
            raise unknown("array of features", name, ARRAYS)
        (kinds, ndim), array = ARRAYS[name], np.asarray(value)
        if array.dtype.kind not in kinds or (ndim is not None and array.ndim != ndim):
            what = ("text" if kinds == "U" else "numbers") + (f" in {ndim} dimensions" if ndim else "")
            raise UserError(f"the features given: {name} must be {what}, it is {array.shape} {array.dtype}: convert it")
        arrays[name] = array
    if "features" not in arrays:
        raise UserError(f"there is no array `features` among {shortened(arrays)}: give (subtasks, objects, images, d)")
    return arrays


def _checked(arrays: dict[str, np.ndarray], place: Path | str) -> Features:
    for name in {"features", "warmup"} & set(arrays):
        if arrays[name].dtype.kind != "f" or arrays[name].dtype.itemsize > 8:  # whole numbers, or longer than float64
            arrays[name] = arrays[name].astype(np.float64)
    features, warmup, names = arrays["features"], arrays.get("warmup"), arrays.get("subtask")
    if features.ndim != 4 or not features.size or features.shape[1] < 2:
        raise UserError(
            f"{place}: features must be (subtasks, objects, images, d) with at least 2 objects and none of them 0, they are "
            f"{features.shape}: reshape them"
        )
    check_features(features)
    zero = np.argwhere(~features.any(axis=-1))
    if len(zero):
        where = tuple(int(i) for i in zero[0])
        raise UserError(
            f"{place}: features have norm 0 in {len(zero)} of the images (the first is {where}), so nothing can be learned "
            "from them: compute them again, or use another encoder"
        )
    if warmup is not None and warmup.shape[1] != features.shape[3]:
        raise UserError(
            f"{place}: features have {features.shape[3]} dimensions and warmup has {warmup.shape[1]}: encode both alike"
        )
    for name, wanted in (("subtask", features.shape[:1]), ("image", features.shape[:3]), ("test", features.shape[:3])):
        if name in arrays and arrays[name].shape != wanted:
            raise UserError(f"{place}: {name} must be {wanted}, as features say, it is {arrays[name].shape}")
    if names is not None and len(set(names.tolist())) < len(names):
        raise UserError(f"{place}: two subtasks have the same name: give each its own")
    for name in names.tolist() if names is not None else ():
        objects = name.split(",")
        if len(objects) > 1 and len(objects) != features.shape[1]:
            raise UserError(
                f"{place}: the subtask {name!r} names {len(objects)} objects, and features have {features.shape[1]}: name each "
                "object once"
            )
        if len(set(objects)) < len(objects):
            raise UserError(f"{place}: the subtask {name!r} names an object twice: give each its own name")
    for row in arrays.get("image", ()):
        if len(set(row.ravel().tolist())) < row.size:
            raise UserError(f"{place}: two images of a subtask have the same name: give each its own")
    subtasks = None if names is None else tuple(names.tolist())
    return Features(features, warmup, subtasks, arrays.get("image"), arrays.get("test"))


def check_subtasks(features: np.ndarray) -> None:
    """features: (subtasks, objects, images, d), finite, of length in (0, 1]."""
    check_features(features)
    if features.ndim != 4:
        raise UserError(f"features must be (subtasks, objects, images, d), they are {features.shape}: reshape them")
    length = np.sqrt(np.einsum("...d,...d->...", features, features, dtype=np.float64))
    nothing, far = np.argwhere(length == 0), np.argwhere(length > 1 + 1e-6)
    if len(nothing):
        where = tuple(int(i) for i in nothing[0])
        raise UserError(
            f"the features of {len(nothing)} images have length 0 (the first is {where}), so nothing can be learned from "
            "them: leave those images out, or use another encoder"
        )
    if len(far):
        raise UserError(
            f"{len(far)} images lie outside the ball of radius 1 (the longest is {length.max():.3g}), where rules may diverge: "
            "place them with fit_ball first"
        )
