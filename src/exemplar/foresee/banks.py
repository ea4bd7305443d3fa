"""A bank of features: many samples of each of some classes, which tasks are drawn from; from a file, arrays, or images.

Of arrays it is made with NumPy alone, as speed/foresee.py does on a machine that has torch and little else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError
from exemplar.files import npz_names, read_npz
from exemplar.foresee.author_files import read_author_file

if TYPE_CHECKING:
    from exemplar.images.concepts import ConceptSet

PICKLES = (".pkl", ".pickle", ".plk")
LABELS = ("label", "concept")
NEGATIVE = (
    "Some features are negative: cosines then range from −1 to 1 instead of 0 to 1, and samples whose cosine is negative are "
    "not linked in a graph. The paper's features come after a ReLU and are never negative."
)

COPIES = (
    "Samples that are copies of others: {n} of {of}. A task that holds both is easier than it should be: remove them."
)
ALIKE = 0.9999
NEARLY_SAME = (
    "All samples point in nearly the same direction: what tells them apart is close to the rounding of the 32-bit numbers that "
    "many tasks are computed in. Subtract the mean of the features first."
)


@dataclass(frozen=True, eq=False)
class FeatureBank:
    """rows: (n, d) float32 of length 1, class by class; counts: (classes,); names: of the classes; source: where from;
    warnings: a sentence each about what was found in them."""

    rows: np.ndarray
    counts: np.ndarray
    names: tuple[str, ...]
    source: str = "given as arrays"
    warnings: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls,
        features: np.ndarray | Sequence[np.ndarray],
        label: Sequence[object] | np.ndarray | None = None,
        *,
        names: Sequence[str] | None = None,
        source: str = "given as arrays",
    ) -> FeatureBank:
        """features: (classes, samples, d), or (n, d) with a label for each, or one (samples, d) per class."""
        if label is not None:
            flat = _numbers(features, source)
            if flat.ndim != 2 or np.asarray(label).shape != (len(flat),):
                raise UserError(
                    f"{source}: features with labels must be (n, d) and (n,), these are {flat.shape} and "
                    f"{np.asarray(label).shape}."
                )
            from exemplar.images.concepts import Labels

            labels = Labels.of(np.asarray(label).tolist())
            parts = [flat[labels.code == c] for c in range(len(labels.names))]
            names = labels.names
        else:
            parts = [_numbers(part, source) for part in features]
            if not parts or any(part.ndim != 2 for part in parts) or len({part.shape[1] for part in parts}) > 1:
                raise UserError(f"{source}: features must be (classes, samples, d), or one (samples, d) per class.")
        counts = np.array([len(part) for part in parts])
        rows, warnings = as_directions(np.concatenate(parts), source)
        n_copies = count_copies(rows)
        if n_copies:
            warnings = (*warnings, COPIES.format(n=n_copies, of=len(rows)))
        likeness = float(np.linalg.norm(rows.mean(axis=0)))  # √ of the mean cosine of two samples
        if likeness > ALIKE:
            warnings = (*warnings, NEARLY_SAME)
        return cls(rows.astype(np.float32), counts, tuple(names or map(str, range(len(parts)))), source, warnings)

    @property
    def n_classes(self) -> int:
        return len(self.counts)

    @cached_property
    def fingerprint(self) -> str:
        return seeds.digest(self.rows, self.counts)

    def of_class(self, number: int) -> np.ndarray:
        """(samples, d)."""
        start = int(self.counts[:number].sum())
        return self.rows[start : start + int(self.counts[number])]

    def only(self, classes: Sequence[int] | np.ndarray) -> FeatureBank:
        """The bank of these classes alone, in this order."""
        chosen = [int(c) for c in classes]
        rows = np.concatenate([self.of_class(c) for c in chosen])
        return FeatureBank(rows, self.counts[chosen], tuple(self.names[c] for c in chosen), self.source, self.warnings)

    def first(self, n: int) -> FeatureBank:
        """At most the first n samples of each class."""
        rows = np.concatenate([self.of_class(c)[:n] for c in range(self.n_classes)])
        return FeatureBank(rows, np.minimum(self.counts, n), self.names, self.source, self.warnings)


def join_banks(banks: Sequence[FeatureBank]) -> FeatureBank:
    """All classes of several banks."""
    return FeatureBank(
        np.concatenate([bank.rows for bank in banks]),
        np.concatenate([bank.counts for bank in banks]),
        tuple(name for bank in banks for name in bank.names),
        " and ".join(bank.source for bank in banks),
        tuple(dict.fromkeys(sentence for bank in banks for sentence in bank.warnings)),
    )


def as_directions(features: np.ndarray, source: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each row divided by its length, float64, and warnings; what has no direction is refused."""
    wrong = ~np.isfinite(features).all(axis=1)
    if wrong.any():
        raise UserError(
            f"{source}: {wrong.sum()} of {len(wrong)} samples have features that are NaN or infinite, the first is sample "
            f"{int(np.flatnonzero(wrong)[0])}: leave them out."
        )
    largest = np.abs(features).max(axis=1, keepdims=True, initial=0)
    if not (largest > 0).all():
        raise UserError(
            f"{source}: {int((largest == 0).sum())} of {len(largest)} samples have features that are all 0, which have no "
            f"cosine with anything, the first is sample {int(np.flatnonzero(largest[:, 0] == 0)[0])}: leave them out."
        )
    scaled = features / largest  # squares that neither overflow nor vanish
    rows = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return rows, (NEGATIVE,) if (rows < 0).any() else ()


