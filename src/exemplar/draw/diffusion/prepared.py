"""What travels to another machine and back: drawings with the recipe that they are for, exemplars, and trained weights.

Only torch and NumPy are needed to read and write these files; nothing in them is unpickled.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from exemplar import seeds
from exemplar.draw.presets import read_objective
from exemplar.draw.trainable import DrawingObjective
from exemplar.errors import UserError
from exemplar.files import DAMAGE, first_line, whole_file
from exemplar.spaces.recipes import Recipe
from exemplar.spaces.training.images import TrainingImages
from exemplar.unpacking import open_npz

WEIGHTS = {"name", "training", "weights", "step", "curve", "seconds", "machine", "torch"}


@dataclass(frozen=True, eq=False)
class PreparedTraining:
    """A training that can be done elsewhere. name: what the agent will be called; seed: of the training."""

    name: str
    recipe: Recipe
    seed: int
    images: TrainingImages

    @property
    def digest(self) -> str:
        """Of what is trained, and on what, for however many steps."""
        return seeds.digest(self.name, asdict(self.objective.for_steps(1)), self.seed, self.images.digest())

    @property
    def objective(self) -> DrawingObjective:
        return self.recipe.objective  # type: ignore[return-value]


def write_training(path: Path, training: PreparedTraining) -> None:
    recipe, images = training.recipe, training.images
    objective = {"objective": recipe.objective.name, **asdict(recipe.objective)}  # type: ignore[call-overload]
    about = {"name": training.name, "seed": training.seed, "objective": objective, "data": recipe.data}
    about |= {key: getattr(recipe, key) for key in ("steps", "size", "threshold", "exemplars", "chosen", "apart")}
    arrays = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8), **_pack_images(images, "")}
    if images.held_out is not None:
        arrays |= _pack_images(images.held_out, "held_out_")
    _write_npz(path, arrays)


def read_training(path: Path) -> PreparedTraining:
    arrays = _read_npz(path, "a prepared training: make one with exemplar draw elsewhere prepare")
    try:
        about = json.loads(arrays["about"].tobytes())
        objective = read_objective(about["objective"])
        images = _unpack_images(arrays, "")
        if "held_out_bits" in arrays:
            images = replace(images, held_out=_unpack_images(arrays, "held_out_"))
        kept = {key: about[key] for key in ("steps", "size", "threshold", "exemplars", "chosen", "apart")}
        recipe = Recipe(objective, tuple(about["data"]), **kept)
        return PreparedTraining(str(about["name"]), recipe, int(about["seed"]), images)
    except (KeyError, ValueError, TypeError) as problem:
        raise UserError(f"{path} is no prepared training ({first_line(problem)}): prepare it again") from problem


def write_exemplars(path: Path, exemplars: np.ndarray, concepts: Sequence[str], about: Mapping[str, Any]) -> None:
    """exemplars: (k, h, w) uint8, 0 or 255, at the network's size; about: where they come from."""
    arrays = {"about": np.frombuffer(json.dumps(dict(about)).encode(), np.uint8), "concept": np.array(list(concepts))}
    _write_npz(path, arrays | {"shape": np.array(exemplars.shape), "bits": np.packbits(exemplars > 0)})


def read_exemplars(path: Path) -> tuple[np.ndarray, list[str], dict[str, Any]]:
    """(k, h, w) uint8, the concepts, and where they come from."""
    arrays = _read_npz(path, "exemplars: make them with exemplar draw elsewhere exemplars")
    try:
        return (
            _unpack(arrays["bits"], arrays["shape"]),
            arrays["concept"].tolist(),
            json.loads(arrays["about"].tobytes()),
        )
    except (KeyError, ValueError, TypeError) as problem:
        raise UserError(f"{path} holds no exemplars ({first_line(problem)}): write them again") from problem


def write_drawings(path: Path, drawn: np.ndarray, concepts: Sequence[str]) -> None:
    """drawn: (k, n, h, w) uint8, as an npz that `draw score` reads."""
    k, n = drawn.shape[:2]
    _write_npz(
        path, {"images": drawn.reshape(k * n, *drawn.shape[2:]), "concept": np.repeat(np.array(list(concepts)), n)}
    )


def write_weights(path: Path, content: Mapping[str, Any]) -> None:
    """content: WEIGHTS; its weights are rounded to bfloat16."""
    assert content.keys() == WEIGHTS
    rounded = {
        name: tensor.detach().cpu().to(torch.bfloat16 if tensor.is_floating_point() else tensor.dtype)
        for name, tensor in content["weights"].items()
    }
    buffer = io.BytesIO()
    torch.save({**content, "weights": rounded}, buffer)
    with whole_file(path) as part:
        part.write_bytes(buffer.getbuffer())


def read_weights(path: Path) -> dict[str, Any]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (*DAMAGE, pickle.UnpicklingError) as problem:
        raise UserError(
            f"{path} cannot be read as trained weights ({first_line(problem)}): bring it back again"
        ) from problem
    if not isinstance(content, dict) or content.keys() != WEIGHTS:
        raise UserError(f"{path} holds no weights of a training elsewhere: give the .pt that it wrote")
    return content


def _pack_images(images: TrainingImages, prefix: str) -> dict[str, np.ndarray]:
    pixels = images.pixels.cpu().numpy()
    if not np.isin(pixels, (0, 255)).all():
        raise UserError("only drawings of ink and paper can be prepared: binarise them")
    found = {"bits": np.packbits(pixels > 0), "shape": np.array(pixels.shape), "label": images.label.cpu().numpy()}
    found["names"] = np.array(images.names)
    if images.exemplar is not None:
        found["exemplar"] = images.exemplar.cpu().numpy()
    return {f"{prefix}{name}": array for name, array in found.items()}


def _unpack_images(arrays: Mapping[str, np.ndarray], prefix: str) -> TrainingImages:
    pixels = torch.as_tensor(_unpack(arrays[f"{prefix}bits"], arrays[f"{prefix}shape"]))
    exemplar = arrays.get(f"{prefix}exemplar")
    return TrainingImages(
        pixels, torch.as_tensor(arrays[f"{prefix}label"]), tuple(arrays[f"{prefix}names"].tolist()),
        None if exemplar is None else torch.as_tensor(exemplar),
    )  # fmt: skip


def _unpack(bits: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.unpackbits(bits, count=int(np.prod(shape))).reshape(shape) * np.uint8(255)


def _write_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with whole_file(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def _read_npz(path: Path, what: str) -> dict[str, np.ndarray]:
    try:
        with open_npz(path) as stored:
            return {name: stored[name] for name in stored.files}
    except DAMAGE as problem:
        raise UserError(f"{path} cannot be read ({first_line(problem)}): it must be {what}") from problem
