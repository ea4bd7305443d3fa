"""How far a single drawing is from the exemplar it was made after, in a critic's space.

drawings: (k, n, d); exemplars: (k, d). Everything comes back as (k, n), one number a drawing.
"""

from __future__ import annotations

import numpy as np

from exemplar.draw.measures.diversity import units


def originality(drawings: np.ndarray, exemplars: np.ndarray) -> np.ndarray:
    """Root-mean-square distance over the d dimensions; ‖·‖₂ (Eq. 24) is √d times this."""
    found = np.empty(drawings.shape[:2])
    for place, (concept, exemplar) in enumerate(zip(drawings, exemplars, strict=True)):
        found[place] = np.sqrt(np.square(concept.astype(np.float64) - exemplar).mean(axis=1))
    return found


def cosine_originality(drawings: np.ndarray, exemplars: np.ndarray) -> np.ndarray:
    """√(2 − 2 cos) to the exemplar (Eq. 22), from 0 to 2; the distance between the two made of length 1."""
    return originality(units(drawings), units(exemplars)) * np.sqrt(drawings.shape[2])


def density(values: np.ndarray, n_places: int = 201) -> tuple[np.ndarray, np.ndarray]:
    """Kernel density of values of any shape: places and density there, both (n_places,); Gaussian, Scott's bandwidth.

    Values that are all alike have no density: it is 0 at every place.
    """
    flat = np.ravel(values).astype(np.float64)
    reach = 0.1 * np.ptp(flat) if np.ptp(flat) else 0.5
    places = np.linspace(flat.min() - reach, flat.max() + reach, n_places)
    if np.ptp(flat) <= 1e-9 * np.abs(flat).max():
        return places, np.zeros(n_places)
    width = np.std(flat, ddof=1) * len(flat) ** -0.2  # Scott's rule, in one dimension
    height = np.exp(-0.5 * np.square((places[:, None] - flat) / width)).mean(axis=1)
    return places, height / (width * np.sqrt(2 * np.pi))
