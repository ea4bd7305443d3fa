"""Which image stands for its concept, the one shown to whoever draws another: the most central, a given drawer's, or any.

labels: (n,) whole numbers, the concept of each image, from 0 without gaps. What comes back is one row per concept, in order.
"""

from __future__ import annotations

import numpy as np

from exemplar.errors import UserError

TIE = 1e-9  # relative: centres are sums, and equal distances come out equal only up to rounding


def central_exemplars(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_concepts,) rows: in each concept the image closest (ℓ2) to the mean of its features; of equal ones the first.

    features: (n, d) of some space. Which space matters: say it with the result.
    """
    n_concepts = _check_labels(labels)
    if features.ndim != 2 or len(features) != len(labels):
        raise UserError(f"features must be (n, d) for {len(labels)} labels, these are {features.shape}")
    if not np.isfinite(features).all():
        raise UserError("the features hold NaN or infinite values: fix them first")
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(n_concepts))
    sorted_features = features[order].astype(np.float64)
    count = np.diff(np.append(starts, len(labels)))
    centre = np.add.reduceat(sorted_features, starts, axis=0) / count[:, None]
    offset = sorted_features - np.repeat(centre, count, axis=0)
    distance = np.sqrt(np.einsum("nd,nd->n", offset, offset))  # Eq. 1
    nearest = np.minimum.reduceat(distance, starts)
    # the rounding of a distance is of the size of the features, not of the distance
    size = np.maximum.reduceat(np.abs(sorted_features).max(axis=1, initial=0), starts)
    close = distance <= np.repeat(nearest + TIE * np.maximum(nearest, 1e-3 * size), count)
    return _first(order[close], labels, n_concepts)


def drawer_exemplars(labels: np.ndarray, makers: np.ndarray, maker: int) -> np.ndarray:
    """(n_concepts,) rows: in each concept the first image by this maker. makers: (n,) whole numbers, each image's maker."""
    n_concepts = _check_labels(labels)
    if makers.shape != labels.shape:
        raise UserError(f"there are {len(labels)} labels but makers of shape {makers.shape}: give one maker per image")
    rows = np.flatnonzero(makers == maker)
    n_missing = n_concepts - len(np.unique(labels[rows]))
    if n_missing:
        raise UserError(
            f"this maker made nothing for {n_missing} of the {n_concepts} concepts: choose another exemplar"
        )
    return _first(rows, labels, n_concepts)


def random_exemplars(labels: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """(n_concepts,) rows: in each concept one image, all equally likely."""
    n_concepts = _check_labels(labels)
    shuffled = rng.permutation(len(labels))
    _, first = np.unique(labels[shuffled], return_index=True)
    return shuffled[first].reshape(n_concepts)


def _first(rows: np.ndarray, labels: np.ndarray, n_concepts: int) -> np.ndarray:
    """(n_concepts,): of these rows the lowest of each concept."""
    lowest = np.full(n_concepts, len(labels), np.intp)
    np.minimum.at(lowest, labels[rows], rows)
    return lowest


def _check_labels(labels: np.ndarray) -> int:
    """The number of concepts."""
    if labels.ndim != 1 or len(labels) == 0 or not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise UserError(f"labels must be (n,) whole numbers from 0, these are {labels.shape} {labels.dtype}")
    n_missing = int(labels.max()) + 1 - len(np.unique(labels))
    if n_missing:
        raise UserError(
            f"{n_missing} concepts below {labels.max() + 1} have no image: number the concepts without gaps"
        )
    return int(labels.max()) + 1
