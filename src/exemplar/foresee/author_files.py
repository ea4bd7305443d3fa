"""Feature files of the paper's authors: pickles, read by an unpickler that knows lists, dicts, numbers and arrays only."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from exemplar.errors import UserError
from exemplar.files import DAMAGE, first_line

MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")  # before NumPy 2, and since
HARMLESS = {
    **{(module, "_reconstruct"): np._core.multiarray._reconstruct for module in MODULES},  # type: ignore[attr-defined]
    **{(module, "scalar"): np._core.multiarray.scalar for module in MODULES},  # type: ignore[attr-defined]
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("collections", "OrderedDict"): dict,
    ("collections", "defaultdict"): lambda *_: {},
    ("builtins", "list"): list,
    ("__builtin__", "list"): list,
    ("_codecs", "encode"): lambda text, encoding: text.encode("latin-1"),  # how Python 2 wrote bytes
}  # fmt: skip


class ArraysOnly(pickle.Unpickler):
    """Whatever else a file asks for is refused, so that nothing in it can run."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in HARMLESS:
            raise UserError(f"it asks for {module}.{name}, and only lists, dicts and arrays are read")
        return HARMLESS[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise UserError("it refers to things outside of it, and only lists, dicts and arrays are read")


def read_author_file(path: Path) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Names of classes and their features, (samples, d) each: from a dict of class → samples, a list of classes, or an array
    (classes, samples, d)."""
    if not path.is_file():
        raise UserError(f"there is no file {path}: check where it is")
    try:
        with path.open("rb") as file:
            content = ArraysOnly(file, encoding="latin1").load()
    except UserError as problem:
        raise UserError(f"{path} is not read: {problem}.") from problem
    except (pickle.UnpicklingError, *DAMAGE) as problem:
        raise UserError(
            f"{path} cannot be read as a feature file ({first_line(problem)}): fetch it again."
        ) from problem
    named = content if isinstance(content, dict) else dict(enumerate(content)) if _has_length(content) else {}
    if not named:
        raise UserError(
            f"{path} holds a {type(content).__name__}, not features by class: give a dict of class → samples."
        )
    try:
        parts = [np.asarray(list(samples), dtype=np.float64) for samples in named.values()]
    except (TypeError, ValueError) as problem:
        raise UserError(f"{path}: the features of a class must be numbers, equally many per sample.") from problem
    return tuple(map(str, named)), parts


def _has_length(content: Any) -> bool:
    return isinstance(content, list | tuple) or (isinstance(content, np.ndarray) and content.ndim == 3)
