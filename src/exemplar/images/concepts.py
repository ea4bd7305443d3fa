"""A concept set: images, and for each its concept (character, category), group (alphabet, superclass) and maker (drawer)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exemplar import seeds
from exemplar.errors import UserError, unknown
from exemplar.images.pixels import Decoded, Pixels, Plain, Resized


@dataclass(frozen=True)
class Labels:
    """A name for each image. names: the distinct ones, in order; code: (n,) int32, each image's place among them."""

    names: tuple[str, ...]
    code: np.ndarray

    @classmethod
    def of(cls, labels: Iterable[object]) -> Labels:
        """From one label per image; names keep the order in which they first appear."""
        text = np.asarray([str(label) for label in labels], dtype=object)
        place: dict[str, int] = {}
        code = np.fromiter((place.setdefault(name, len(place)) for name in text), np.int32, len(text))
        return cls(tuple(place), code)

    def subset(self, rows: np.ndarray) -> Labels:
        """The labels of these rows; names nobody has any more are dropped, the others keep their order."""
        kept, code = np.unique(self.code[rows], return_inverse=True)
        return Labels(tuple(self.names[k] for k in kept), code.astype(np.int32))

    def __getitem__(self, row: int) -> str:
        return self.names[self.code[row]]


@dataclass(frozen=True, eq=False)
class ConceptSet:
    """What is seen. Build one with `ConceptSet.of(…)`, or `exemplar.images.load(name, split)`.

    name: where it comes from, as in "omniglot/weak-test"; pixels: the store; index: (n,) each image's row in the store;
    concept, group, maker: (n,) labels; simulated: whether the package made it, so that no maker is a person; family: the data
    set of the catalogue whose images and names these are ("omniglot"), "" for anyone's own: what it is, whatever it is called;
    shown: (n,) bool, true for the one image of each concept that is its exemplar, where the data set comes with exemplars.
    Subsets and resized views share the store: they cost a few bytes per image.
    """

    name: str
    pixels: Pixels
    index: np.ndarray
    concept: Labels
    group: Labels
    maker: Labels
    simulated: bool = False
    family: str = ""
    shown: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        name: str,
        images: np.ndarray | Pixels,
        concept: Iterable[object] | Labels,
        group: Iterable[object] | Labels | None = None,
        maker: Iterable[object] | Labels | None = None,
        *,
        simulated: bool = False,
        family: str = "",
        exemplars: Sequence[int] | np.ndarray | None = None,
    ) -> ConceptSet:
        """images: (n, h, w) or (n, h, w, 3) uint8, or a store; concept, group, maker: one label per image (group and maker
        default to a single unnamed one); exemplars: (n_concepts,) rows, one of each concept, where the set comes with some."""
        pixels = Plain(images) if isinstance(images, np.ndarray) else images
        n = len(pixels)
        columns = []
        for kind, labels in (("concept", concept), ("group", group), ("maker", maker)):
            column = labels if isinstance(labels, Labels) else Labels.of([""] * n if labels is None else labels)
            if len(column.code) != n:
                raise UserError(
                    f"{name} has {n} images but {len(column.code)} {kind} labels: give one {kind} per image"
                )
            columns.append(column)
        shown = None if exemplars is None else _mark_exemplars(name, columns[0], np.asarray(exemplars))
        return cls(name, pixels, np.arange(n), columns[0], columns[1], columns[2], simulated, family, shown)

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        size = "×".join(str(side) for side in self.shape)
        return f"<ConceptSet {self.name}: {len(self)} images of {size}, {self.n_concepts} concepts>"

    @property
    def shape(self) -> tuple[int, ...]:
        """(h, w) or (h, w, 3) of one image."""
        return self.pixels.shape

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.concept.names

    @property
    def n_concepts(self) -> int:
        return len(self.concept.names)

    @property
    def images(self) -> np.ndarray:
        """(n, h, w[, 3]) uint8, all of them, made again at each call: keep the result if you need it twice."""
        return self.pixels.take(self.index)

    def take(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Images of some rows: (k, h, w[, 3]) uint8."""
        return self.pixels.take(self.index[np.asarray(rows, dtype=np.intp)])

    @cached_property
    def counts(self) -> np.ndarray:
        """(n_concepts,) images of each concept."""
        return np.bincount(self.concept.code, minlength=self.n_concepts)

    @property
    def exemplars(self) -> np.ndarray | None:
        """(n_concepts,) rows of the exemplars that the data set comes with; None where it has none, or a subset lost some."""
        if self.shown is None:
            return None
        rows = np.flatnonzero(self.shown)
        rows = rows[np.argsort(self.concept.code[rows], kind="stable")]
        return rows if np.array_equal(self.concept.code[rows], np.arange(self.n_concepts)) else None

    def rows(self, concept: str) -> np.ndarray:
        """The rows of one concept's images, in order."""
        if concept not in self.concept.names:
            raise unknown("concept", concept, self.concept.names, where=self.name)
        return np.flatnonzero(self.concept.code == self.concept.names.index(concept))

    def subset(self, rows: Sequence[int] | np.ndarray, name: str | None = None) -> ConceptSet:
        """The images of these rows (whole numbers, or a mask), in that order."""
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.intp)
        return ConceptSet(
            name or self.name,
            self.pixels,
            self.index[chosen],
            self.concept.subset(chosen),
            self.group.subset(chosen),
            self.maker.subset(chosen),
            self.simulated,
            self.family,
            None if self.shown is None else self.shown[chosen],
        )

    def only(self, *, concepts: Iterable[str], name: str | None = None) -> ConceptSet:
        """The images of these concepts, in the set's own order."""
        place = {concept: k for k, concept in enumerate(self.concept.names)}
        wanted = list(concepts)
        for concept in wanted:
            if concept not in place:
                raise unknown("concept", concept, place, where=self.name)
        return self.subset(np.isin(self.concept.code, [place[concept] for concept in wanted]), name)

    def sample(self, n_concepts: int, n_each: int, *, rng: np.random.Generator) -> ConceptSet:
        """Distinct concepts at random, and distinct images of each, concept by concept in the order drawn."""
        enough = np.flatnonzero(self.counts >= n_each)
        if len(enough) < n_concepts:
            raise UserError(
                f"needs {n_concepts} concepts of at least {n_each} images, {self.name} has {len(enough)} of its "
                f"{self.n_concepts}: ask for fewer, or pick another split"
            )
        chosen = rng.permutation(enough)[:n_concepts]
        rows = [rng.permutation(np.flatnonzero(self.concept.code == c))[:n_each] for c in chosen]
        return self.subset(np.concatenate(rows) if rows else np.empty(0, np.intp))

    def resized(self, size: int | tuple[int, int], *, binarise: float | None = None) -> ConceptSet:
        """A view at another size, bilinear, made when asked for; `binarise` as in `pixels.Resized`."""
        height, width = (size, size) if isinstance(size, int) else size
        if min(height, width) < 1:
            raise UserError(f"an image cannot be {height} × {width} px: give a size of at least 1")
        if binarise is not None and not 0 < binarise < 1:
            raise UserError(f"the threshold {binarise} must lie between 0 and 1")
        if (height, width) == self.shape[:2] and binarise is None:
            return self
        return replace(self, pixels=Resized(self.pixels, (height, width), binarise))

    def in_memory(self) -> ConceptSet:
        """The same set with every image decoded once, for whoever needs them again and again."""
        if isinstance(self.pixels, Plain | Decoded):
            return self
        return replace(self, pixels=Decoded(self.pixels, self.index), index=np.arange(len(self)))

    @cached_property
    def fingerprint(self) -> str:
        """A name for what is in the set: pixels, their order, and every label. Two sets that differ have different ones."""
        columns = [(labels.names, labels.code) for labels in (self.concept, self.group, self.maker)]
        exemplars = [] if self.shown is None else [np.flatnonzero(self.shown)]
        return seeds.digest("concept set", self.pixels.digest(self.index), columns, *exemplars)


def _mark_exemplars(name: str, concept: Labels, rows: np.ndarray) -> np.ndarray:
    """(n,) bool, if rows are one image of each concept."""
    n, k = len(concept.code), len(concept.names)
    right = rows.dtype.kind in "iu" and rows.shape == (k,) and bool(((rows >= 0) & (rows < n)).all())
    if not right or not np.array_equal(np.sort(concept.code[rows]), np.arange(k)):
        raise UserError(f"{name}: exemplars must be {k} rows, one image of each concept")
    shown = np.zeros(n, bool)
    shown[rows] = True
    return shown