def count_copies(rows: np.ndarray) -> int:
    """How many rows of (n, d) are the same as one before them."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    return len(rows) - len(np.unique(whole))


def find_bank(given: Any) -> FeatureBank:
    """From a bank, arrays by name (`features`, perhaps `label`), an array, a list of arrays, or a file."""
    if isinstance(given, FeatureBank):
        return given
    if isinstance(given, Mapping):
        if "features" not in given:
            raise UserError("Features given by name need the array `features`.")
        label = next((given[name] for name in LABELS if name in given), None)
        return FeatureBank.of(given["features"], label)
    if isinstance(given, str | Path):
        return read_bank(Path(given).expanduser())
    return FeatureBank.of(given)


def read_bank(path: Path) -> FeatureBank:
    """An npz with `features`: (classes, samples, d), or (n, d) with `label` or `concept` (as `exemplar spaces encode` writes);
    or a feature file of the paper's authors, a pickle, read without running anything in it."""
    if path.suffix.lower() in PICKLES:
        names, parts = read_author_file(path)
        return FeatureBank.of(parts, names=names, source=str(path))
    there = npz_names(path)
    label = next((name for name in LABELS if name in there), None)
    arrays = read_npz(path, features=("fiu", None), **({label: ("iuU", 1)} if label else {}))
    features = arrays["features"]
    if label is None and features.ndim != 3:
        raise UserError(
            f"{path}: features must be (classes, samples, d), or (n, d) beside an array `label`, they are {features.shape}."
        )
    if label is not None and features.ndim == 3:
        return FeatureBank.of(list(features), source=str(path))
    return FeatureBank.of(features, arrays.get(label) if label else None, source=str(path))


def encode_bank(space: Any, data: str | Path | ConceptSet, split: str | None, *, device: str = "auto") -> FeatureBank:
    """Features of a data set's images in a space that was not trained on its classes; kept for the next time."""
    from exemplar.images.catalogue import load
    from exemplar.images.concepts import ConceptSet
    from exemplar.spaces.encoding import encode_kept
    from exemplar.spaces.loading import find_space
    from exemplar.spaces.seen import find_seen

    images = data if isinstance(data, ConceptSet) else load(str(data), split)
    found = find_space(space)
    seen = find_seen([found], images)
    features = encode_kept(found, images, device=device)
    order = np.argsort(images.concept.code, kind="stable")
    label = np.array(images.concept.names)[images.concept.code[order]]
    bank = FeatureBank.of(features[order], label, source=f"{images.name} in {found.name}")
    return FeatureBank(bank.rows, bank.counts, bank.names, bank.source, (*bank.warnings, *seen.warnings))


def _numbers(values: Any, source: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise UserError(f"{source}: features must be numbers in a regular array.") from problem
