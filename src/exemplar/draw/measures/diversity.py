"""How different the drawings of one concept are: spread (Eq. 2), pairwise cosine distance (Eq. 3), Vendi score.

features: (k, n, d), k concepts with n drawings each, in a critic's space. A score is (k,), one number a concept; …_by_drawing
is (k, n), what each drawing contributes to it: their mean is the score, their standard error that of a jackknife.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln


def spread(features: np.ndarray, *, unbiased: bool = False) -> np.ndarray:
    """(k,): the standard deviation over a concept's drawings, the mean over dimensions (Eq. 2, Bessel-corrected).

    unbiased: divided by c4, so that (for normal features) it does not grow with the number of drawings.
    """
    found = np.array([concept.std(axis=0, ddof=1).mean() for concept in _wide(features)])
    return found / c4(features.shape[1]) if unbiased else found


def spread_by_drawing(features: np.ndarray, *, unbiased: bool = False) -> np.ndarray:
    """(k, n) of `spread`: (n − 1) times what is lost when a drawing is left out, centred on the score; 3 drawings or more."""
    n = features.shape[1]
    left = spread_without_each(features, unbiased=unbiased)
    return spread(features, unbiased=unbiased)[:, None] - (n - 1) * (left - left.mean(axis=1, keepdims=True))


def spread_without_each(features: np.ndarray, *, unbiased: bool = False) -> np.ndarray:
    """(k, n): the `spread` of a concept's other drawings where one is left out; 3 drawings or more."""
    n, left = features.shape[1], np.empty(features.shape[:2])
    for place, concept in enumerate(_wide(features)):
        squared = np.square(concept - concept.mean(axis=0))
        # the squares about the mean of the others, of which rounding may leave a little less than nothing
        others = np.maximum(squared.sum(axis=0) - squared * (n / (n - 1)), 0)
        left[place] = np.sqrt(others / (n - 2)).mean(axis=1)
    return left / c4(n - 1) if unbiased else left


def c4(n: int) -> float:
    """E[s] / σ of the Bessel-corrected deviation s of n normal numbers: 0.798 for 2, 0.987 for 20, 1 in the limit."""
    return float(np.sqrt(2 / (n - 1)) * np.exp(gammaln(n / 2) - gammaln((n - 1) / 2)))


def people_divisor(features: np.ndarray) -> float:
    """One number to divide features by: the spread (Eq. 2) of all drawings of all concepts together.

    features: people's, (k, n, d). Diversity is then the share of people's whole spread that lies within a concept. Unlike a
    drawing's own deviation it does not change when a constant is added to the features, and it is the same for every agent.
    """
    together = features.reshape(1, -1, features.shape[2])
    return float(spread(together)[0])


def per_sample(features: np.ndarray) -> np.ndarray:
    """Features (…, d), each drawing's divided by their own standard deviation over dimensions (Boutin et al. 2023, App. D)."""
    own = _wide(features).std(axis=-1, keepdims=True)
    return features / np.where(own > 0, own, 1)


def cosine_spread(features: np.ndarray) -> np.ndarray:
    """(k,): √(2 − 2 cos) between two drawings of a concept, the mean over pairs; Eq. 3 is n (n − 1) / 2 times this."""
    return cosine_spread_by_drawing(features).mean(axis=1)


def cosine_spread_by_drawing(features: np.ndarray) -> np.ndarray:
    """(k, n) of `cosine_spread`: the pseudo-values of the jackknife; 3 drawings or more."""
    n = features.shape[1]
    found = np.empty(features.shape[:2])
    for place, concept in enumerate(units(features)):
        distance = np.sqrt(np.maximum(2 - 2 * (concept @ concept.T), 0))
        np.fill_diagonal(distance, 0)
        others = distance.sum(axis=1)
        whole = others.sum() / (n * (n - 1))
        left = (others.sum() - 2 * others) / ((n - 1) * (n - 2))
        found[place] = n * whole - (n - 1) * left
    return found


def vendi(features: np.ndarray) -> np.ndarray:
    """(k,) in [1, n]: how many wholly different drawings are worth these (Friedman and Dieng 2023), by cosine similarity.

    exp of the entropy of the eigenvalues of K / n, K the similarities: 1 for equal drawings, n for orthogonal ones.
    """
    return vendi_by_drawing(features).mean(axis=1)


def vendi_by_drawing(features: np.ndarray) -> np.ndarray:
    """(k, n) of `vendi`: how it changes with a drawing's weight, to first order (the infinitesimal jackknife)."""
    k, n, d = features.shape
    found = np.empty((k, n))
    for place, concept in enumerate(units(features)):
        # the n × n similarities and the d × d second moments have the same eigenvalues: take the smaller
        if n <= d:
            weight, vectors = np.linalg.eigh(concept @ concept.T / n)
            loads = n * weight * np.square(vectors)  # (n, axes): squared projection of each drawing on each axis
        else:
            weight, vectors = np.linalg.eigh(concept.T @ concept / n)
            loads = np.square(concept @ vectors)
        logs = np.log(np.where(weight > 1e-15, weight, 1))  # 0 log 0 is 0
        # d entropy / d weight is −Σ (log λ + 1) · load, of which the 1 is the same for all drawings
        slope = -(loads @ logs)
        found[place] = np.exp(-(weight * logs).sum()) * (1 + slope - slope.mean())
    return found


def units(features: np.ndarray) -> np.ndarray:
    """(…, d) → float64 of length 1; what has no length stays 0."""
    wide = _wide(features)
    length = np.linalg.norm(wide, axis=-1, keepdims=True)
    return wide / np.where(length > 0, length, 1)


def _wide(features: np.ndarray) -> np.ndarray:
    return np.asarray(features, dtype=np.float64)
