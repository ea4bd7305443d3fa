"""Do people agree on what matters? Correlations between annotations of one image, against those of different images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exemplar.attend.measures.blurring import kernel_width
from exemplar.attend.measures.ranking import correlate_pairs, rank_maps
from exemplar.errors import UserError

N_SPLITS = 20  # random halves of the participants of a concept
OUTLIER = 2.0  # standard deviations
GRID = 12  # points across the blur's kernel at which halves are compared: what is so smooth has no more to say


@dataclass(frozen=True, eq=False)
class Agreement:
    """image: (i,) code of each image with at least two participants; r: (i,) its mean Spearman's r over all pairs of them;
    of_annotation: (n,) mean r of each annotation with the others of its image, NaN where it is alone."""

    image: np.ndarray
    r: np.ndarray
    of_annotation: np.ndarray


def agreement_within(ranked: np.ndarray, image: np.ndarray, participant: np.ndarray) -> Agreement:
    """Over all pairs of annotations of one image by different participants: what ever more random pairs tend to.

    ranked: (n, d) from `rank_maps`; image, participant: (n,) codes.
    """
    images, means = [], []
    of_annotation = np.full(len(ranked), np.nan)
    for code in np.unique(image):
        rows = np.flatnonzero(image == code)
        apart = participant[rows][:, None] != participant[rows]
        if not apart.any():
            continue
        r = (ranked[rows] @ ranked[rows].T).astype(np.float64)
        count = apart.sum(axis=1)
        of_annotation[rows[count > 0]] = (r * apart).sum(axis=1)[count > 0] / count[count > 0]
        images.append(code)
        means.append(r[apart].mean())
    if not images:
        raise UserError("Reliability needs an image that two participants marked, and there is none: collect more.")
    return Agreement(np.array(images), np.array(means), of_annotation)


def sample_pairs(
    image: np.ndarray, participant: np.ndarray, n: int, *, same: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) and (n,) rows of random pairs of different participants. same: an image at random among those that two marked, then
    two of its annotations (as published); else any two annotations of different images."""
    if same:
        order = np.argsort(image, kind="stable")
        codes, start, count = np.unique(image[order], return_index=True, return_counts=True)
        several = np.array([len(np.unique(participant[image == code])) > 1 for code in codes])
        chosen = np.flatnonzero(several)
        if not len(chosen):
            raise UserError("Reliability needs an image that two participants marked, and there is none: collect more.")
    elif len(np.unique(image)) < 2 or len(np.unique(participant)) < 2:
        raise UserError("Pairs of different images need two images and two participants: collect more.")
    first, second, left = [], [], n
    while left > 0:
        size = 2 * left + 16
        if same:
            which = rng.choice(chosen, size)
            a, b = (order[start[which] + (rng.random(size) * count[which]).astype(np.intp)] for _ in range(2))
            good = participant[a] != participant[b]
        else:
            a, b = rng.integers(0, len(image), size), rng.integers(0, len(image), size)
            good = (participant[a] != participant[b]) & (image[a] != image[b])
            if not good.any() and not _has_pair(image, participant):
                raise UserError("No two participants marked different images: collect more.")
        first.append(a[good][:left])
        second.append(b[good][:left])
        left -= len(first[-1])
    return np.concatenate(first), np.concatenate(second)


def _has_pair(image: np.ndarray, participant: np.ndarray) -> bool:
    return bool(((image[:, None] != image) & (participant[:, None] != participant)).any())


def find_outliers(agreement: Agreement, sds: float = OUTLIER) -> np.ndarray:
    """(n,) bool: annotations whose mean r with the others of their image lies more than `sds` standard deviations from the mean
    of all. One that is alone cannot be judged, and stays."""
    r = agreement.of_annotation
    known = ~np.isnan(r)
    spread = r[known].std(ddof=1) if known.sum() > 1 else 0.0
    return known & (np.abs(np.where(known, r, 0) - r[known].mean()) > sds * spread) & (spread > 0)


def split_halves(
    maps: np.ndarray, participant: np.ndarray, *, rng: np.random.Generator, n_splits: int = N_SPLITS
) -> tuple[np.ndarray, np.ndarray]:
    """Two mean maps of one concept, (n_splits, h, w) each, from random halves of its participants. maps: (n, h, w), blurred."""
    codes, row = np.unique(participant, return_inverse=True)
    if len(codes) < 2:
        raise UserError("A split into halves needs two participants per concept.")
    order = rng.permuted(np.tile(np.arange(len(codes)), (n_splits, 1)), axis=1)
    first = (order < len(codes) // 2)[:, row].astype(np.float32)  # each annotation's half
    flat = maps.reshape(len(maps), -1).astype(np.float32)
    halves = [weight @ flat / weight.sum(axis=1, keepdims=True) for weight in (first, 1 - first)]
    return halves[0].reshape(n_splits, *maps.shape[1:]), halves[1].reshape(n_splits, *maps.shape[1:])


def reliability_of_mean(
    blurred: np.ndarray, participant: np.ndarray, *, rng: np.random.Generator, n_splits: int = N_SPLITS
) -> float:
    """How well the mean map of a concept would correlate with that of as many other participants: Spearman's r of halves, mean
    over random splits, stepped up to the whole (Spearman–Brown). blurred: (n, h, w) annotations of one concept."""
    step = max(kernel_width(min(blurred.shape[1:])) // GRID, 1)
    first, second = split_halves(blurred[:, ::step, ::step], participant, rng=rng, n_splits=n_splits)
    ranked = rank_maps(np.concatenate([first, second]))
    r = float(correlate_pairs(ranked, np.arange(n_splits), np.arange(n_splits) + n_splits).mean())
    return 2 * r / (1 + r) if r > -1 else -1.0
